// The views of a heap dump.

import { ask } from "./api.js";
import { make, printable } from "./dom.js";
import { amount, nameOf, titleOf } from "./numbers.js";
import { showSide } from "./side.js";
import { address, go, note, state } from "./state.js";
import { Table, inTable, notesOf, rowCount, searchField } from "./table.js";

export const pathOf = (view) => `${encodeURIComponent(state.source)}/heap/${view}`;
export const toView = (view, question) => address(state.source, view, question);

/** A link to an object, or the text where there is none. */
export const toObject = (address, text) => (address ? make("a", { href: toView("object", { id: address }) }, text) : text);

/** The path to an object from what holds it, the root first. */
function pathList(steps) {
  const word = (step) => {
    const of = [step.root_kind && `${step.root_kind}: `, step.place && `${step.place}: `].filter(Boolean).join("");
    const more = step.level_count > 1 ? ` (${step.level_count} in a chain)` : "";
    return make("li", {}, of && make("span", { class: "hint" }, of), toObject(step.address, nameOf(step.class ?? "?", 1)), more);
  };
  return make("ol", { class: "path" }, ...steps.map(word));
}

/** A tree that opens below its first level; each part with what it keeps. */
function foldedTree(rows) {
  const top = make("ul", { class: "folded" });
  const lists = [top];
  rows.forEach((row, index) => {
    const words = [make("span", { class: "amount" }, amount(row.retained_bytes, "bytes")), " ",
      row.place && make("span", { class: "hint" }, `${row.place}: `), toObject(row.address, nameOf(row.class ?? "", 1)),
      row.instance_count > 1 && make("span", { class: "hint" }, ` ${row.instance_count.toLocaleString("en-US")} objects`)];
    const isOpen = (rows[index + 1]?.depth ?? -1) > row.depth;
    lists.length = row.depth + 1;
    if (isOpen) {
      const inner = make("ul", { class: "folded" });
      lists.push(inner);
      lists[row.depth].append(make("li", {}, make("details", { open: row.depth === 0 }, make("summary", {}, ...words), inner)));
    } else {
      lists[row.depth].append(make("li", {}, ...words));
    }
  });
  return top;
}

/** What keeps the most: each with the way from its root, and what it consists of. */
export async function suspects({ host, view }) {
  const heap = await ask(pathOf("overview"));
  const page = make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": view.title });
  const { reachable, unreachable } = heap.totals;
  const sum = ({ count, bytes }) => `${amount(bytes, "bytes")} in ${count.toLocaleString("en-US")} objects`;
  page.append(make("h2", {}, "What holds the memory"), make("p", {}, `${sum(reachable)} are reachable; ${sum(unreachable)} are garbage.`));
  const rows = heap.suspects.map((suspect) => {
    const what = suspect.address ?? (suspect.kind === "class" ? suspect.name.replace(/^\d+ /, "") : null);
    const name = nameOf(suspect.name, 1);
    const held = make("span", { class: "hint" }, "what it keeps");
    const more = what && make("details", { ontoggle: async () => {
      if (!more.open || more.children.length > 1) return;
      const { tree } = await ask(pathOf("tree"), { what, top: 60 });
      more.append(foldedTree(tree));
    } }, make("summary", {}, held));
    const parts = suspect.parts.slice(0, 5).map((part) => make("li", {}, make("span", { class: "amount" }, amount(part.retained_bytes, "bytes")), " ",
      part.place && make("span", { class: "hint" }, `${part.place}: `), toObject(part.address, nameOf(part.class ?? "", 1))));
    const where = suspect.allocated_at && make("div", { class: "hint" }, `allocated at ${suspect.allocated_at.join(", ")}`);
    return make("tr", {},
      make("td", { class: "share" }, `${amount(suspect.retained_percent, "percent")} %`),
      make("td", {}, what ? make("a", { href: toView("tree", { what }) }, name) : name, ` keeps ${amount(suspect.retained_bytes, "bytes")}`, where,
        suspect.path.length > 0 && make("h3", {}, suspect.is_path_shortest ? "Held by" : "Held by (one of the ways)"), suspect.path.length > 0 && pathList(suspect.path),
        parts.length > 0 && make("h3", {}, "Consists of"), make("ul", { class: "folded" }, ...parts), more));
  });
  if (rows.length > 0) page.append(make("table", { class: "limits", "aria-label": "Suspects" }, make("tbody", {}, ...rows)));
  else page.append(make("p", {}, "No object or class keeps a large part alone: ", make("a", { href: toView("tree", {}) }, "the tree"), " shows what keeps how much."));
  if (heap.biggest?.length > 0) {
    const biggest = heap.biggest.slice(0, 10).map((it) => make("tr", {},
      make("td", { class: "share" }, amount(it.retained_bytes, "bytes")),
      make("td", {}, toObject(it.address, nameOf(it.class, 1)), make("div", { class: "hint" }, `held by ${it.holder}${it.place ? `, ${it.place}` : ""}`))));
    page.append(make("h3", {}, "Biggest objects"), make("table", { class: "limits", "aria-label": "Biggest objects" }, make("tbody", {}, ...biggest)));
  }
  for (const line of heap.notes) page.append(make("p", { class: "hint" }, line));
  host.append(page);
}

/** The columns that are shown: those with any value, numbers first. */
export function choose({ columns, rows }) {
  const isEmpty = (_, place) => rows.length > 0 && rows.every((row) => row[place] === null || row[place] === "");
  const isShown = (column, place) => column.id !== "depth" && !isEmpty(column, place);
  const shown = columns.filter(isShown).map((column) => (column.id === "class" ? Object.assign(column, { kind: "class" }) : column));
  return shown.sort((a, b) => (a.kind === "number" ? 0 : 1) - (b.kind === "number" ? 0 : 1));
}

/** The numbers of a row, and where its object or class leads. */
export function describe(row, columns) {
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

/** Opens the object of a row, or the objects of its class. */
export function openRow(row, columns) {
  const of = (id) => row[columns.findIndex((column) => column.id === id)];
  const next = of("address") ? toView("object", { id: of("address") }) : of("class") && toView("instances", { class: of("class") });
  if (next) go(next);
}

/** Fills a view that is a table. */
export async function heapRows({ host, view, onFault }) {
  const path = pathOf(view.id);
  /** What the address says of the table. */
  const asked = () => {
    const { search, what, class: className } = state.question;
    return inTable(path, { as: "table", search, what, class: className }, view);
  };
  const table = new Table({
    label: view.title,
    choose,
    ...asked(),
    onSelect: (row, index, columns) => {
      note({ at: String(index) });
      if (row) describe(row, columns);
    },
    onOpen: openRow,
    onFault,
  });
  searchField(state.question.search);
  const subject = make("strong", {});
  const count = make("output", {});
  host.append(make("div", { class: "bar" }, subject, count), table.element);
  const says = () => {
    const { what, class: className } = state.question;
    subject.textContent = printable(what ?? className ?? "");
    subject.hidden = !subject.textContent;
    count.textContent = [rowCount(table), ...notesOf(table)].join(" · ");
  };
  await table.start();
  says();
  return {
    again: async () => {
      await table.again(asked());
      says();
    },
  };
}

/** Objects that refer to another, or to which it refers. */
function references(rows) {
  return make("table", { class: "files", "aria-label": "References" }, make("tbody", {}, ...rows.map((row) => make("tr", {},
    make("td", {}, row.place ?? ""),
    make("td", {}, toObject(row.address, printable(row.value ?? row.class))),
    make("td", { class: "number" }, amount(row.retained_bytes, "bytes"))))));
}

/** Fills the view of an object: its values, what holds it and what refers to it, each with a link. */
export async function object({ host, view }) {
  const { id } = state.question;
  const page = make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": view.title });
  const [{ object: found }, path, into] = await Promise.all([
    ask(pathOf("object"), { id }),
    ask(pathOf("paths"), { what: id }).catch(() => ({ paths: [] })),
    ask(pathOf("refs-to"), { what: id, top: 50 }).catch(() => ({ referrers: [] })),
  ]);
  const links = [["tree", "What it keeps"], ["refs-of", "It refers to"], ["refs-to", "Refers to it"], ["paths", "Paths from roots"]];
  const step = (text, title, run) => make("button", { type: "button", title, onclick: run }, text);
  host.append(make("div", { class: "bar" }, step("‹ back", "The object before (Alt+←)", () => history.back()), step("forward ›", "The next object (Alt+→)", () => history.forward())));
  page.append(
    make("h2", {}, nameOf(found.class, 1), ` ${found.address}`),
    ...(found.meaning ? [make("p", {}, found.meaning)] : []),
    make("p", {}, `${amount(found.shallow_bytes, "bytes")} itself, keeps ${amount(found.retained_bytes, "bytes")}`, found.reach === "held" ? "" : ` (${found.reach})`,
      found.roots.length > 0 && `; a root: ${found.roots.map((it) => it.kind ?? it).join(", ")}`),
    make("p", { class: "links" }, ...links.map(([to, text]) => make("a", { href: toView(to, { what: id }) }, text))),
  );
  const head = make("tr", {}, ...["Field", "Type", "Value", "Keeps"].map((text, place) =>
    make("th", { scope: "col", class: place === 3 ? "number" : "" }, text)));
  const rows = found.members.map((member) => make("tr", {},
    make("td", { title: member.declared_by ?? "" }, member.name),
    make("td", {}, nameOf(member.class ?? member.type, 1)),
    make("td", {}, toObject(member.address, printable(member.value ?? member.address ?? ""))),
    make("td", { class: "number" }, amount(member.retained_bytes, "bytes"))));
  if (rows.length > 0) page.append(make("h3", {}, "Values"), make("table", { class: "files", "aria-label": "Values" }, make("thead", {}, head), make("tbody", {}, ...rows)));
  if (found.member_count > rows.length) page.append(make("p", { class: "hint" }, `${(found.member_count - rows.length).toLocaleString("en-US")} more: "It refers to" has all.`));
  const steps = path.paths ?? [];
  page.append(make("h3", {}, "Held by"), steps.length > 0 ? pathList(steps) : make("p", { class: "hint" }, "Nothing: it is garbage, or a root."));
  const refs = into.referrers;
  if (refs.length > 0) page.append(make("h3", {}, "Referred to by"), references(refs));
  host.append(page);
}
