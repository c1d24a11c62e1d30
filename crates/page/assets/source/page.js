// A table of the files; behind each name, the file with the numbers of each line. The part of the
// address after # says what is shown: nothing for the table, `path:line` for a file.
const data = JSON.parse(document.getElementById("perk-source").textContent);
const byId = (id) => document.getElementById(id);

const shown = (number) => BigInt(number).toLocaleString("en");
// Counts come as digits, times and sizes with their unit.
const amount = (text) => (/^\d+$/.test(text) ? shown(text) : text);
const percent = (part) => part.toFixed(2);
const ratio = (part, all) => (all > 0 ? (100 * part) / all : 0);
const {files} = data;
const hottest = files.reduce((most, {numbers}) => numbers.own.share.reduce((a, b) => Math.max(a, b), most), 0);

function element(tag, text = "", className = "") {
  const it = document.createElement(tag);
  it.textContent = text;
  it.className = className;
  return it;
}

// The table of files. Of each column: heading, the value by which it is sorted, what a cell shows.
const columns = [
  {heading: "self %", value: (it) => it.share, text: (it) => percent(it.share)},
  {heading: `self: ${data.metric}`, value: (it) => it.share, text: (it) => amount(it.own)},
];
if (data.has_coverage) {
  const [all, run, inPart] = [0, 1, 2].map((place) => (it) => it.lines[place]);
  const never = (it) => all(it) - run(it);
  const number = (heading, value, title) => ({heading, title, value, text: (it) => shown(value(it))});
  const share = (it) => ratio(run(it), all(it));
  columns.push(
    {heading: "lines run %", title: "lines of which an instruction ran", value: share, text: (it) => (all(it) > 0 ? percent(share(it)) : "")},
    {heading: "lines", value: all, cell: bar},
    number("run", run),
    number("in part", inPart, "lines of which some instructions ran and others never"),
    number("never run", never),
    {heading: "methods run", value: (it) => ratio(it.methods[1], it.methods[0]), text: (it) => `${it.methods[1]} of ${it.methods[0]}`},
  );
}
columns.push({heading: "file", value: (it) => it.path, cell: link, isName: true});

function bar(it) {
  const [all, run, inPart] = it.lines;
  const bar = element("span", "", "bar");
  for (const [name, count] of [["whole", run - inPart], ["part", inPart], ["never", all - run]]) {
    const piece = element("i", "", name);
    piece.style.width = `${ratio(count, all)}%`;
    bar.append(piece);
  }
  bar.title = `${all} lines`;
  return bar;
}

const address = (file, line) => `#${encodeURIComponent(file.path)}${line ? `:${line}` : ""}`;

function link(it) {
  const a = element("a", it.path);
  a.href = address(it);
  return a;
}

const view = byId("view");
const body = byId("body");
let order = Array.from(files);
let sorted = -1;
let isDescending = false;
let listTop = 0;
let current = null;

function heads(names) {
  byId("head").replaceChildren(...names.map(({heading, title, isName}, index) => {
    const th = element("th", "", isName ? "name" : "");
    th.scope = "col";
    const button = element(current ? "span" : "button", heading);
    button.title = title ?? "";
    if (!current) {
      button.type = "button";
      button.addEventListener("click", () => sort(index));
      th.ariaSort = index !== sorted ? "none" : isDescending ? "descending" : "ascending";
    }
    th.append(button);
    return th;
  }));
}

function drawList() {
  heads(columns);
  const words = byId("search").value.toLowerCase().split(/\s+/).filter((word) => word && word !== "-");
  const isMeant = ({path}) => words.every((word) =>
    (word[0] === "-" ? !path.toLowerCase().includes(word.slice(1)) : path.toLowerCase().includes(word)));
  const found = order.filter(isMeant);
  byId("found").textContent = `${shown(found.length)} of ${shown(files.length)} files`;
  body.replaceChildren(...found.map((it) => {
    const tr = element("tr");
    tr.append(...columns.map(({text, cell, isName}) => {
      const td = element("td", text ? text(it) : "", isName ? "name" : "");
      if (cell) {
        td.append(cell(it));
      }
      return td;
    }));
    return tr;
  }));
}

// Numbers from the largest, names from the first letter, each the other way at the second click.
function sort(index) {
  const {value, isName} = columns[index];
  isDescending = sorted === index ? !isDescending : !isName;
  sorted = index;
  const sign = isDescending ? -1 : 1;
  const compare = (a, b) => (a < b ? -sign : a > b ? sign : 0);
  order.sort((a, b) => compare(value(a), value(b)) || files.indexOf(a) - files.indexOf(b));
  drawList();
}

// Of a line: whether all, some or none of its instructions ran.
function coverage({instructions, run}, place) {
  const [all, part] = [Number(instructions[place]), Number(run[place])];
  return all === 0 ? "" : part === 0 ? "never" : part < all ? "part" : "whole";
}

function missed({instructions, run}, place) {
  const [all, part] = [Number(instructions[place]), Number(run[place])];
  return part >= all ? "" : part === 0 ? `all ${all}` : `${all - part} of ${all}`;
}

const lineHeads = [{heading: "self %"}, {heading: "self"}]
  .concat(data.has_totals ? [{heading: "total %"}, {heading: "total"}] : [])
  .concat(data.has_coverage ? [
    {heading: "executions", title: "of the line's most executed instruction"},
    {heading: "never run", title: "instructions of the line that never ran, of all"},
  ] : [])
  .concat([{heading: "line"}, {heading: "source", isName: true}]);

function amounts({share, text}, place) {
  const some = place !== undefined && share[place] > 0;
  const part = element("td", some ? percent(share[place]) : "", some ? "heat" : "");
  if (some) {
    part.style.setProperty("--share", (0.7 * Math.min(1, share[place] / hottest)).toFixed(3));
  }
  return [part, element("td", some ? amount(text[place]) : "")];
}

function row(numbers, place, line, text) {
  const known = place !== undefined;
  const tr = element("tr", "", known ? coverage(numbers, place) : "");
  tr.dataset.line = line;
  tr.append(...amounts(numbers.own, place));
  if (data.has_totals) {
    tr.append(...amounts(numbers.total, place));
  }
  if (data.has_coverage) {
    const hasCode = known && Number(numbers.instructions[place]) > 0;
    tr.append(
      element("td", hasCode ? shown(numbers.executions[place]) : ""),
      element("td", hasCode ? missed(numbers, place) : "", "missed"),
    );
  }
  tr.append(element("td", line, "line"), element("td", text, "code"));
  return tr;
}

function drawFile(file) {
  heads(lineHeads);
  const {numbers, text} = file;
  const places = new Map(numbers.line.map((line, place) => [line, place]));
  const rows = text.map((code, index) => row(numbers, places.get(index + 1), index + 1, code));
  const after = numbers.line.filter((line) => line > text.length)
    .map((line) => row(numbers, places.get(line), line, "[after the end of the file]"));
  body.replaceChildren(...rows, ...after);
  const [all, run] = file.lines;
  const covered = data.has_coverage ? `, ${shown(run)} of ${shown(all)} lines run (${percent(ratio(run, all))} %)` : "";
  const odd = file.is_odd ? ". Not the source of these classes: lines with numbers are blank in it or after its end." : "";
  byId("place").textContent = `${file.path}: ${percent(file.share)} % of ${data.metric}${covered}${odd}`;
}

// The lines to go to: the hottest first; the first line of each place that did not run.
function hotLines({numbers}) {
  const {share} = numbers.own;
  return numbers.line.map((line, place) => ({line, share: share[place]}))
    .filter((it) => it.share > 0)
    .sort((a, b) => b.share - a.share)
    .slice(0, 20)
    .map(({line}) => line);
}

function missedLines({numbers}) {
  const isMissed = (place) => ["never", "part"].includes(coverage(numbers, place));
  const known = Array.from(numbers.line.keys()).filter((place) => coverage(numbers, place) !== "");
  return known.filter((place, index) => isMissed(place) && (index === 0 || !isMissed(known[index - 1])))
    .map((place) => numbers.line[place]);
}

let steps = {hot: 0, never: 0};

function step(kind) {
  const lines = kind === "hot" ? hotLines(current) : missedLines(current);
  if (lines.length > 0) {
    location.hash = address(current, lines[steps[kind] % lines.length]);
    steps[kind] += 1;
    show();
  }
}

function choose(line) {
  body.querySelector(".chosen")?.classList.remove("chosen");
  const tr = body.querySelector(`tr[data-line="${line}"]`);
  tr?.classList.add("chosen");
  tr?.scrollIntoView({block: "center"});
}

function show() {
  const [, path, line] = location.hash.match(/^#(.*?)(?::(\d+))?$/) ?? [];
  const file = files.find((it) => encodeURIComponent(it.path) === path) ?? null;
  if (!current) {
    listTop = view.scrollTop;
  }
  const isNew = file !== current || !body.hasChildNodes();
  current = file;
  byId("list-tools").hidden = Boolean(file);
  byId("file-tools").hidden = !file;
  view.querySelector("table").className = file ? "source" : "files";
  if (isNew) {
    steps = {hot: 0, never: 0};
    if (file) {
      drawFile(file);
    } else {
      drawList();
    }
    view.scrollTop = file ? 0 : listTop;
  }
  if (file && line) {
    choose(line);
  }
}

byId("facts").append(...data.facts.map((fact) => element("p", fact)));
if (data.has_coverage) {
  const kinds = {whole: "all instructions of the line ran", part: "some never ran", never: "none ran"};
  byId("legend").append(...Object.entries(kinds).flatMap(([kind, text]) => [element("i", "", kind), text]));
  byId("legend").append(". Lines without colour have no instructions.");
} else {
  byId("legend").append("self: the line is on top of the stack. total: it is anywhere on the stack.");
  byId("never").hidden = true;
}
byId("search").addEventListener("input", drawList);
byId("back").addEventListener("click", () => { location.hash = ""; });
byId("hot").addEventListener("click", () => step("hot"));
byId("never").addEventListener("click", () => step("never"));
document.addEventListener("keydown", (event) => {
  if (!current || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  if (event.key === "Escape") {
    location.hash = "";
  } else if (event.key === "h") {
    step("hot");
  } else if (event.key === "n" && data.has_coverage) {
    step("never");
  }
});
body.addEventListener("click", (event) => {
  const tr = event.target.closest("td.line")?.parentNode;
  if (tr) {
    location.hash = address(current, tr.dataset.line);
  }
});
window.addEventListener("hashchange", show);
show();
