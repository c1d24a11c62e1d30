// Views that are a table: methods, lines, threads, locks and others.

import { copyButton, methodActions, patternOf } from "./actions.js";
import { make } from "./dom.js";
import { amount, nameOf, titleOf } from "./numbers.js";
import { showSide } from "./side.js";
import { addressOf, change, filters, go, note, state } from "./state.js";
import { Table, inTable, notesOf, rowCount, searchField } from "./table.js";

/** What other columns say better. */
const LEFT_OUT = ["metric", "depth", "is_recursive", "signature", "thread_serial"];
/** The parts of a name, where a column has the whole. */
const PARTS = ["class", "method", "source"];

/** What the head of the selected row says already. */
const SAID = ["depth", "is_recursive", "method", "name"];

/** The columns that are shown: numbers first, the widest last; none that is empty everywhere. */
function choose({ columns, rows }) {
  const ids = columns.map((column) => column.id);
  const isEmpty = (column) => rows.length > 0 && rows.every((row) => !row[ids.indexOf(column.id)]);
  const isShown = (column) =>
    !LEFT_OUT.includes(column.id) && !(state.view === "bytecodes" && /^total/.test(column.id)) && !(ids.includes("name") && PARTS.includes(column.id)) && !isEmpty(column) && !/^inferred/.test(column.id);
  let shown = columns.filter(isShown);
  for (const column of shown) {
    if (column.id === "class") column.kind = "class";
    if (column.kind === "path") column.title = "where";
    if (column.id === "name" && ids.includes("line")) column.title = "method";
  }
  // On a narrow screen shares leave room for the names; the selected row has the other numbers beside it.
  const isShare = (column) => column.unit === "percent";
  if (innerWidth <= 640 && shown.some(isShare)) shown = shown.filter((column) => column.kind !== "number" || isShare(column));
  const rank = (column) => (column.kind === "number" ? 0 : column.id === "line" ? 1 : column.kind === "path" ? 3 : 2);
  return shown.sort((a, b) => rank(a) - rank(b));
}

/** The method of a row, if it has one. */
function methodOf(row, columns) {
  const of = (id) => row[columns.findIndex((column) => column.id === id)];
  if (of("class") && of("method")) return `${of("class")}.${of("method")}`;
  const { method } = state.question;
  const plain = (name) => name?.replace(/\(.*/, "");
  const [caller, callee] = [plain(of("caller")), plain(of("callee"))];
  if (!method) return callee ?? caller;
  return callee && !callee.endsWith(method) ? callee : caller ?? callee;
}

/** The file of a class in its package, as the class file names it: `com/acme/Main.java`. */
export function fileOf(className, source) {
  if (!className || !source) return null;
  const end = className.lastIndexOf(".");
  return `${end < 0 ? "" : `${className.slice(0, end).replaceAll(".", "/")}/`}${source}`;
}

/** The address of the text of a line, if the row is a line. */
function textOf(row, columns) {
  const of = (id) => row[columns.findIndex((column) => column.id === id)];
  const file = fileOf(of("class"), of("source"));
  return file && of("line") ? addressOf("lines", { file, line: of("line") }) : null;
}

function describe(row, columns, { hasLines, hasText }) {
  const method = methodOf(row, columns);
  const text = hasText && textOf(row, columns);
  const entries = columns.flatMap((column, place) => {
    const value = row[place];
    if (value === null || value === "" || column.kind === "path" || SAID.includes(column.id)) return [];
    const text = column.kind === "number" ? amount(value, column.unit) + (column.unit === "percent" ? " %" : "") : value;
    return [make("dt", {}, titleOf(column)), make("dd", {}, text)];
  });
  const path = columns.findIndex((column) => column.kind === "path");
  const frames = path >= 0 && row[path] ? row[path].split("; ") : [];
  const named = columns.findIndex((column) => ["name", "class", "thread", "callee"].includes(column.id));
  const name = row[named];
  showSide(
    make("h2", {}, name ? nameOf(name, columns[named].id === "class" ? 1 : 2) : "Row"),
    method ? methodActions(method, { lines: hasLines }) : name && make("p", { class: "links" }, copyButton(name)),
    text && make("p", { class: "links" }, make("a", { href: text, "aria-keyshortcuts": "s", title: "Key s" }, "Source")),
    make("dl", {}, ...entries),
    frames.length > 0 && make("h3", {}, "Stack"),
    frames.length > 0 && make("ol", {}, ...frames.map((frame) => make("li", {}, frame))),
  );
}

/** Fills a view that is a table, with a `heading` above it and a choice of the view's `form`, where it has them. */
export async function rows({ host, view, summary, onFault, heading = [], form = null }) {
  const path = `${encodeURIComponent(state.source)}/report`;
  /** What the address says of the table. */
  const asked = () => {
    const { question } = state;
    const own = Object.fromEntries([...(view.own ?? []), "search"].map((name) => [name, question[name] ?? view.defaults?.[name]]));
    return inTable(path, { view: view.table ?? view.id, metric: view.metric, ...filters(), ...own }, view);
  };
  const known = () => ({ hasLines: summary.views.includes("lines"), hasText: summary.views.includes("source") });
  const table = new Table({
    label: view.title,
    choose,
    ...asked(),
    onSelect: (row, index, columns) => {
      note({ at: String(index) });
      if (row) describe(row, columns, known());
    },
    onOpen: (row, columns) => {
      const text = known().hasText && textOf(row, columns);
      const method = methodOf(row, columns);
      if (text) go(text);
      else if (method) go(addressOf("method", { method: patternOf(method) }));
    },
    onFault,
  });
  searchField(state.question.search);
  const barNow = () => make("div", { class: "bar" }, ...heading, make("output", {}), ...choices(view, summary), form);
  let bar = barNow();
  host.append(bar, table.element);
  const says = () => { bar.querySelector("output").textContent = [rowCount(table), ...notesOf(table)].join(" · "); };
  await table.start();
  says();
  return {
    table,
    again: async (now) => {
      summary = now;
      await table.again(asked());
      const made = barNow();
      bar.replaceWith(made);
      bar = made;
      says();
    },
    update: async () => {
      await table.refresh();
      says();
    },
  };
}

/** What can be chosen above the table. */
function* choices(view, summary) {
  if (view.id === "tree") {
    const direction = make("select", { "aria-label": "Direction", onchange: () => change({ tree: direction.value, at: undefined }) },
      new Option("from callers to callees", "top-down"), new Option("from callees to callers", "bottom-up"));
    direction.value = state.question.tree ?? "top-down";
    yield direction;
  }
  // Where objects are made, and what they are: two tables of one view.
  const forms = { sites: "By site", classes: "By class" };
  if (forms[view.id] && summary.views.includes("sites") && summary.views.includes("classes")) {
    yield make("nav", { class: "switch", "aria-label": "Allocations" }, ...Object.entries(forms).map(([id, text]) => {
      const link = make("a", { href: addressOf(id) }, text);
      if (id === view.id) link.ariaCurrent = "page";
      return link;
    }));
  }
}
