// A running JVM: the part of its recording that is shown, and its numbers, newly every second.

import { bytes, duration } from "../flame/units.js";
import { ask } from "./api.js";
import { byId, make } from "./dom.js";
import { amount } from "./numbers.js";
import { change, moment, state } from "./state.js";

/** The ranges that follow the program, as the address has them. */
const RANGES = { "10s": "last 10 s", "1m": "last 1 min", "": "all" };
const PERIOD_MS = 1000;
/** The time after which a page says that nothing comes. */
const SILENCE_NS = 3e9;

/** The source that is followed, and its last answer. */
let followed = "";
let known = null;
let timer = 0;
let onNew = async () => {};
let onFault = () => {};
/** The range to which a page returns from a fixed part. */
let range = "10s";

/** A time of the recording for the address: a bit later, so that the second that ends there is in it. */
const timeOf = (ns) => `${((Math.floor(ns / 1000) + 1) / 1e6).toFixed(6)}s`;
const seconds = (ns) => (ns / 1e9).toFixed(1);

/** Whether the address names a part that stays. */
export const isFixed = () => state.question.from !== undefined || state.question.to !== undefined;

const isOver = () => ["ended", "finished", "lost"].includes(known?.state);

/** Takes the part that an answer is about for all questions. */
function take(answer) {
  known = answer;
  moment.source = followed;
  moment.from = answer.from_ns > 0 ? timeOf(answer.from_ns) : undefined;
  moment.to = timeOf(answer.to_ns);
}

async function load() {
  const { last, from, to } = state.question;
  return ask(`${encodeURIComponent(followed)}/live`, { last, from, to });
}

/** Begins to follow a source, or none. */
export async function follow(id, listener, fault) {
  [onNew, onFault] = [listener, fault];
  if (id !== followed) {
    clearTimeout(timer);
    [followed, known, moment.source] = [id, null, ""];
    byId("live").replaceChildren();
    byId("vitals").hidden = true;
    byId("vitals").replaceChildren();
  }
  if (!id) return;
  if (state.question.last !== undefined || !isFixed()) range = state.question.last ?? "";
  take(await load());
  draw();
  schedule();
}

function schedule(ms = PERIOD_MS) {
  clearTimeout(timer);
  if (followed && !isOver()) timer = setTimeout(poll, ms);
}

/** Asks what is new. A page that nobody sees asks nothing, and asks again once it is seen. */
async function poll() {
  const asked = followed;
  if (document.hidden || !asked) return;
  try {
    const { increment_count: before, state: stateBefore } = known;
    const answer = await load();
    if (asked !== followed) return;
    const isNew = answer.increment_count !== before || answer.state !== stateBefore;
    const parts = [moment.from, moment.to];
    take(answer);
    draw();
    // A part that stays has nothing new.
    if (isNew && (moment.from !== parts[0] || moment.to !== parts[1])) await onNew();
    schedule();
  } catch (error) {
    if (asked !== followed) return;
    onFault(error);
    schedule(5 * PERIOD_MS);
  }
}

document.addEventListener("visibilitychange", () => !document.hidden && followed && !isOver() && poll());

/** Shows a part that stays, or follows the program again. */
function freeze() {
  if (isFixed()) showRange(range);
  else change({ last: undefined, from: moment.from, to: moment.to });
}

function showRange(text) {
  change({ last: text || undefined, from: undefined, to: undefined });
}

/** Shows the part before or after the one that is shown. */
function step(direction) {
  const [from, to] = [known.from_ns, known.to_ns];
  const length = from === 0 && !isFixed() ? 10e9 : to - from;
  const end = Math.min(known.recorded_ns, Math.max(known.kept_from_ns + length, to + direction * length));
  change({ last: undefined, from: timeOf(Math.max(known.kept_from_ns, end - length)), to: timeOf(end) });
}

/** Whether the source that is shown is a JVM that runs. */
export const isRunning = () => followed !== "" && followed === state.source && known !== null && !isOver();

/** Has the JVM print its threads, as a file. */
export async function dumpThreads() {
  const response = await fetch(`/api/${encodeURIComponent(followed)}/thread-dump`);
  if (!response.ok) return onFault(new Error((await response.json()).error));
  const address = URL.createObjectURL(await response.blob());
  make("a", { href: address, download: `perk-${known.pid}.threads.txt` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** What the recording does, in words. */
function stateText() {
  if (known.end) return known.end;
  if (known.state === "stopped") return "stopped by a signal";
  if (known.increment_count === 0) return "waiting for the first second";
  if (known.silence_ns > SILENCE_NS) return `nothing for ${Math.round(known.silence_ns / 1e9)} s`;
  return isFixed() ? "frozen" : "live";
}

/** The elements of the header; they stay while a source is followed. */
function build() {
  const list = make("select", { "aria-label": "Part of the recording", "aria-keyshortcuts": "r", onchange: () => list.value !== "fixed" && showRange(list.value) });
  const hold = make("button", { type: "button", "aria-keyshortcuts": "p", onclick: freeze });
  const earlier = make("button", { type: "button", "aria-label": "Earlier", title: "Earlier (<)", onclick: () => step(-1) }, "‹");
  const later = make("button", { type: "button", "aria-label": "Later", title: "Later (>)", onclick: () => step(1) }, "›");
  const says = make("span", { role: "status", class: "state" });
  byId("live").replaceChildren(says, list, earlier, hold, later);
  return Object.assign(byId("live"), { parts: { list, hold, says, earlier, later } });
}

function draw() {
  if (!byId("live").firstChild) build();
  const { list, hold, says, earlier, later } = byId("live").parts;
  const fixed = isFixed() ? [["fixed", `${seconds(known.from_ns)} – ${seconds(known.to_ns)} s`]] : [];
  const asked = state.question.last;
  const other = asked && !(asked in RANGES) ? [[asked, `last ${asked}`]] : [];
  const choices = [...Object.entries(RANGES), ...other, ...fixed];
  const key = choices.join();
  if (list.dataset.key !== key) {
    list.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
    list.dataset.key = key;
  }
  const value = isFixed() ? "fixed" : asked ?? "";
  if (list.value !== value) list.value = value;
  write(hold, isFixed() ? "follow" : "freeze");
  write(says, stateText());
  earlier.disabled = known.from_ns <= known.kept_from_ns && isFixed();
  later.disabled = !isFixed() || known.to_ns >= known.recorded_ns;
  byId("live").dataset.state = isFixed() ? "frozen" : known.state;
  drawVitals();
}

/** Changes a text only where it differs. */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The numbers of the JVM: a name, the characters of its place, the number, what it is. */
function vitals() {
  if (known.part_ns === undefined) return [];
  const per = (ns) => (known.process_cpu_ns > 0 ? `${Math.round((100 * ns) / known.process_cpu_ns)} %` : "0 %");
  const groups = (...names) => known.cpu.filter((it) => names.includes(it.group)).reduce((sum, it) => sum + it.ns, 0);
  const rate = (number) => (number * 1e9) / known.part_ns;
  const states = known.states
    .map(({ title, ns }) => [ns / known.part_ns, title])
    .filter(([count]) => count >= 0.05)
    .map(([count, title]) => `${count.toFixed(1)} ${title}`);
  const heap = known.heap_used_bytes ? `${bytes(known.heap_used_bytes)} of ${bytes(known.heap_bytes)}` : "not known";
  return [
    ["CPU", 10, `${(known.process_cpu_ns / known.part_ns).toFixed(2)} of ${known.cpu_count}`, "Processors that the process used, of those that it may use"],
    ["Java", 5, per(groups("java")), "Part of the CPU time"],
    ["GC", 5, per(groups("gc")), "Part of the CPU time"],
    ["JIT", 5, per(groups("jit_c1", "jit_c2")), "Part of the CPU time"],
    ["perk", 5, per(groups("perk")), "Part of the CPU time"],
    ["Heap", 20, heap, "Used at the end of the last collection, as the JVM counts for jstat"],
    ["Classes", 7, known.class_count ? amount(known.class_count) : "not known", "Loaded classes"],
    ["Allocation", 11, `${bytes(Math.round(rate(known.allocated_bytes)))}/s`, "Estimated from samples"],
    ["Lock waits", 9, `${duration(Math.round(rate(known.blocked_ns)))}/s`, "The time for which threads waited for locks, in each second"],
    ["Collections", 11, known.gc_count > 0 ? `${amount(known.gc_count)} · ${((100 * known.gc_pause_ns) / known.part_ns).toFixed(1)} %` : "0", "Collections of garbage, and the part of the time for which they stopped the program"],
    ["Threads", 0, states.join(" · ") || "none seen", "Threads in each state, on average"],
  ];
}

function drawVitals() {
  const host = byId("vitals");
  const entries = vitals();
  host.hidden = entries.length === 0;
  if (host.children.length !== entries.length) {
    host.replaceChildren(...entries.map(([name, width, , title]) => {
      const value = make("dd", {});
      // A longer number moves none of the others.
      value.style.minWidth = `${width}ch`;
      return make("div", { title }, make("dt", {}, name), value);
    }));
  }
  entries.forEach(([, , text], place) => write(host.children[place].lastChild, text));
}

/** The number of a column of the threads for each second, or as a part of a CPU. */
export function threadCell(row, column) {
  const value = row[column.place];
  const part_ns = known?.part_ns || 1;
  if (column.id === "cpu") return `${((100 * value) / part_ns).toFixed(1)} %`;
  if (column.id === "allocated") return `${bytes(Math.round((value * 1e9) / part_ns))}/s`;
  return null;
}

/** A line for the list of sources. */
export const recordingText = (source) => ({ live: "live", stopped: "live, stopped by a signal" })[source.recording] ?? "has ended";

document.addEventListener("keydown", (event) => {
  if (!followed || !known || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches?.("input, select, textarea") || document.querySelector("dialog[open], :popover-open")) return;
  const ranges = Object.keys(RANGES);
  if (event.key === "p") freeze();
  else if (event.key === "r") showRange(ranges[(ranges.indexOf(isFixed() ? range : state.question.last ?? "") + 1) % ranges.length]);
  else if (event.key === "<") step(-1);
  else if (event.key === ">" && isFixed()) step(1);
  else return;
  event.preventDefault();
});
