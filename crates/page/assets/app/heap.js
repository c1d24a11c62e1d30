// The views of a heap dump.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { amount, nameOf, titleOf } from "./numbers.js";
import { showSide } from "./side.js";
import { address, change, go, note, state } from "./state.js";
import { Table, rowCount, searchField } from "./table.js";

const pathOf = (view) => `${encodeURIComponent(state.source)}/heap/${view}`;
const toView = (view, question) => address(state.source, view, question);

/** What keeps the most, in whole and in parts. */
export async function suspects({ host, view }) {
  const heap = await ask(pathOf("overview"));
  const page = make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": view.title });
  const { reachable, unreachable } = heap.totals;
  const sum = ({ count, bytes }) => `${amount(bytes, "bytes")} in ${count.toLocaleString("en-US")} objects`;
  page.append(make("h2", {}, "What holds the memory"), make("p", {}, `Reachable: ${sum(reachable)}. Unreachable: ${sum(unreachable)}.`));
  const rows = heap.suspects.map((suspect) => {
    const what = suspect.address ? { what: suspect.address } : null;
    const parts = suspect.parts.slice(0, 5).map((part) =>
      make("div", { class: "hint" }, `${part.place ? `${part.place}: ` : ""}${part.class ?? ""} ${amount(part.retained_bytes, "bytes")}`));
    return make("tr", {},
      make("td", { class: "share" }, `${amount(suspect.retained_percent, "percent")} %`),
      make("td", {}, what ? make("a", { href: toView("tree", what) }, suspect.name) : suspect.name, ` keeps ${amount(suspect.retained_bytes, "bytes")}`, ...parts));
  });
  page.append(make("table", { class: "limits", "aria-label": "Suspects" }, make("tbody", {}, ...rows)));
  for (const line of heap.notes) page.append(make("p", { class: "hint" }, line));
  host.append(page);
}

/** The columns that are shown: those with any value, numbers first. */
function choose({ columns, rows }) {
  const isEmpty = (_, place) => rows.length > 0 && rows.every((row) => row[place] === null || row[place] === "");
  const isShown = (column, place) => column.id !== "depth" && !isEmpty(column, place);
  const shown = columns.filter(isShown).map((column) => (column.id === "class" ? Object.assign(column, { kind: "class" }) : column));
  return shown.sort((a, b) => (a.kind === "number" ? 0 : 1) - (b.kind === "number" ? 0 : 1));
}

/** The numbers of a row, and where its object or class leads. */
function describe(row, columns) {
  const of = (id) => row[columns.findIndex((column) => column.id === id)];
  const entries = columns.flatMap((column, place) =>
    row[place] === null || row[place] === "" || column.id === "depth" ? [] : [make("dt", {}, titleOf(column)), make("dd", {}, amount(row[place], column.unit))]);
  const at = of("address");
  const className = of("class");
  const isClass = className && !at;
  const links = [
    at && make("a", { href: toView("object", { id: at }) }, "Values"),
    at && make("a", { href: toView("tree", { what: at }) }, "What it keeps"),
    at && make("a", { href: toView("paths", { what: at }) }, "Paths from roots"),
    at && make("a", { href: toView("refs-of", { what: at }) }, "It refers to"),
    at && make("a", { href: toView("refs-to", { what: at }) }, "Refers to it"),
    isClass && make("a", { href: toView("instances", { class: className }) }, "Objects"),
    isClass && make("a", { href: toView("tree", { what: className }) }, "What they keep"),
    isClass && make("a", { href: toView("paths", { what: className }) }, "Paths from roots"),
  ];
  showSide(make("h2", {}, nameOf(className ?? of("thread") ?? of("package") ?? of("loader") ?? "Row", 1)),
    make("p", { class: "links" }, ...links), make("dl", {}, ...entries));
}

/** Fills a view that is a table. */
export async function heapRows({ host, view, onFault }) {
  const { question } = state;
  const { search, sort, order, what, class: className } = question;
  const asked = { as: "table", search, what, class: className, ...(view.isOrdered ? {} : { sort, order }) };
  const table = new Table({
    label: view.title,
    load: (offset, limit) => ask(pathOf(view.id), { ...asked, offset, limit }),
    choose,
    sort: asked.sort,
    order: asked.order,
    at: question.at === undefined ? -1 : Number(question.at),
    onSort: (id, direction) => !view.isOrdered && change({ sort: id, order: direction, at: undefined }),
    onSelect: (row, index, columns) => {
      note({ at: String(index) });
      if (row) describe(row, columns);
    },
    onOpen: (row, columns) => {
      const of = (id) => row[columns.findIndex((column) => column.id === id)];
      const next = of("address") ? toView("object", { id: of("address") }) : of("class") && toView("instances", { class: of("class") });
      if (next) go(next);
    },
    onFault,
  });
  const count = make("output", {});
  host.append(make("div", { class: "bar" },
    (what || className) && make("strong", {}, what ?? className),
    searchField(search, (text) => change({ search: text || undefined, at: undefined }, { isStep: false })), count), table.element);
  await table.start();
  count.textContent = [rowCount(table), ...(table.answer.notes ?? []), ...(table.total === 0 ? table.answer.missing ?? [] : [])].join(" · ");
}

/** Fills the view of an object: its values, each with a link. */
export async function object({ host, view }) {
  const { id } = state.question;
  const page = make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": view.title });
  const { object: found } = await ask(pathOf("object"), { id });
  const links = [["refs-of", "It refers to"], ["refs-to", "Refers to it"], ["paths", "Paths from roots"], ["tree", "What it keeps"]];
  page.append(
    make("h2", {}, `${found.class} ${found.address}`),
    found.meaning && make("p", {}, found.meaning),
    make("p", { class: "hint" }, `${amount(found.shallow_bytes, "bytes")} itself, keeps ${amount(found.retained_bytes, "bytes")}`),
    make("p", { class: "links" }, ...links.map(([to, text]) => make("a", { href: toView(to, { what: id }) }, text))),
  );
  const head = make("tr", {}, ...["Field", "Type", "Value", "Keeps"].map((text, place) =>
    make("th", { scope: "col", class: place === 3 ? "number" : "" }, text)));
  const rows = found.members.map((member) => make("tr", {},
    make("td", { title: member.declared_by ?? "" }, member.name),
    make("td", {}, member.class ?? member.type),
    make("td", {}, member.address ? make("a", { href: toView("object", { id: member.address }) }, member.value ?? member.address) : member.value ?? ""),
    make("td", { class: "number" }, amount(member.retained_bytes, "bytes"))));
  page.append(make("table", { class: "files", "aria-label": "Values" }, make("thead", {}, head), make("tbody", {}, ...rows)));
  host.append(page);
}

/** The views of a heap dump, in the order of their use. */
export const HEAP_VIEWS = [
  { id: "overview", title: "Overview", show: suspects },
  { id: "tree", title: "Tree", show: heapRows, isOrdered: true },
  { id: "classes", title: "Classes", show: heapRows },
  { id: "packages", title: "Packages", show: heapRows },
  { id: "biggest", title: "Biggest objects", show: heapRows },
  { id: "threads", title: "Threads", show: heapRows, isOrdered: true },
  { id: "roots", title: "Roots", show: heapRows },
  { id: "loaders", title: "Loaders", show: heapRows },
  { id: "unreachable", title: "Garbage", show: heapRows },
  { id: "instances", title: "Objects", show: heapRows, isHidden: true },
  { id: "paths", title: "Paths", show: heapRows, isHidden: true, isOrdered: true },
  { id: "refs-of", title: "References of", show: heapRows, isHidden: true },
  { id: "refs-to", title: "References to", show: heapRows, isHidden: true },
  { id: "object", title: "Object", show: object, isHidden: true },
];
