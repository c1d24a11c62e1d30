// The dominator tree of a heap: a picture, and the same as a list beside it.

import { ask } from "./api.js";
import { counted, make, printable } from "./dom.js";
import { amount } from "./numbers.js";
import { showSide } from "./side.js";
import { go, note, state } from "./state.js";
import { Table, notesOf, rowCount, searchField } from "./table.js";
import { OWNERS, TreeMap } from "./treemap.js";
import { describe, openRow, pathOf, toView } from "./heap.js";

/** The most rows of the tree, in the picture and in the list. */
const ROWS = 600;

/** The columns of the list, in their order. */
const SHOWN = ["retained_bytes", "class", "place", "instance_count", "shallow_bytes", "address"];

function choose({ columns, rows }) {
  const shown = SHOWN.map((id) => columns.find((column) => column.id === id)).filter(Boolean);
  const has = (column) => rows.some((row) => row[columns.indexOf(column)] !== null);
  return shown.filter(has).map((column) => (column.id === "class" ? Object.assign(column, { kind: "class" }) : column));
}

/** Fills the view of the tree. */
export async function heapTree({ host, view, onFault }) {
  const { question } = state;
  const { search, what } = question;
  const asked = { what, top: ROWS };
  const { tree, totals } = await ask(pathOf("tree"), asked);
  const whole = what ? tree.filter((it) => it.depth === 0).reduce((sum, it) => sum + it.retained_bytes, 0) : totals.reachable.bytes;
  const nodes = tree.map((it) => ({ ...it, name: printable(it.class ?? it.place ?? ""), bytes: it.retained_bytes }));
  const mapHost = make("div", {
    class: "chart map", tabIndex: 0, role: "application", "aria-roledescription": "tree map", "aria-describedby": "detail",
    "aria-label": `${view.title}: arrow keys move through the areas, Enter shows what one keeps, Escape all. The list has the same.`,
  });
  const canvas = make("canvas", { "aria-hidden": "true" });
  mapHost.append(canvas);
  const detail = make("p", { id: "detail", role: "status", class: "bar" });
  const count = make("output", {});
  const share = (bytes) => `${amount((100 * bytes) / (whole || 1), "percent")} %`;
  const table = new Table({
    label: view.title,
    load: (offset, limit) => ask(pathOf("tree"), { ...asked, as: "table", search, offset, limit }),
    choose,
    at: question.at === undefined ? -1 : Number(question.at),
    onSort: () => {},
    onSelect: (row, index, columns) => {
      note({ at: String(index) });
      if (row) describe(row, columns);
      if (!search) focus(index);
    },
    onOpen: openRow,
    onFault,
  });
  const bar = make("div", { class: "bar" },
    what && make("a", { href: toView("tree", {}) }, "all"), what && make("strong", {}, what),
    searchField(search), count);
  const legend = make("ul", { class: "legend", "aria-label": "Colours" }, ...OWNERS.map(([name, variable]) => {
    const chip = make("i", {});
    chip.style.background = `var(${variable})`;
    return make("li", {}, chip, name);
  }));
  host.append(bar, make("div", { class: "halves" }, make("div", { class: "half" }, mapHost, legend), make("div", { class: "half" }, table.element)), detail);
  const map = new TreeMap(mapHost, canvas, nodes, whole);
  map.resize();

  const say = (index) => {
    const node = nodes[index];
    if (!node) return;
    const objects = node.instance_count > 1 ? `${counted(node.instance_count, "object")} of ` : "";
    const place = node.place ? `${node.place}: ` : "";
    detail.textContent = printable(`${place}${objects}${node.class ?? ""} — keeps ${amount(node.bytes, "bytes")} (${share(node.bytes)}), ${amount(node.shallow_bytes, "bytes")} itself`);
  };
  function focus(index) {
    map.focus = index;
    map.schedule();
    say(index);
  }
  const select = (index) => (search ? focus(index) : table.select(index));
  /** Shows what an object, or at the top a class, keeps. */
  const zoom = (index) => {
    const node = nodes[index];
    const next = node?.address ?? (node?.depth === 0 && node.instance_count > 1 ? node.class : null);
    if (next && next !== what) go(toView("tree", { what: next }));
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return map.hit(event.clientX - box.left, event.clientY - box.top);
  };
  canvas.addEventListener("click", (event) => {
    if (at(event) >= 0) select(at(event));
    mapHost.focus();
  });
  canvas.addEventListener("dblclick", (event) => zoom(at(event)));
  canvas.addEventListener("pointermove", (event) => {
    const index = at(event);
    if (index === map.hover) return;
    map.hover = index;
    map.schedule();
    say(index >= 0 ? index : map.focus);
  });
  canvas.addEventListener("pointerleave", () => {
    map.hover = -1;
    map.schedule();
    say(map.focus);
  });
  for (const kind of ["focus", "blur"]) mapHost.addEventListener(kind, () => map.schedule());
  mapHost.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") zoom(map.focus);
    else if (event.key.startsWith("Arrow") || event.key === "Home") {
      const next = map.step(event.key);
      if (next >= 0) select(next);
    } else if (event.key === "Escape" && what && state.question.at === undefined) go(toView("tree", {}));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  await table.start();
  if (map.focus >= 0 && question.at === undefined) {
    say(0);
    // The room of the selected item is there from the start, so that no area moves when one is selected.
    if (innerWidth > 800) showSide(make("p", { class: "hint" }, "Select an area or a row."));
  }
  count.textContent = [rowCount(table), ...notesOf(table)].join(" · ");
  return { picture: () => map.picture() };
}
