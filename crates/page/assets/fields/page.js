// The table is drawn for the part of it that is on the screen: there may be many rows.
const data = JSON.parse(document.getElementById("perk-fields").textContent);
const byId = (id) => document.getElementById(id);

// Numbers above 2^53 come as text.
const exact = (column) => column.map((it) => (typeof it === "string" ? BigInt(it) : it));
const [objects, unknown, shared, othersWrote, readOnly, ...counted] = data.numbers.map(exact);
const [ownerReads, otherReads, ownerWrites, otherWrites, unknownAccesses] = counted;
// The same of the accesses by other means, if they were counted.
const extended = counted.slice(5);
const [classes, owners, fields, types] = data.names.map((column) =>
  column.map((place) => data.strings[place]));
const count = data.todo.length;
const shown = (number) => number.toLocaleString("en");
const plural = (number, noun) => `${shown(number)} ${noun}${number == 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
const share = (part, all) => (all > 0 ? 100 * Number(part) / Number(all) : 0);
const percent = (number) => number.toFixed(2);
const sum = (...numbers) => numbers.reduce((all, it) => all + Number(it), 0);
const exactSum = (a, b) => BigInt(a) + BigInt(b);
const known = objects.map((all, row) => Number(all) - Number(unknown[row]));
const fieldNames = fields.map((name, row) =>
  owners[row] === classes[row] ? name : `${owners[row]}.${name}`);
const adviceOf = (row) => data.advice.filter((_, index) => data.todo[row] & (1 << index));
const texts = classes.map((name, row) =>
  `${name} ${name}.${fields[row]} ${fieldNames[row]} ${types[row]}`.toLowerCase());

// Of each column: heading, the value by which it is sorted, the text in a cell, and its width.
const number = (heading, values, title) =>
  ({heading, title, value: (row) => values[row], text: (row) => shown(values[row]), width: 7});
const part = (heading, values, title) => {
  const value = (row) => share(values[row], known[row]);
  return {heading, title, value, text: (row) => percent(value(row)), width: 6};
};
const name = (heading, values, width) =>
  ({heading, value: (row) => values[row], text: (row) => values[row], isName: true, width});
// The most urgent advice is the lowest bit.
const urgency = (row) => (data.todo[row] & -data.todo[row]) || 1 << 8;
const byOthers = classes.map((_, row) => sum(otherReads[row], otherWrites[row]));
const accesses = classes.map((_, row) => sum(byOthers[row], ownerReads[row], ownerWrites[row]));
const byOtherMeans = "by other means: arraycopy, clone, reflection, VarHandle, Unsafe, JNI";
const columns = [
  {heading: "to do", value: urgency, text: (row) => adviceOf(row).map(([name]) => name).join(", "), isName: true, width: 10},
  name("class", classes, 16),
  name("field", fieldNames, 13),
  number("objects", objects, "objects of the class"),
  part("shared %", shared, "objects of known site whose field another thread accessed"),
  part("others write %", othersWrote, "objects of known site whose field another thread wrote"),
  part("read only %", readOnly, "objects whose field was read, and written at most once, by the owner"),
  {heading: "accesses", title: "all of objects of known site", value: (row) => accesses[row], isBar: true, width: 8},
  number("reads", ownerReads, "reads by the owner"),
  number("by others", otherReads, "reads by others"),
  number("writes", ownerWrites, "writes by the owner"),
  number("by others", otherWrites, "writes by others"),
];
if (extended.length > 0) {
  columns.push(
    number("reads, other means", extended[0], `reads by the owner ${byOtherMeans}`),
    number("by others", extended[1], `reads by others ${byOtherMeans}`),
    number("writes, other means", extended[2], `writes by the owner ${byOtherMeans}`),
    number("by others", extended[3], `writes by others ${byOtherMeans}`),
  );
}

// At first the fields that other threads use most, by any means, come first.
const withExtended = (numbers, ...more) =>
  (extended.length > 0 ? numbers.map((it, row) => sum(it, ...more.map((column) => extended[column][row]))) : numbers);
const allByOthers = withExtended(byOthers, 1, 3);
const all = withExtended(accesses, 0, 1, 2, 3);
let order = Array.from(classes.keys())
  .sort((a, b) => allByOthers[b] - allByOthers[a] || all[b] - all[a] || a - b);
let found = order;
let sorted = -1;
let isDescending = false;
let chosen = -1;

const view = byId("view");
const body = byId("body");
const head = byId("head");
const rowHeight = 28;

function cell(column, row) {
  const td = document.createElement("td");
  if (column.isBar) {
    td.className = "bars";
    td.title = plural(accesses[row], "access");
    const bar = document.createElement("div");
    bar.className = "bar";
    const parts = {or: ownerReads, xr: otherReads, ow: ownerWrites, xw: otherWrites};
    for (const [kind, values] of Object.entries(parts)) {
      const piece = document.createElement("span");
      piece.className = kind;
      piece.style.width = `${share(values[row], accesses[row])}%`;
      bar.append(piece);
    }
    td.append(bar);
    return td;
  }
  const text = column.text(row);
  td.textContent = text;
  if (column.isName) {
    td.className = "name";
    td.title = text;
  }
  return td;
}

function gap(rows) {
  const tr = document.createElement("tr");
  tr.className = "gap";
  const td = document.createElement("td");
  td.colSpan = columns.length;
  td.style.height = `${rows * rowHeight}px`;
  tr.append(td);
  return tr;
}

function draw() {
  const margin = 8;
  const first = Math.max(0, Math.min(Math.floor(view.scrollTop / rowHeight) - margin, found.length));
  const end = Math.min(found.length, first + Math.ceil(view.clientHeight / rowHeight) + 2 * margin);
  const rows = [];
  for (let place = first; place < end; place += 1) {
    const row = found[place];
    const tr = document.createElement("tr");
    tr.dataset.row = row;
    tr.setAttribute("aria-rowindex", place + 2);
    tr.classList.toggle("chosen", row === chosen);
    tr.append(...columns.map((column) => cell(column, row)));
    rows.push(tr);
  }
  body.replaceChildren(gap(first), ...rows, gap(found.length - end));
}

// Numbers from the largest, names from the first letter, each the other way at the second click.
function sort(index) {
  const {value, isName} = columns[index];
  isDescending = sorted === index ? !isDescending : !isName;
  sorted = index;
  const values = Array.from(classes.keys(), value);
  const sign = isDescending ? -1 : 1;
  order.sort((a, b) => (values[a] < values[b] ? -sign : values[a] > values[b] ? sign : a - b));
  head.childNodes.forEach((th, place) => {
    th.ariaSort = place !== index ? "none" : isDescending ? "descending" : "ascending";
  });
  filter();
}

function filter() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter((word) => word && word !== "-");
  const todo = byId("todo").value;
  const isMeant = (row) => (todo === "all" || (todo === "shared" ? shared[row] > 0 : data.todo[row] & (1 << Number(todo))))
    && words.every((word) => (word[0] === "-" ? !texts[row].includes(word.slice(1)) : texts[row].includes(word)));
  found = order.filter(isMeant);
  byId("found").textContent = `${shown(found.length)} of ${shown(count)} fields`;
  byId("meaning").textContent = data.advice[Number(todo)]?.[1] ?? "";
  view.querySelector("table").setAttribute("aria-rowcount", found.length + 1);
  view.scrollTop = 0;
  draw();
}

function describe(row) {
  const unknownAll = exactSum(unknownAccesses[row], extended[4]?.[row] ?? 0);
  const kept = unknown[row] > 0
    ? ` Not judged: ${plural(unknown[row], "object")} of unknown site, with ${plural(unknownAll, "access")}.`
    : "";
  const advice = adviceOf(row).map(([name, meaning]) => ` ${name}: ${meaning}.`).join("");
  byId("detail").textContent = `${classes[row]}: ${types[row]} ${fieldNames[row]}.${advice}${kept}`;
}

const widths = sum(...columns.map(({width}) => width));
view.querySelector("table").style.minWidth = `${10 * widths}px`;
columns.forEach(({heading, title, isName, width}, index) => {
  const th = document.createElement("th");
  th.scope = "col";
  th.className = isName ? "name" : "";
  th.style.width = `${share(width, widths)}%`;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = heading;
  button.title = title ?? "";
  button.addEventListener("click", () => sort(index));
  th.append(button);
  head.append(th);
});

function option(value, text) {
  const it = document.createElement("option");
  it.value = value;
  it.textContent = text;
  byId("todo").append(it);
}
option("all", "All fields");
option("shared", "Shared fields");
data.advice.forEach(([title], index) => {
  if (data.todo.some((bits) => bits & (1 << index))) {
    option(index, `To do: ${title}`);
  }
});

const total = exact(data.total);
const ofTotal = (first) => {
  const [ownersReads, othersReads, ownersWrites, othersWrites] = total.slice(first);
  const others = sum(othersReads, othersWrites);
  const both = sum(ownersReads, ownersWrites, others);
  return `${plural(both, "access")}, ${shown(others)} of them by other threads than the owner (${percent(share(others, both))} %)`;
};
byId("total").textContent = `${plural(total[0], "object")}, ${shown(total[2])} of them shared between threads `
  + `(${percent(share(total[2], Number(total[0]) - Number(total[1])))} %); ${ofTotal(5)}`;
const tell = (id, text) => {
  byId(id).textContent = text;
  byId(id).hidden = false;
};
if (extended.length > 0) {
  tell("extended", `By other means (arraycopy, clone, reflection, VarHandle, Unsafe, JNI): ${ofTotal(10)}. `
    + "They have columns of their own; objects and advice are judged by both.");
}
if (total[1] > 0) {
  tell("unknown", `Not judged: ${plural(total[1], "object")} of unknown site, with `
    + `${plural(exactSum(total[9], total[14] ?? 0), "access")}: the file does not say which thread made them.`);
}
byId("search").addEventListener("input", filter);
byId("todo").addEventListener("change", filter);
view.addEventListener("scroll", draw);
new ResizeObserver(draw).observe(view);
body.addEventListener("click", (event) => {
  const tr = event.target.closest("tr[data-row]");
  if (tr) {
    chosen = Number(tr.dataset.row);
    describe(chosen);
    draw();
  }
});
filter();
