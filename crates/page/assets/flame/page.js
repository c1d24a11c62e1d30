// What the page shows: its state, which is kept in the address so that a link shows the same.

import { KIND } from "./names.js";
import { callersOf, merged, reversed } from "./views.js";
import { Chart, coloursBy } from "./chart.js";
import { by, data, names, part, parts, source, take, value } from "./data.js";
import { amount, counted, nameValue, noun, percent, what } from "./words.js";
import { FOLDS, areYours, foldFrames, fromYours, idleNodes, unfolded, withoutIdle } from "./fold.js";
import { fillAccount } from "./account.js";
import { describe, fillCrumbs, hint, hover } from "./frame.js";
import { fillLegend, fillPanel, methods } from "./panel.js";

/** Graphs that are deeper get no more room than this. */
const DEEP = 30;
export const isCompared = source.totalBefore !== null;
const firstColours = isCompared ? "change" : "owner";
if (isCompared) by("colours").prepend(new Option("Colour: change", "change"));
/** The graph, and that of the callers, which the merged view has above it. */
export const chart = new Chart(by("chart"), by("canvas"), by("spacer"));
export const upper = new Chart(by("upper"), by("upper-canvas"), by("upper-spacer"));
upper.flame = true;

/** "calls", "reversed" or "merged", which is all of one method. */
export let view = "calls";
/** The method (a frame of the data) that is selected, or -1. */
export let selected = -1;
/** Whose numbers: "" of all threads together, "each" of all side by side, `t:` and a thread's name, `p:` and a process's. */
let threads = "";
/** The names of the groups of frames that are left out. */
export const hidden = new Set();
export let colours = null;
/** The calls of the chosen threads without hidden frames, the same from the program's own code on, and the tree that is shown. */
export let calls, started, model;
/** The samples of the chosen threads: what shares are of. */
export let samples = 0;

/** Sets the selected method, for what follows. */
export function setSelected(frame) {
  selected = frame;
}

/** Sets whose numbers, for what follows. */
export function setThreads(choice) {
  threads = choice;
}

// ---- threads

/** The process that a thread's name begins with, in a file of several. */
const processOf = (name) => /^(.*\(pid \d+\))(?:: .*)?$/s.exec(name)?.[1];

/**
 * The choices of threads: each with its number and with its nodes, or, where only the times distinguish threads, with its
 * index in those.
 */
function threadChoices() {
  const choices = new Map();
  const add = (choice, node) => {
    if (!choices.has(choice)) choices.set(choice, { total: 0, nodes: [] });
    choices.get(choice).total += source.total[node];
    choices.get(choice).nodes.push(node);
  };
  for (let node = 1; node < source.count; node = source.next[node]) {
    const name = names[source.frame[node]];
    if (name.kind !== KIND.thread) continue;
    const thread = name.method.slice(1, -1);
    const process = processOf(thread);
    if (process) add(`p:${process}`, node);
    if (process !== thread) add(`t:${thread}`, node);
  }
  if (choices.size === 0) globalThis.perkTimes?.totals().forEach(({ name, total }, thread) => choices.set(`t:${name}`, { total, thread }));
  return choices;
}

function fillThreads() {
  const choices = threadChoices();
  const isOfTimes = [...choices.values()].some((it) => it.thread !== undefined);
  if (!(threads === "each" && !isOfTimes) && !choices.has(threads)) threads = "";
  const list = by("threads");
  list.parentElement.hidden = choices.size < (isOfTimes ? 2 : 1);
  const all = [...choices.values()].reduce((sum, it) => sum + (it.thread === undefined ? 0 : it.total), 0) || source.total[0];
  const group = (label, mark) => {
    const made = document.createElement("optgroup");
    made.label = label;
    const entries = [...choices].filter(([choice]) => choice.startsWith(mark)).sort((a, b) => b[1].total - a[1].total);
    made.append(...entries.map(([choice, { total }]) => new Option(`${choice.slice(2)} · ${percent(total, all)}`, choice)));
    return made;
  };
  const groups = [group("Processes", "p:"), group("Threads", "t:")].filter((it) => it.children.length > 0);
  const each = isOfTimes ? [] : [new Option("All threads, side by side", "each")];
  list.replaceChildren(new Option("All threads, merged", ""), ...each, ...groups);
  list.value = threads;
}

// ---- the tree that is shown

const isHidden = (frame) => hidden.size > 0 && colours !== null && hidden.has(colours.groups[colours.group[frame]]?.name);

function makeCalls() {
  const choice = threadChoices().get(threads);
  globalThis.perkTimes?.only(choice?.thread ?? -1);
  const out = Uint8Array.from(names, (name, frame) =>
    source.used[frame] && ((name.kind === KIND.thread && threads !== "each") || isHidden(frame)) ? 1 : 0,
  );
  const chosen = (tree, tops) => (tops[0] === 0 && !out.includes(1) ? tree : merged(tree, tops, -1, out));
  calls = chosen(source, choice?.nodes ?? [0]);
  samples = calls.total[0];
  methods.forget();
  const isIdle = unfolded.has("i") ? null : idleNodes();
  started = calls;
  if (isIdle) {
    const tree = withoutIdle(source, isIdle);
    // The threads are in the same order there.
    const places = new Map();
    for (let node = 1, at = 1; node < source.count && at < tree.count; node = source.next[node]) {
      if (tree.frame[at] !== source.frame[node]) continue;
      places.set(node, at);
      at = tree.next[at];
    }
    started = chosen(tree, choice?.nodes?.map((node) => places.get(node)) ?? [0]);
  }
  if (!unfolded.has("a")) started = fromYours(started);
  by("fold").ariaPressed = String(unfolded.size > 0);
  by("fold").hidden = unfolded.size === 0 && started === calls;
}

/** Makes the tree of the view. */
function makeView() {
  if (view === "merged" && !calls.used[selected]) view = "calls";
  if (view === "calls") model = started;
  if (view === "reversed") model = calls.reversed ??= reversed(calls);
  if (view === "merged") model = merged(calls, calls.occurrences(selected), selected, new Uint8Array(names.length), calls);
  chart.flame = view !== "merged" && by("flip").ariaPressed === "true";
  by("upper").hidden = view !== "merged";
  if (view === "merged") upper.use(callersOf(calls, selected), colours);
  // Both graphs get room by their depth. The method itself is the first row of the lower one.
  for (const [at, its] of [[chart, model], [upper, upper.model]]) {
    at.element.style.flexGrow = view === "merged" ? Math.min(its.depth, DEEP) : 1;
  }
  upper.element.style.marginBottom = `${-upper.rowHeight}px`;
  chart.use(model, colours);
  for (const button of by("views").children) button.ariaPressed = String(button.value === view);
  by("flip").disabled = view === "merged";
}

/** The frames on the way to the zoomed node. */
export const zoomPath = () => model.path(chart.zoom).map((node) => model.frame[node]).filter((frame) => frame >= 0);

/** Makes everything anew after a choice, zoomed to the same path as far as that is there. */
export function rebuild({ path = zoomPath(), of = makeCalls } = {}) {
  if (of) of();
  makeView();
  const kept = path.filter((frame) => !isHidden(frame) && (threads === "each" || names[frame].kind !== KIND.thread));
  setZoom(model.follow(view === "merged" ? [] : kept));
}

export function recolour() {
  const mode = by("colours").value;
  colours = mode === "change" ? null : coloursBy(mode, source);
  for (const at of [chart, upper]) if (at.model) at.colour(colours);
}

// ---- zoom, search, selection

export function setFocus(at, node) {
  at.focus = node;
  at.reveal(node);
  describe(at, node);
}

export function setZoom(node) {
  hover(null, -1);
  chart.zoomTo(node);
  chart.focus = node;
  if (view === "merged") upper.zoomTo(0);
  mark();
  fillCrumbs();
  fillLegend();
  search();
  fillPanel();
  if (node === 0 && view !== "merged") hint();
  else describe(chart, node);
}

function mark() {
  chart.marked = upper.marked = view === "merged" ? -1 : selected;
  chart.schedule();
  upper.schedule();
}

/** Selects the method of a frame of the data; -1 selects none. */
export function select(frame) {
  selected = frame;
  mark();
  fillPanel();
}

/** Marks the bar of the frames above the program's code, if any of them is found. */
function markFolds(matched) {
  const yours = areYours(calls);
  for (let node = 1; node < calls.count; node++) {
    if (!yours[node] && matched[calls.frame[node]]) matched[foldFrames.a] = 1;
  }
}

export function search() {
  const text = by("search").value;
  const found = by("found");
  const asRegex = by("regex").ariaPressed === "true";
  let test = null;
  let error = "";
  if (text !== "") {
    try {
      const pattern = asRegex ? text : text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      const regex = new RegExp(pattern, asRegex ? "" : "i");
      test = (name) => regex.test(name);
    } catch {
      error = "not a regular expression";
    }
  }
  by("search").ariaInvalid = String(error !== "");
  found.classList.toggle("bad", error !== "");
  const matched = test && Uint8Array.from(names, (name, frame) => (calls.used[frame] && test(name.full) ? 1 : 0));
  chart.matched = upper.matched = matched;
  found.textContent = error;
  if (matched) {
    // What is folded is found as well.
    const count = (chart.zoom === 0 && model === started ? calls : model).matchedSamples(matched, chart.zoom);
    if (model === started && started !== calls) markFolds(matched);
    const whole = model.total[chart.zoom];
    const nameCount = matched.reduce((sum, match, frame) => sum + (names[frame].kind === KIND.fold ? 0 : match), 0);
    found.textContent =
      `${percent(count, whole)} · ${amount(count)} of ${amount(whole)}${noun ? ` ${what}` : ""}` +
      `${chart.zoom ? " in zoom" : ""} · ${counted(nameCount, "frame name")}`;
  }
  chart.schedule();
  upper.schedule();
}

// ---- the address

export function link() {
  const state = new URLSearchParams();
  if (part !== data) state.set("v", value);
  if (threads) state.set("t", threads);
  if (view === "reversed") state.set("w", "reversed");
  if (view === "merged") state.set("m", selected);
  if (by("search").value) state.set("s", by("search").value);
  if (by("regex").ariaPressed === "true") state.set("r", "1");
  if (chart.zoom !== 0) state.set("z", zoomPath().join("."));
  for (const letter of unfolded) state.append("o", letter);
  if (globalThis.perkTimes?.isOpen) state.set("i", "1");
  if (by("colours").value !== firstColours) state.set("c", by("colours").value);
  for (const group of hidden) state.append("h", group);
  if (by("flip").ariaPressed === "true") state.set("f", "1");
  return `#${state}`;
}

export const saveState = () => history.replaceState(null, "", link());

/** Adds what is shown now to the browser's history. */
export function pushState() {
  if (link() !== (location.hash || "#")) history.pushState(null, "", link());
}

export function zoomByUser(node) {
  setZoom(node);
  pushState();
}

/** Makes another value the one that is shown. A window of time stays, as far as the value has times. */
function takeValue(index) {
  const window = globalThis.perkTimes?.leave();
  take(index);
  nameValue();
  globalThis.perkTimes?.use(part.times, window);
  if (by("values")) by("values").value = index;
  recolour();
  fillAccount();
  fillThreads();
}

/** Shows another value, zoomed to the same path as far as it has that. */
export function show(index) {
  const path = zoomPath();
  takeValue(index);
  rebuild({ path });
}

export function loadState() {
  const state = new URLSearchParams(location.hash.slice(1));
  const index = Math.max(0, parts.findIndex((it) => it.value === state.get("v")));
  by("search").value = state.get("s") ?? "";
  by("regex").ariaPressed = String(state.get("r") === "1");
  const mode = state.get("c");
  by("colours").value = ["owner", "package", firstColours].includes(mode) ? mode : firstColours;
  by("flip").ariaPressed = String(state.get("f") === "1");
  threads = state.get("t") ?? "";
  takeValue(index);
  unfolded.clear();
  for (const letter of state.getAll("o")) if (FOLDS[letter]) unfolded.add(letter);
  globalThis.perkTimes?.open(state.get("i") === "1");
  hidden.clear();
  for (const group of state.getAll("h")) if (colours?.groups.some((it) => it.name === group)) hidden.add(group);
  const method = Number(state.get("m") ?? -1);
  view = state.get("w") === "reversed" ? "reversed" : "calls";
  if (state.has("m") && names[method]) [view, selected] = ["merged", method];
  makeCalls();
  makeView();
  setZoom(model.follow(state.get("z")?.split(".").map(Number) ?? []));
}

export function reset() {
  by("search").value = "";
  selected = view === "merged" ? selected : -1;
  zoomByUser(0);
}

/** Shows what a bar represents. */
export function unfold(letter) {
  unfolded.add(letter);
  rebuild({ path: [] });
  pushState();
}

/** Folds everything, or opens all. */
export function turnFolds() {
  const path = zoomPath();
  if (unfolded.size > 0) unfolded.clear();
  else for (const letter of Object.keys(FOLDS)) unfolded.add(letter);
  rebuild({ path });
  pushState();
}

export function chooseView(name) {
  if (name === view) return;
  if (name === "merged" && selected < 0) selected = methods.busiest();
  view = name;
  rebuild({ path: [], of: null });
  pushState();
}

/** Shows all occurrences of a method as one. */
export function mergeMethod(frame) {
  if (frame < 0) return;
  selected = frame;
  view = "merged";
  rebuild({ path: [], of: null });
  pushState();
}
