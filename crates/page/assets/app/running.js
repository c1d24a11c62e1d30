// The threads of a running JVM: what each does, uses and allocates.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { threadCell } from "./live.js";
import { showSide } from "./side.js";
import { inAddress, note, state } from "./state.js";
import { Table, rowCount, searchField } from "./table.js";

const TITLES = { cpu: "CPU", allocated: "allocates", blocked: "waited for locks", state: "mostly", thread: "thread" };

/** Fills the view of threads of a running JVM. */
export async function running({ host, view, onFault }) {
  const { question, source } = state;
  const asked = { search: question.search, sort: question.sort, order: question.order };
  const table = new Table({
    label: view.title,
    load: (offset, limit) => ask(`${encodeURIComponent(source)}/live-threads`, { ...asked, offset, limit }),
    // On a narrow screen the CPU time leaves room for the names; the selected row has the other numbers beside it.
    choose: ({ columns }) => columns.filter(({ id }) => innerWidth > 640 || !["allocated", "blocked"].includes(id)).map((column) => Object.assign(column, { title: TITLES[column.id] ?? column.title })),
    cell: threadCell,
    ...inAddress(question),
    onSelect: (row, index, columns) => {
      note({ at: String(index) });
      if (!row) return;
      const entries = columns.flatMap((column, place) =>
        column.id === "thread" ? [] : [make("dt", {}, column.title), make("dd", {}, threadCell(row, { ...column, place }) ?? row[place])]);
      showSide(make("h2", {}, row[columns.findIndex((column) => column.id === "thread")]), make("dl", {}, ...entries));
    },
    onOpen: () => {},
    onFault,
  });
  const count = make("output", {});
  const says = () => { count.textContent = [rowCount(table), "CPU of one processor, in percent; states and rates are those of the part that is shown"].join(" · "); };
  host.append(make("div", { class: "bar" }, searchField(question.search), count), table.element);
  await table.start();
  says();
  return { update: async () => {
    await table.refresh();
    says();
  } };
}
