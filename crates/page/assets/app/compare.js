// Two files: what changed, in sentences, as a graph and as a table.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { amount, nameOf } from "./numbers.js";
import { addressOf, change, filters, state } from "./state.js";
import { Table, rowCount, searchField } from "./table.js";
import { showSide } from "./side.js";

const SHOWN = ["kind", "name", "number", "before", "after", "change", "change_percent", "margin"];

/** The unit of the numbers of a row, as their name says it. */
const unitOf = (number) => (/_ns$|_time$/.test(number) ? "ns" : /bytes/.test(number) ? "bytes" : null);

/** A cell of numbers: the rows have different units. */
function cell(row, column, columns) {
  if (!["before", "after", "change", "margin"].includes(column.id)) return null;
  const text = row[column.place];
  if (text === null || text === "" || Number.isNaN(Number(text))) return text ?? "";
  const value = Number(text);
  const shown = amount(Math.abs(value), unitOf(String(row[columns.findIndex((it) => it.id === "number")])));
  return column.id === "change" ? `${value < 0 ? "−" : "+"}${shown}` : shown;
}

/** Fills the view of a comparison: `with` is the file before. */
export async function compare({ host, view, sources, onFault }) {
  const { question, source } = state;
  const others = sources.filter((it) => it.kind === "profile" && it.state === "ok" && it.id !== source);
  const list = make("select", { id: "with", "aria-label": "Compare with", onchange: () => change({ with: list.value || undefined, at: undefined }) },
    new Option(others.length > 0 ? "Compare with …" : "no other file is served", ""),
    ...others.map((it) => new Option(it.name, it.id)));
  list.value = question.with ?? "";
  const count = make("output", {});
  const bar = make("div", { class: "bar" }, list);
  host.append(bar);
  if (!question.with) {
    host.append(make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": view.title },
      make("p", {}, "Choose the file before: this page then says what changed from it to the file above.")));
    return;
  }
  const asked = { before: question.with, after: source, ...filters() };
  const { sentences, notes } = await ask("diff", { ...asked, view: "summary" });
  const [first, ...rest] = sentences;
  bar.append(make("a", { href: addressOf("flame", { with: question.with }) }, "As a flame graph"));
  host.append(make("div", { class: "sentences" },
    make("p", {}, make("strong", {}, first ?? "Nothing changed.")),
    ...[...rest, ...(notes ?? [])].map((line) => make("div", { class: "hint" }, line))));
  const table = new Table({
    label: view.title,
    load: (offset, limit) => ask("diff", { ...asked, view: "table", sort: question.sort, order: question.order, search: question.search, offset, limit }),
    choose: ({ columns }) => SHOWN.map((id) => columns.find((column) => column.id === id)).filter(Boolean),
    cell,
    sort: question.sort,
    order: question.order,
    at: question.at === undefined ? -1 : Number(question.at),
    onSort: (id, order) => change({ sort: id, order, at: undefined }),
    onSelect: (row, index, columns) => {
      if (!row) return;
      const entries = columns.flatMap((column, place) =>
        row[place] === null || row[place] === "" ? [] : [make("dt", {}, column.title || column.id), make("dd", {}, amount(row[place], column.unit))]);
      showSide(make("h2", {}, nameOf(row[columns.findIndex((column) => column.id === "name")] ?? "")), make("dl", {}, ...entries));
    },
    onOpen: () => {},
    onFault,
  });
  bar.append(searchField(question.search, (text) => change({ search: text || undefined, at: undefined }, { isStep: false })), count);
  host.append(table.element);
  await table.start();
  count.textContent = rowCount(table);
}
