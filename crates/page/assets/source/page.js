// A table of the files; behind each name, the file with the numbers of each line. The part of the
// address after # says what is shown: nothing for the table, `path:line` for a file.

import { byId, make } from "../app/dom.js";
import { fileColumns, fileFact, fileRow, findFiles, hotLines, lineHeads, lineLegend, lineRows, missedLines, separated, sortFiles } from "./lines.js";

const data = JSON.parse(byId("perk-source").textContent);
const { files, hottest } = data;

const address = (file, line) => `#${encodeURIComponent(file.path)}${line ? `:${line}` : ""}`;
const columns = fileColumns(data, (file) => make("a", { href: address(file) }, file.path));

const view = byId("view");
const body = byId("body");
let order = Array.from(files);
let sorted = -1;
let isDescending = false;
let listTop = 0;
let current = null;

function heads(names) {
  byId("head").replaceChildren(...names.map(({ heading, title, isName }, index) => {
    const th = make("th", { scope: "col", class: isName ? "name" : "" });
    if (current) {
      th.append(make("span", { title: title ?? "" }, heading));
    } else {
      th.append(make("button", { type: "button", title: title ?? "", onclick: () => sort(index) }, heading));
      th.ariaSort = index !== sorted ? "none" : isDescending ? "descending" : "ascending";
    }
    return th;
  }));
}

function drawList() {
  heads(columns);
  const found = findFiles(order, byId("search").value);
  byId("found").textContent = `${separated(found.length)} of ${separated(files.length)} files`;
  body.replaceChildren(...found.map((file) => fileRow(file, columns)));
}

// Numbers from the largest, names from the first letter, each the other way at the second click.
function sort(index) {
  isDescending = sorted === index ? !isDescending : !columns[index].isName;
  sorted = index;
  order = sortFiles(files, columns[index], isDescending);
  drawList();
}

function drawFile(file) {
  heads(lineHeads(data));
  body.replaceChildren(...lineRows(data, file, hottest));
  byId("place").textContent = fileFact(data, file);
}

let steps = { hot: 0, never: 0 };

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
  tr?.scrollIntoView({ block: "center" });
}

function show() {
  const [, path, line] = location.hash.match(/^#(.*?)(?::(\d+))?$/) ?? [];
  const file = files.find((it) => encodeURIComponent(it.path) === path) ?? null;
  if (!current) listTop = view.scrollTop;
  const isNew = file !== current || !body.hasChildNodes();
  current = file;
  byId("list-tools").hidden = Boolean(file);
  byId("file-tools").hidden = !file;
  view.querySelector("table").className = file ? "source" : "files";
  if (isNew) {
    steps = { hot: 0, never: 0 };
    if (file) drawFile(file);
    else drawList();
    view.scrollTop = file ? 0 : listTop;
  }
  if (file && line) choose(line);
}

byId("facts").append(...data.facts.map((fact) => make("p", {}, fact)));
byId("legend").append(...lineLegend(data));
byId("never").hidden = !data.has_coverage;
byId("search").addEventListener("input", drawList);
byId("back").addEventListener("click", () => { location.hash = ""; });
byId("hot").addEventListener("click", () => step("hot"));
byId("never").addEventListener("click", () => step("never"));
document.addEventListener("keydown", (event) => {
  if (!current || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") location.hash = "";
  else if (event.key === "h") step("hot");
  else if (event.key === "n" && data.has_coverage) step("never");
});
body.addEventListener("click", (event) => {
  const tr = event.target.closest("td.line")?.parentNode;
  if (tr) location.hash = address(current, tr.dataset.line);
});
window.addEventListener("hashchange", show);
show();
