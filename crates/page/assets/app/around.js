// One method between its callers and its callees, with its lines.

import { methodActions, patternOf } from "./actions.js";
import { ask } from "./api.js";
import { make } from "./dom.js";
import { Graph, numberOf, shareOf } from "./graph.js";
import { amount, nameOf } from "./numbers.js";
import { fileOf, rows } from "./rows.js";
import { hideSide, showSide } from "./side.js";
import { addressOf, change, filters, note, state } from "./state.js";

/** The most lines of a method that are shown. */
const LINES = 1000;

/** The lines of the method, in their order; none where they are not known. */
async function linesOf(summary, method) {
  if (!summary.views.includes("lines")) return null;
  // A pattern with a star has no lines of its own in a search for text.
  const [search] = method.split("*").sort((a, b) => b.length - a.length);
  const answer = await ask(`${encodeURIComponent(state.source)}/report`, { view: "lines", ...filters(), search, limit: LINES });
  const place = (id) => answer.columns.findIndex((column) => column.id === id);
  const [className, name, line] = ["class", "method", "line"].map(place);
  const isIts = (row) => {
    const full = `${row[className]}.${row[name]}`;
    return method.includes("*") || full === method || full.endsWith(`.${method}`) || full.endsWith(`$${method}`);
  };
  const found = answer.rows.filter((row) => isIts(row) && row[line] !== null);
  return { columns: answer.columns, rows: found.sort((a, b) => a[line] - b[line]) };
}

/** The table of the lines; each leads to its text, where that is served. */
function lineTable({ columns, rows: found }, hasText) {
  const lineLink = (row, of) => {
    const file = fileOf(row[of("class")], row[of("source")]);
    return hasText && file ? make("a", { href: addressOf("lines", { file, line: row[of("line")] }) }, row[of("line")]) : row[of("line")];
  };
  const place = (id) => columns.findIndex((column) => column.id === id);
  const numbers = columns.filter((column) => column.kind === "number" && !/_cpu_ns$|^instruction|^inferred/.test(column.id));
  const cells = numbers.map((column) => ({ column, at: columns.indexOf(column) }));
  const isOne = new Set(found.map((row) => row[place("name")])).size === 1;
  const head = make("tr", {}, ...cells.map(({ column }) => make("th", { scope: "col", class: "number" }, column.unit === "percent" ? column.title.replace(" percent", " %") : column.title)),
    make("th", { scope: "col", class: "number" }, "line"), make("th", { scope: "col" }, isOne ? "" : "method"));
  const body = found.map((row) => make("tr", {}, ...cells.map(({ column, at }) => {
    const cell = make("td", { class: "number" }, row[at] === null ? "" : amount(row[at], column.unit));
    if (column.unit === "percent" && row[at] !== null) {
      cell.style.setProperty("--share", `${row[at]}%`);
      cell.classList.add("share");
    }
    return cell;
  }), make("td", { class: "number" }, lineLink(row, place)), make("td", {}, isOne ? "" : nameOf(row[place("name")]))));
  return make("table", { class: "grid" }, make("thead", {}, head), make("tbody", {}, ...body));
}

/** Fills the view of one method. */
export async function around({ host, view, summary, onFault }) {
  const { question, source } = state;
  const { method } = question;
  if (!method) {
    host.append(make("p", { class: "page", tabIndex: 0 }, "Choose a method in another view: its callers and callees are shown here."));
    return;
  }
  const hasGraph = summary.views.includes("flame");
  const form = make("select", { "aria-label": "Form", onchange: () => change({ as: form.value || undefined, at: undefined, node: undefined, sort: undefined, order: undefined }) },
    new Option("Graph", ""), new Option("Table", "table"));
  form.value = question.as ?? "";
  if (!hasGraph || question.as === "table") {
    return rows({ host, view, summary, onFault, heading: [make("strong", {}, nameOf(method))], form: hasGraph && form });
  }
  const [answer, lines] = await Promise.all([
    ask(`${encodeURIComponent(source)}/flame`, { ...filters(), tree: "around", method }),
    linesOf(summary, method),
  ]);
  const { callers, callees, ...of } = answer;
  const whole = callees.total;
  const detail = make("p", { id: "detail", role: "status", class: "bar" });
  const total = callees.total_of[0];
  const unit = numberOf(of);
  const graphOf = (part, label, isUpward) => {
    const graph = new Graph({ ...of, ...part }, {
      label, whole, isUpward,
      onFocus: (node) => { detail.textContent = graph.describe(node); },
      onSelect: (node) => {
        const name = graph.methodAt(node);
        note({ node: node > 0 ? `${isUpward ? "callers" : "callees"}.${graph.idsOf(node).join(".")}` : undefined });
        showSide(make("h2", {}, nameOf(graph.nameAt(node))), name && methodActions(name, { lines: lines !== null }), graph.numbers(node));
      },
      onZoom: (node) => {
        const name = graph.methodAt(node);
        if (name && node > 0) change({ method: patternOf(name), node: undefined });
      },
    });
    return graph;
  };
  const up = graphOf(callers, "Callers", true);
  const down = graphOf(callees, "Callees", false);
  const share = shareOf(total, whole);
  host.append(
    make("div", { class: "bar" }, make("strong", {}, nameOf(method)), make("output", {}, `${unit(total)} (${share}), self ${unit(callees.self[0])}`), form),
    make("h3", { class: "heading" }, "Callers"), up.element,
    make("h3", { class: "heading" }, "Callees"), down.element,
    down.legend(up), detail);
  if (lines?.rows.length > 0) {
    host.append(make("h3", { class: "heading" }, "Lines"),
      make("div", { class: "scroll short", tabIndex: 0, role: "group", "aria-label": "Lines" }, lineTable(lines, summary.views.includes("source"))));
  }
  hideSide();
  up.start();
  down.start();
  const [side, ...ids] = question.node?.split(".") ?? [];
  const graph = side === "callers" ? up : down;
  const node = graph.nodeOf(ids);
  graph.focus(node);
  if (node > 0) graph.onSelect(node);
  else detail.textContent = "Arrow keys move through the frames; Enter puts a frame's method into the middle.";
}
