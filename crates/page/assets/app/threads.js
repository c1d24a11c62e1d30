// Threads: what each does by the clock, and when it used the CPU.

import { copyButton } from "./actions.js";
import { ask } from "./api.js";
import { make } from "./dom.js";
import { amount, titleOf } from "./numbers.js";
import { showSide } from "./side.js";
import { addressOf, change, filters, go, inAddress, note, state } from "./state.js";
import { Table, rowCount, searchField } from "./table.js";

/** The states, each with its words. */
const STATES = {
  running: "running on a CPU", runnable: "ready, without a CPU", blocked: "blocked by a monitor", waiting: "in Object.wait",
  parked: "parked", sleeping: "asleep", native: "in native code: network, files", vm: "held up by the JVM",
};
/** Threads whose times are asked for, and the intervals of each. */
const THREADS = 500;
const INTERVALS = 100;
const LEFT_OUT = ["metric", "thread_serial"];

const share = (part, all) => `${((100 * part) / (all || 1)).toFixed(1)} %`;

/** The states of a thread: pairs of a state and its time, most first. */
function statesOf(columns, row) {
  const pairs = Object.keys(STATES).map((state) => [state, row[columns.findIndex((column) => column.id === `${state}_ns`)] ?? 0]);
  return pairs.filter(([, ns]) => ns > 0);
}

/** A bar of the states. */
function stateBar(states) {
  const all = states.reduce((sum, [, ns]) => sum + ns, 0);
  const text = [...states].sort((a, b) => b[1] - a[1]).map(([name, ns]) => `${name} ${share(ns, all)}`).join(", ");
  const bar = make("div", { class: "states", role: "img", "aria-label": text, title: text }, ...states.map(([name, ns]) => {
    const piece = make("i", { class: `state-${name}` });
    piece.style.width = `${(100 * ns) / (all || 1)}%`;
    return piece;
  }));
  return bar;
}

/** The numbers of a thread over time. */
function activity({ name, numbers }, most) {
  const canvas = make("canvas", { class: "activity", width: numbers.length * 2, height: 16, role: "img", "aria-label": `when ${name} was measured` });
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  numbers.forEach((number, at) => {
    const high = number === 0 ? 0 : Math.max(1, (number / most) * canvas.height);
    context.fillRect(at * 2, canvas.height - high, 2, high);
  });
  return canvas;
}

/** Fills the view of threads. */
export async function threads({ host, view, summary, onFault }) {
  const { question, source } = state;
  const path = encodeURIComponent(source);
  const { metric, ...others } = filters();
  const width = Math.max(1, Math.ceil((summary.recorded_ns ?? 0) / 1e6 / INTERVALS));
  const has = (name) => summary.views.includes(name);
  const [states, times] = await Promise.all([
    has("states") ? ask(`${path}/report`, { ...others, view: "states", limit: 10000 }).catch(() => null) : null,
    has("timeline") ? ask(`${path}/timeline`, { ...filters(), threads: THREADS, "bucket-ms": width }).catch(() => null) : null,
  ]);
  const serial = states?.columns.findIndex((column) => column.id === "thread_serial");
  const bySerial = new Map((states?.rows ?? []).map((row) => [row[serial], statesOf(states.columns, row)]));
  const byName = new Map((times?.threads ?? []).map((thread) => [thread.name, thread]));
  const most = [...byName.values()].reduce((all, thread) => Math.max(all, ...thread.numbers), 1);
  const table = new Table({
    label: view.title,
    load: (offset, limit) => ask(`${path}/report`, { ...filters(), view: "threads", sort: question.sort, order: question.order, search: question.search, offset, limit }),
    choose: ({ columns }) => {
      const shown = columns.filter((column) => !LEFT_OUT.includes(column.id));
      const extra = [];
      if (bySerial.size > 0) extra.push(Object.assign(columns.find((column) => column.id === "thread_serial"), { title: "states" }));
      if (byName.size > 0) extra.push(Object.assign(columns.find((column) => column.id === "metric"), { title: `${times.title} over time` }));
      return [...shown.filter((column) => column.kind === "number"), ...shown.filter((column) => column.kind !== "number"), ...extra];
    },
    cell: (row, column, columns) => {
      const of = (id) => row[columns.findIndex((it) => it.id === id)];
      if (column.id === "thread_serial") return bySerial.has(of("thread_serial")) ? stateBar(bySerial.get(of("thread_serial"))) : "";
      if (column.id === "metric") return byName.has(of("thread")) ? activity(byName.get(of("thread")), most) : "";
      return null;
    },
    ...inAddress(question, (id) => !LEFT_OUT.includes(id)),
    onSelect: (row, index, columns) => {
      note({ at: String(index) });
      if (!row) return;
      const of = (id) => row[columns.findIndex((column) => column.id === id)];
      const known = bySerial.get(of("thread_serial")) ?? [];
      const all = known.reduce((sum, [, ns]) => sum + ns, 0);
      const entries = columns.filter((column) => !LEFT_OUT.includes(column.id) && column.id !== "thread" && of(column.id) !== null && of(column.id) !== "")
        .map((column) => [titleOf(column), amount(of(column.id), column.unit) + (column.unit === "percent" ? " %" : "")]);
      const ofStates = [...known].sort((a, b) => b[1] - a[1]).map(([name, ns]) => [make("span", {}, make("i", { class: `key state-${name}` }), STATES[name]), `${amount(ns, "ns")} (${share(ns, all)})`]);
      showSide(make("h2", {}, of("thread") ?? "Thread"),
        make("p", { class: "links" },
          make("a", { href: addressOf("flame", { thread: of("thread") }), "aria-keyshortcuts": "g", title: "Key g" }, "Flame"),
          make("a", { href: addressOf("methods", { thread: of("thread") }), "aria-keyshortcuts": "m", title: "Key m" }, "Methods"),
          make("a", { href: addressOf("threads", { ...question, thread: of("thread"), at: undefined }), "aria-keyshortcuts": "f", title: "Key f" }, "Focus on this"), copyButton(of("thread") ?? "")),
        make("dl", {}, ...entries.flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)])),
        known.length > 0 && make("h3", {}, "What it does, by the clock"),
        known.length > 0 && make("dl", {}, ...ofStates.flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)])));
    },
    onOpen: (row, columns) => go(addressOf("flame", { thread: row[columns.findIndex((column) => column.id === "thread")] })),
    onFault,
  });
  const count = make("output", {});
  host.append(make("div", { class: "bar" }, searchField(question.search, (text) => change({ search: text || undefined, at: undefined }, { isStep: false })), count), table.element);
  if (states) {
    const used = new Set([...bySerial.values()].flat().map(([name]) => name));
    host.append(make("ul", { class: "legend", "aria-label": "States" }, ...[...used].sort((a, b) => Object.keys(STATES).indexOf(a) - Object.keys(STATES).indexOf(b))
      .map((name) => make("li", {}, make("i", { class: `state-${name}` }), STATES[name]))));
  }
  await table.start();
  count.textContent = [rowCount(table), !states && "the recording has no states of threads"].filter(Boolean).join(" · ");
}
