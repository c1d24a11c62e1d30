// The table is drawn for the part of it that is on the screen: there may be many rows.

import { byId, make } from "../app/dom.js";
import { FieldsModel } from "./model.js";

const model = new FieldsModel(JSON.parse(byId("perk-fields").textContent));
const { columns } = model;
let { order } = model;
let found = order;
let sorted = -1;
let isDescending = false;
let chosen = -1;

const view = byId("view");
const body = byId("body");
const head = byId("head");
const rowHeight = 28;

function cell(column, row) {
  if (!column.isBar) {
    const text = column.text(row);
    return make("td", column.isName ? { class: "name", title: text } : {}, text);
  }
  const pieces = model.parts(row).map(([kind, share]) => {
    const piece = make("span", { class: kind });
    piece.style.width = `${share}%`;
    return piece;
  });
  return make("td", { class: "bars", title: model.barTitle(row) }, make("div", { class: "accesses" }, ...pieces));
}

function gap(rows) {
  const td = make("td", { colSpan: columns.length });
  td.style.height = `${rows * rowHeight}px`;
  return make("tr", { class: "gap" }, td);
}

function draw() {
  const margin = 8;
  const first = Math.max(0, Math.min(Math.floor(view.scrollTop / rowHeight) - margin, found.length));
  const end = Math.min(found.length, first + Math.ceil(view.clientHeight / rowHeight) + 2 * margin);
  const rows = [];
  for (let place = first; place < end; place += 1) {
    const row = found[place];
    const tr = make("tr", { "aria-rowindex": place + 2, class: row === chosen ? "chosen" : "" }, ...columns.map((column) => cell(column, row)));
    tr.dataset.row = row;
    rows.push(tr);
  }
  body.replaceChildren(gap(first), ...rows, gap(found.length - end));
}

// Numbers from the largest, names from the first letter, each the other way at the second click.
function sort(index) {
  isDescending = sorted === index ? !isDescending : !columns[index].isName;
  sorted = index;
  order = model.sorted(index, isDescending);
  head.childNodes.forEach((th, place) => {
    th.ariaSort = place !== index ? "none" : isDescending ? "descending" : "ascending";
  });
  filter();
}

function filter() {
  const todo = byId("todo").value;
  found = model.found(order, byId("search").value, todo);
  byId("found").textContent = model.countOf(found);
  byId("meaning").textContent = model.meaning(todo);
  view.querySelector("table").setAttribute("aria-rowcount", found.length + 1);
  view.scrollTop = 0;
  draw();
}

const widths = columns.reduce((all, { width }) => all + width, 0);
view.querySelector("table").style.minWidth = `${10 * widths}px`;
columns.forEach(({ heading, title, isName, width }, index) => {
  const th = make("th", { scope: "col", class: isName ? "name" : "" },
    make("button", { type: "button", title: title ?? "", onclick: () => sort(index) }, heading));
  th.style.width = `${(100 * width) / widths}%`;
  head.append(th);
});
byId("todo").append(...model.choices().map(([value, text]) => make("option", { value }, text)));
for (const [id, fact] of Object.entries(model.facts())) {
  byId(id).hidden = fact === null;
  byId(id).textContent = fact ?? "";
}
byId("search").addEventListener("input", filter);
byId("todo").addEventListener("change", filter);
view.addEventListener("scroll", draw);
new ResizeObserver(draw).observe(view);
body.addEventListener("click", (event) => {
  const tr = event.target.closest("tr[data-row]");
  if (!tr) return;
  chosen = Number(tr.dataset.row);
  byId("detail").textContent = model.describe(chosen);
  draw();
});
filter();
