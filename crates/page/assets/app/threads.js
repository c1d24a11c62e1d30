// Threads: what each does by the clock, in all and over time, and when it used the CPU.

import { copyButton } from "./actions.js";
import { ask } from "./api.js";
import { duration } from "../flame/units.js";
import { make } from "./dom.js";
import { amount, titleOf } from "./numbers.js";
import { showSide } from "./side.js";
import { addressOf, filters, go, inAddress, note, state } from "./state.js";
import { Table, rowCount, searchField } from "./table.js";

/** The states, each with its words. */
const STATES = {
  running: "running on a CPU", runnable: "ready, without a CPU", blocked: "blocked by a monitor", waiting: "in Object.wait",
  parked: "parked", sleeping: "asleep", native: "in native code: network, files", vm: "held up by the JVM",
};
/** The letters of the states, so that none is known by its colour alone. */
const LETTERS = { running: "R", runnable: "Y", blocked: "B", waiting: "W", parked: "P", sleeping: "S", native: "N", vm: "V" };
/** The least part of a bar that has its letter, in percent, and the least width in a strip. */
const LETTER_SHARE = 10;
const LETTER_WIDTH = 12;
/** The width of an interval of a strip, in pixels. */
const STEP = 2;
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
    const percent = (100 * ns) / (all || 1);
    const piece = make("i", { class: `state-${name}` }, percent >= LETTER_SHARE && LETTERS[name]);
    piece.style.width = `${percent}%`;
    return piece;
  }));
  return bar;
}

/** A state with its letter, for a list. */
const stateKey = (name) => [make("i", { class: `key state-${name}`, "aria-hidden": "true" }, LETTERS[name]), STATES[name]];

/** The states of a thread over time, as parts of each interval; the one with most has its letter where there is room. */
function stateStrip({ states }, interval_ns, name) {
  const length = states[0]?.ns.length ?? 0;
  const partsAt = (at) => {
    const parts = states.map((it) => [it.state, it.ns[at]]).filter((it) => it[1] > 0);
    const all = parts.reduce((sum, it) => sum + it[1], 0);
    return parts.map(([state, ns]) => [state, ns / all]);
  };
  const canvas = make("canvas", { class: "state-strip", width: length * STEP, height: 16, role: "img", "aria-label": `the states of ${name} over time`, "data-thread": name });
  const context = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  let run = { state: "", from: 0 };
  const letters = [];
  const end = (at) => {
    if (run.state && (at - run.from) * STEP >= LETTER_WIDTH) letters.push([run.state, ((run.from + at) / 2) * STEP]);
  };
  for (let at = 0; at < length; at++) {
    const parts = partsAt(at);
    let bottom = canvas.height;
    for (const [state, part] of parts) {
      context.fillStyle = style.getPropertyValue(`--${state}`).trim();
      context.fillRect(at * STEP, bottom - part * canvas.height, STEP, part * canvas.height);
      bottom -= part * canvas.height;
    }
    const most = parts.reduce((a, b) => (b[1] > a[1] ? b : a), ["", 0.5])[0];
    if (most !== run.state) {
      end(at);
      run = { state: most, from: at };
    }
  }
  end(length);
  context.font = "600 11px sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const [state, x] of letters) {
    context.fillStyle = inkOf(style.getPropertyValue(`--${state}`).trim());
    context.fillText(LETTERS[state], x, canvas.height / 2 + 0.5);
  }
  canvas.addEventListener("pointermove", (event) => {
    const at = Math.min(length - 1, Math.floor((event.offsetX / canvas.clientWidth) * length));
    const parts = partsAt(at).sort((a, b) => b[1] - a[1]).map(([state, part]) => `${STATES[state]} ${share(part, 1)}`);
    const from = at * interval_ns;
    canvas.title = `${duration(from)} to ${duration(from + interval_ns)}: ${parts.join(", ") || "not there"}`;
  });
  return canvas;
}

/** Black or white, which can be read on a colour like `#2e8b57`. */
function inkOf(fill) {
  const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(fill.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#111" : "#fff";
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
  const [states, times, strips] = await Promise.all([
    has("states") ? ask(`${path}/report`, { ...others, view: "states", limit: 10000 }).catch(() => null) : null,
    has("timeline") ? ask(`${path}/timeline`, { ...filters(), threads: THREADS, "bucket-ms": width }).catch(() => null) : null,
    has("thread-states") ? ask(`${path}/thread-states`, { thread: others.thread }).catch(() => null) : null,
  ]);
  const stripOf = new Map((strips?.threads ?? []).map((thread) => [thread.thread_serial, thread]));
  const serial = states?.columns.findIndex((column) => column.id === "thread_serial");
  const bySerial = new Map((states?.rows ?? []).map((row) => [row[serial], statesOf(states.columns, row)]));
  const byName = new Map((times?.threads ?? []).map((thread) => [thread.name, thread]));
  const most = [...byName.values()].reduce((all, thread) => Math.max(all, ...thread.numbers), 1);
  const table = new Table({
    label: view.title,
    load: (offset, limit) => ask(`${path}/report`, { ...filters(), view: "threads", sort: question.sort, order: question.order, search: question.search, offset, limit }),
    choose: ({ columns }) => {
      // On a narrow screen the shares leave room for the names and the states.
      const isNarrow = innerWidth <= 640 && columns.some((column) => column.unit === "percent");
      const isShown = ({ id, kind, unit }) => !LEFT_OUT.includes(id) && !(isNarrow && (id === "group" || (kind === "number" && unit !== "percent")));
      const shown = columns.filter(isShown);
      const extra = [];
      if (bySerial.size > 0) extra.push(Object.assign(columns.find((column) => column.id === "thread_serial"), { title: stripOf.size > 0 ? "states, in all and over time" : "states" }));
      if (byName.size > 0) extra.push(Object.assign(columns.find((column) => column.id === "metric"), { title: `${times.title} over time` }));
      return [...shown.filter((column) => column.kind === "number"), ...shown.filter((column) => column.kind !== "number"), ...extra];
    },
    cell: (row, column, columns) => {
      const of = (id) => row[columns.findIndex((it) => it.id === id)];
      if (column.id === "thread_serial") {
        const [known, strip] = [bySerial, stripOf].map((it) => it.get(of("thread_serial")));
        return known ? make("div", { class: "with-strip" }, stateBar(known), strip && stateStrip(strip, strips.interval_ns, of("thread"))) : "";
      }
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
      const ofStates = [...known].sort((a, b) => b[1] - a[1]).map(([name, ns]) => [make("span", {}, ...stateKey(name)), `${amount(ns, "ns")} (${share(ns, all)})`]);
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
  host.append(make("div", { class: "bar" }, searchField(question.search), count), table.element);
  if (states) {
    const used = new Set([...bySerial.values()].flat().map(([name]) => name));
    host.append(make("ul", { class: "legend", "aria-label": "States" }, ...[...used].sort((a, b) => Object.keys(STATES).indexOf(a) - Object.keys(STATES).indexOf(b))
      .map((name) => make("li", {}, ...stateKey(name)))));
  }
  await table.start();
  count.textContent = [rowCount(table), !states && "the recording has no states of threads"].filter(Boolean).join(" · ");
}
