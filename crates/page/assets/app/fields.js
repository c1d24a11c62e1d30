// Accesses to fields: what to do, and the numbers of each field by owner and others.

import { ask } from "./api.js";
import { copyButton } from "./actions.js";
import { make } from "./dom.js";
import { nameOf } from "./numbers.js";
import { rows } from "./rows.js";
import { showSide } from "./side.js";
import { addressOf, change, filters, go, inAddress, note, state } from "./state.js";
import { Table, searchField } from "./table.js";
import { ACCESSES, FieldsModel } from "../fields/model.js";

/** The number of accesses, with a bar of their kinds. */
function accesses(model, row) {
  const pieces = model.parts(row).map(([kind, share]) => {
    const piece = make("span", { class: kind, title: ACCESSES[kind] });
    piece.style.width = `${share}%`;
    return piece;
  });
  return make("div", { class: "accesses", title: model.barTitle(row) }, ...pieces);
}

/** Fills the view of fields. */
export async function fields(context) {
  const { host, view, onFault } = context;
  const { question, source } = state;
  // The numbers behind an advice: one field by allocation site.
  if (question.field) {
    return rows({ ...context, heading: [make("a", { href: addressOf("field") }, "All fields"), make("strong", {}, question.field)] });
  }
  const model = new FieldsModel(await ask(`${encodeURIComponent(source)}/fields`, filters()));
  const todo = question.todo ?? "all";
  const columns = model.columns.map(({ heading, isName }, index) => ({ id: String(index), title: heading, unit: null, kind: heading === "class" ? "class" : isName ? "text" : "number" }));
  const byColumn = columns.some((column) => column.id === question.sort) ? Number(question.sort) : -1;
  const order = byColumn < 0 ? model.order : model.sorted(byColumn, question.order !== "asc");
  const found = model.found(order, question.search ?? "", todo);
  const table = new Table({
    label: view.title,
    load: async (offset, limit) => ({
      columns, total_rows: found.length,
      rows: found.slice(offset, offset + limit).map((row) => [...model.columns.map((column) => (column.isBar ? row : column.text(row))), row]),
    }),
    choose: () => columns,
    cell: (row, column) => (model.columns[Number(column.id)].isBar ? accesses(model, row[column.place]) : null),
    ...inAddress(question),
    onSelect: (cells, index) => {
      note({ at: String(index) });
      if (!cells) return;
      const row = cells.at(-1);
      const pattern = `${model.classes[row]}.${model.fieldNames[row].split(".").at(-1)}`;
      showSide(make("h2", {}, nameOf(`${model.classes[row]}.${model.fieldNames[row]}`)),
        make("p", { class: "links" },
          make("a", { href: addressOf("field", { field: pattern }) }, "By allocation site"),
          make("a", { href: addressOf("field", { field: model.classes[row] }) }, "All fields of the class"),
          copyButton(pattern)),
        make("p", {}, model.describe(row)),
        make("dl", {}, ...model.columns.filter((column) => !column.isName).flatMap((column) => [make("dt", { title: column.title ?? "" }, column.heading), make("dd", {}, column.text(row))])));
    },
    onOpen: (cells) => go(addressOf("field", { field: model.classes[cells.at(-1)] })),
    onFault,
  });
  const choice = make("select", { "aria-label": "What to do", onchange: () => change({ todo: choice.value === "all" ? undefined : choice.value, at: undefined }) });
  choice.append(...model.choices().map(([value, text]) => new Option(text, value)));
  choice.value = todo;
  const { total, extended, unknown } = model.facts();
  const hints = [extended, unknown, model.meaning(todo)].filter(Boolean).map((line) => make("p", { class: "hint" }, line));
  host.append(
    make("div", { class: "bar" }, searchField(question.search), choice, make("output", {}, model.countOf(found))),
    make("div", { class: "sentences" }, make("p", {}, make("strong", {}, total)), ...hints),
    table.element,
    make("p", { class: "bar legend-line" }, "Owner: the thread that made the object. Accesses:",
      ...Object.entries(ACCESSES).map(([kind, text]) => make("span", {}, make("i", { class: kind }), text)),
      " — advice are candidates: the file has the numbers of accesses to each object, not their order."),
  );
  await table.start();
}
