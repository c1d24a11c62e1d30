// Two files, or two parts of one: what changed, in sentences, as a graph and as a table.

import { copyButton, methodActions } from "./actions.js";
import { ask } from "./api.js";
import { isService, isoOf, secondsOf } from "./clock.js";
import { counted, make } from "./dom.js";
import { OPENED, foldButton } from "./flame.js";
import { Graph } from "./graph.js";
import { amount, nameOf } from "./numbers.js";
import { hideSide, showSide } from "./side.js";
import { addressOf, change, filters, inAddress, note, state } from "./state.js";
import { Table, rowCount, searchField } from "./table.js";

/** The columns of the table, with their titles. */
const SHOWN = {
  name: "method", number: "number", before: "before", after: "after", change: "change", change_percent: "change %", margin: "± error (95 %)",
};
/** What selects the part of a side. */
const PARTS = ["from", "to", "label", "thread", "focus"];
const SIDES = { before: "Before", after: "After" };

/** The unit of the numbers of a row, as their name says it. */
const unitOf = (number) => (/_ns$|_time$/.test(number) ? "ns" : /bytes/.test(number) ? "bytes" : null);

/** The parts of the question that are of a side, or of the comparison. */
const ownParts = (question) => Object.fromEntries(Object.entries(question).filter(([name]) =>
  name === "normalize" || /^(before|after)-/.test(name)));

/** A cell of numbers: the rows have different units; a change has its sign. */
function cell(row, column, columns) {
  const of = (id) => row[columns.findIndex((it) => it.id === id)];
  if (column.id === "number") return make("span", { class: "left" }, `${of("kind")}: ${String(of("number")).replace(/^(allocated|live)_count$/, "$1 objects").replace(/_(count|ns|bytes)$/, "")}`);
  if (!["before", "after", "change", "change_percent", "margin"].includes(column.id)) return null;
  const text = row[column.place];
  if (text === null || text === "" || Number.isNaN(Number(text))) return text ?? "";
  const value = Number(text);
  const size = column.id === "change_percent" ? Math.abs(value).toFixed(2) : amount(Math.abs(value), unitOf(String(of("number"))));
  const isSigned = column.id.startsWith("change");
  return isSigned ? `${value < 0 ? "−" : value > 0 ? "+" : ""}${size}` : size;
}

/** What a side is of: all, a window, a label or a thread. */
function kindOf(side) {
  const { question } = state;
  const has = (name) => question[`${side}-${name}`] !== undefined;
  if (has("from") || has("to")) return "window";
  if (has("label")) return `label:${String(question[`${side}-label`]).split("=")[0]}`;
  return has("thread") ? "thread" : "all";
}

const textField = (label, hint, value, onchange) => {
  const field = make("input", { "aria-label": label, placeholder: hint, value: value ?? "", autocomplete: "off", spellcheck: false, size: isService() ? 20 : 6, onchange: () => onchange(field.value.trim() || undefined) });
  return field;
};

/** The values of a label or the threads, those with most first. */
async function valuesOf(path, kind) {
  const { by, label, ...question } = filters();
  const key = kind.slice(6);
  const answer = await ask(`${path}/report`, kind === "thread" ? { view: "threads", ...question, limit: 500 } : { view: "label", ...question, by: key, limit: 500 });
  const name = answer.columns.findIndex((column) => (kind === "thread" ? column.id === "thread" : column.kind !== "number" && column.id !== "metric"));
  const share = answer.columns.findIndex((column) => column.unit === "percent");
  return answer.rows.map((row) => ({
    text: `${row[name]}${share >= 0 && row[share] !== null ? ` · ${amount(row[share], "percent")} %` : ""}`,
    value: kind === "thread" ? row[name] : `${key}=${row[name]}`,
  }));
}

/** The middle of a recording, or of the range of a service, for the address. */
function halfOf({ recorded_ns }, source) {
  if (!isService() || !source) return `${((recorded_ns ?? 0) / 2e9).toFixed(2)}s`;
  const end = source.modified / 1000;
  const begin = Math.max(source.begin / 1000, end - (secondsOf(state.question.last) ?? Infinity));
  return isoOf((begin + end) / 2);
}

/** The choices of a side. */
async function sideControls(side, { sources, summary }) {
  const { question, source } = state;
  const id = side === "before" ? question.with ?? source : source;
  const path = encodeURIComponent(id);
  const of = id === source ? summary : await ask(`${path}/report`, { view: "summary" });
  const clear = Object.fromEntries(PARTS.map((name) => [`${side}-${name}`, undefined]));
  const restart = { at: undefined, root: undefined, node: undefined };
  const set = (parts) => change({ ...clear, ...Object.fromEntries(Object.entries(parts).map(([name, value]) => [`${side}-${name}`, value])), ...restart });
  const files = side === "before"
    ? make("select", { id: "with", "aria-label": "File before", onchange: () => change({ ...clear, with: files.value || undefined, ...restart }) },
      new Option(isService() ? "this service" : "this file", source), ...sources.filter((it) => it.kind !== "heap" && it.error == null && it.id !== source).map((it) => new Option(it.name, it.id)))
    : make("strong", {}, sources.find((it) => it.id === source)?.name ?? source);
  if (side === "before") files.value = id;
  const kinds = [["all", "all of it"]];
  if (of.recorded_ns) kinds.push(["window", "a window"]);
  if (of.thread_count > 1 && of.views.includes("threads")) kinds.push(["thread", "a thread"]);
  kinds.push(...of.labels.map(({ key }) => [`label:${key}`, `label ${key}`]));
  const kind = kindOf(side);
  const seconds = (of.recorded_ns ?? 0) / 1e9;
  const half = halfOf(of, sources.find((it) => it.id === id));
  const what = make("select", { "aria-label": `Part ${side}`, onchange: async () => {
    if (what.value === "all") return set({});
    if (what.value === "window") return set(side === "before" ? { to: half } : { from: half });
    const values = await valuesOf(path, what.value);
    // The second side begins with another value than the first.
    const pick = values[side === "before" ? 0 : Math.min(1, values.length - 1)]?.value;
    return set({ [what.value === "thread" ? "thread" : "label"]: pick });
  } }, ...kinds.map(([value, text]) => new Option(text, value)));
  what.value = kind;
  const row = make("div", { class: "bar side", role: "group", "aria-label": SIDES[side] }, make("span", { class: "hint" }, SIDES[side]), files, what);
  if (kind === "window") {
    const [from, to] = ["from", "to"].map((name) => question[`${side}-${name}`]);
    row.append(textField(`${side} from`, isService() ? "begin" : "0s", from, (value) => set({ from: value, to })), "–", textField(`${side} to`, "end", to, (value) => set({ from, to: value })),
      make("span", { class: "hint" }, isService() ? "in UTC, such as 2026-11-29T10:00:00Z" : `of ${seconds.toFixed(2)} s`));
  } else if (kind !== "all") {
    const name = kind === "thread" ? "thread" : "label";
    const chosen = question[`${side}-${name}`];
    const values = await valuesOf(path, kind);
    if (!values.some((it) => it.value === chosen)) values.unshift({ text: chosen, value: chosen });
    const list = make("select", { "aria-label": `Value ${side}`, onchange: () => set({ [name]: list.value }) }, ...values.map((it) => new Option(it.text, it.value)));
    list.value = chosen;
    row.append(list);
  }
  return row;
}

/** The graph of what changed. */
async function graphOf(asked, view) {
  const { question } = state;
  // As the flame graph of one file, it starts at the program's own code.
  const fold = question.fold ?? "start";
  const load = () => ask("diff/flame", { ...asked, root: question.root, tree: question.tree, fold });
  const answer = await load();
  const root = answer.root.map(String);
  const detail = make("p", { id: "detail", role: "status", class: "bar" });
  const rootOf = (node) => [...root, ...graph.idsOf(node)].join(".");
  const graph = new Graph(answer, {
    label: view.title,
    onFocus: (node) => { detail.textContent = graph.describe(node); },
    onSelect: (node) => {
      const method = graph.methodAt(node);
      showSide(make("h2", {}, nameOf(graph.nameAt(node))), method && methodActions(method), graph.numbers(node));
    },
    onZoom: (node) => {
      const opened = OPENED[fold]?.[graph.kindAt(node)];
      if (opened) change({ fold: opened, root: undefined, node: undefined });
      else if (node > 0) change({ root: rootOf(node) });
    },
    onLeave: () => {
      if (root.length === 0) return false;
      change({ root: root.slice(0, -1).join(".") || undefined });
      return true;
    },
  });
  const update = async () => {
    const next = await load();
    graph.update(next);
    detail.textContent = graph.describe(graph.chart.focus);
  };
  return { graph, button: foldButton(fold), detail, update };
}

/** Fills the view of a comparison: `with` is the file before. */
export async function compare({ host, view, sources, summary, onFault }) {
  const { question, source } = state;
  const sides = await Promise.all(Object.keys(SIDES).map((side) => sideControls(side, { sources, summary })));
  const own = ownParts(question);
  const page = make("div", { class: "page flow", tabIndex: 0, role: "group", "aria-label": view.title }, ...sides);
  host.append(page);
  hideSide();
  if ((question.with ?? source) === source && Object.keys(own).length === 0) {
    const [other, part] = isService() ? ["service", "version, another label or a window"] : ["file", "part of this file"];
    page.append(make("p", {}, `Choose another ${other} before, or a ${part} for each side. This page then says what changed, with its error.`));
    const { recorded_ns: recorded } = summary;
    if (recorded) {
      const half = halfOf(summary, sources.find((it) => it.id === source));
      page.append(make("p", {}, make("a", { href: addressOf("compare", { "before-to": half, "after-from": half }) }, isService() ? "Compare the first half of the time with the second" : "Compare the first half of the recording with the second")));
    }
    return;
  }
  const asked = { before: question.with ?? source, after: source, ...filters(), ...own };
  const { normalize, ...ofGraph } = asked;
  const summaryOf = () => ask("diff", { ...asked, view: "summary" });
  const [first, picture] = await Promise.all([
    summaryOf(),
    summary.views.includes("flame") ? graphOf(ofGraph, view) : null,
  ]);
  const shares = make("input", { type: "checkbox", checked: question.normalize !== undefined, onchange: () => change({ normalize: shares.checked ? "1" : undefined }) });
  const said = make("div", {});
  const say = ({ sentences: [sentence, ...rest], notes }) => {
    const isOpen = said.querySelector("details")?.open ?? false;
    said.replaceChildren(...[
      make("p", { class: "first" }, make("strong", {}, sentence ?? "Nothing changed.")),
      // The page has lists and a box in place of options.
      ...rest.map((line) => make("div", { class: "hint" }, line.replace(/ For runs [^.]*--normalize[^.]*\.| \(--metric\)/g, ""))),
      notes?.length > 0 && make("details", { class: "hint", open: isOpen }, make("summary", {}, counted(notes.length, "note")), ...notes.map((line) => make("div", {}, line))),
    ].filter(Boolean));
  };
  say(first);
  page.append(make("div", { class: "sentences" }, said, make("label", { class: "hint" }, shares, " compare shares, for runs of different length")));
  const count = make("output", {});
  const table = new Table({
    label: "What changed",
    load: (offset, limit) => ask("diff", { ...asked, view: "table", sort: question.sort, order: question.order, search: question.search, offset, limit }),
    choose: ({ columns }) => Object.keys(SHOWN).flatMap((id) => columns.filter((column) => column.id === id)
      .map((column) => Object.assign(column, { title: SHOWN[id], kind: id === "name" ? "method" : ["number"].includes(id) ? "other" : "number" }))),
    cell,
    ...inAddress(question),
    onSelect: (row, index, columns) => {
      note({ at: String(index) });
      if (!row) return;
      const name = row[columns.findIndex((column) => column.id === "name")] ?? "";
      const entries = columns.flatMap((column, place) => (row[place] === null || row[place] === "" || column.id === "name"
        ? [] : [make("dt", {}, column.title || column.id), make("dd", {}, cell(row, { ...column, place }, columns) ?? row[place])]));
      const isMethod = /\.[^.]+\(/.test(name);
      showSide(make("h2", {}, nameOf(name)), isMethod ? methodActions(name) : make("p", { class: "links" }, copyButton(name)), make("dl", {}, ...entries));
    },
    onOpen: () => {},
    onFault,
  });
  if (picture) page.append(make("div", { class: "bar" }, picture.button), picture.graph.element, picture.graph.legend(), picture.detail);
  page.append(make("div", { class: "bar" }, searchField(question.search), count), table.element);
  if (picture) {
    picture.graph.start();
    picture.graph.focus(0);
  }
  await table.start();
  count.textContent = rowCount(table);
  return { update: async () => {
    const [next] = await Promise.all([summaryOf(), picture?.update(), table.refresh()]);
    say(next);
    count.textContent = rowCount(table);
  } };
}
