// Lines: the hottest of all, the files, and the text of one file with the numbers of each line.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { rows } from "./rows.js";
import { hideSide } from "./side.js";
import { addressOf, change, filters, go, note, state } from "./state.js";
import { searchField } from "./table.js";
import { fileColumns, fileFact, fileRow, findFiles, hotLines, lineHeads, lineLegend, lineRows, missedLines, separated, sortFiles } from "../source/lines.js";

const FORMS = { lines: "Hottest lines", files: "Files" };

/** The choice between forms of a view, of which the first is not in the address. */
export function formList(form, forms = FORMS) {
  const list = make("select", { "aria-label": "Form", onchange: () =>
    change({ form: list.value === Object.keys(forms)[0] ? undefined : list.value, file: undefined, line: undefined, search: undefined, sort: undefined, order: undefined, at: undefined }) },
  ...Object.entries(forms).map(([value, text]) => new Option(text, value)));
  list.value = form;
  return list;
}

const question = (metric) => ({ metric, ...filters() });
const path = () => `${encodeURIComponent(state.source)}/files`;

/** The heading of a column that sorts. */
function sortHead({ id, heading, title, isName }) {
  const { sort, order } = state.question;
  const isDown = sort === id ? order !== "desc" : !isName;
  const cell = make("th", { scope: "col", class: isName ? "" : "number" },
    make("button", { type: "button", title: title ?? "", onclick: () => change({ sort: id, order: isDown ? "desc" : "asc" }) }, heading));
  if (sort === id) cell.ariaSort = order === "asc" ? "ascending" : "descending";
  return cell;
}

/** Fills the list of files. */
export async function files({ host, view }, { metric, forms } = {}) {
  const { sort, order, search } = state.question;
  const load = () => ask(path(), question(metric));
  let data = await load();
  const link = (file) => (file.is_missing
    ? make("span", { title: "perk serve --source DIR shows its text" }, file.path)
    : make("a", { href: addressOf("lines", { file: file.name, ...question(metric) }) }, file.path));
  // On a narrow screen two shares leave room for the names.
  const isShown = ({ id }) => innerWidth > 640 || ["share", "covered", "file"].includes(id);
  const columns = fileColumns(data, link).filter(isShown);
  const by = columns.find((column) => column.id === sort);
  const sorted = () => (by ? sortFiles(data.files, by, order !== "asc") : data.files);
  const count = make("output", {});
  const facts = make("div", { class: "sentences" });
  const body = make("tbody", {});
  const fill = (text) => {
    facts.replaceChildren(...data.facts.map((fact) => make("p", {}, fact)));
    const found = findFiles(sorted(), text ?? "");
    count.textContent = `${separated(found.length)} of ${separated(data.files.length)} files`;
    body.replaceChildren(...found.map((file) => {
      const row = fileRow(file, columns);
      columns.forEach((column, place) => { if (!column.isName) row.cells[place].className = "number"; });
      return row;
    }));
  };
  host.append(
    make("div", { class: "bar" }, searchField(search, (text) => {
      note({ search: text || undefined });
      fill(text);
    }), formList("files", forms), count),
    facts,
    make("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": view.title },
      make("table", { class: "grid" }, make("thead", {}, make("tr", {}, ...columns.map(sortHead))), body)),
    data.has_coverage && make("p", { class: "bar legend-line" }, ...lineLegend(data)) || "");
  fill(search);
  return { update: async () => {
    data = await load();
    fill(state.question.search);
  } };
}

/** Fills the view of one file. */
async function oneFile(host, view) {
  const { file: name } = state.question;
  const load = () => ask(path(), { ...question(state.question.metric), file: name });
  const data = await load();
  const [file] = data.files;
  const heads = lineHeads(data).map(({ heading, title, isName }) =>
    make("th", { scope: "col", class: isName ? "" : "number", title: title ?? "" }, heading));
  const body = make("tbody", {}, ...lineRows(data, file, data.hottest));
  const scroll = make("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": `${view.title} of ${file.path}`, "aria-keyshortcuts": "h n" },
    make("table", { class: "grid source" }, make("thead", {}, make("tr", {}, ...heads)), body));
  const places = { hot: hotLines(file), never: missedLines(file) };
  const where = make("output", { role: "status" });
  const choose = (line) => {
    body.querySelector(".chosen")?.classList.remove("chosen");
    const row = body.querySelector(`tr[data-line="${Number(line)}"]`);
    if (!row) return;
    row.classList.add("chosen");
    row.scrollIntoView({ block: "center" });
    note({ line: String(line) });
    where.textContent = `line ${line}: ${[...row.cells].slice(0, -2).map((cell, place) => cell.textContent && `${heads[place].textContent} ${cell.textContent}`).filter(Boolean).join(", ") || "no numbers"}`;
  };
  const steps = { hot: -1, never: -1 };
  const step = (kind) => {
    if (places[kind].length === 0) return;
    steps[kind] = (steps[kind] + 1) % places[kind].length;
    choose(places[kind][steps[kind]]);
  };
  const button = (kind, text, key) => make("button", { type: "button", disabled: places[kind].length === 0, "aria-keyshortcuts": key, title: `Key ${key}`, onclick: () => step(kind) }, text);
  host.append(
    make("div", { class: "bar" },
      make("a", { href: addressOf("lines", { form: "files" }) }, "All files"),
      button("hot", "Next hottest line", "h"), data.has_coverage && button("never", "Next place never run", "n"), where),
    make("div", { class: "sentences" }, make("p", {}, make("strong", {}, fileFact(data, file)))),
    scroll,
    make("p", { class: "bar legend-line" }, ...lineLegend(data)));
  scroll.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "h") step("hot");
    else if (event.key === "n" && data.has_coverage) step("never");
    else if (event.key === "Escape") go(addressOf("lines", { form: "files" }));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row) choose(row.dataset.line);
  });
  if (state.question.line) choose(state.question.line);
  else if (places.hot.length > 0) step("hot");
  if (document.activeElement === document.body) scroll.focus();
  return { update: async () => {
    const next = await load();
    const [now] = next.files;
    body.replaceChildren(...lineRows(next, now, next.hottest));
    Object.assign(places, { hot: hotLines(now), never: missedLines(now) });
    body.querySelector(`tr[data-line="${Number(state.question.line)}"]`)?.classList.add("chosen");
  } };
}

/** Fills the view of lines. */
export async function lines(context) {
  const { host, view } = context;
  if (state.question.file || state.question.form === "files") {
    hideSide();
    return state.question.file ? oneFile(host, view) : files(context, { metric: state.question.metric });
  }
  return rows({ ...context, form: formList("lines") });
}
