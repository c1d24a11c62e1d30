// The strip above all views: numbers and pauses over time. A part of it is the window of all views.

import { uPlot } from "../vendor/uplot.js";
import { duration } from "../flame/units.js";
import { ask } from "./api.js";
import { addressTime, beginOf, isService, ofAxis, ofPlot, secondsOf, timeText } from "./clock.js";
import { byId, counted, make } from "./dom.js";
import { amount } from "./numbers.js";
import { change, filters, moment, state } from "./state.js";

const LANE = 22;
const AXIS = 20;
/** The strip of a running JVM is at most this far behind. */
const MOST_BEHIND_NS = 10e9;
/** Steps of the arrow keys across the recording. */
const STEPS = 100;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const NAMES = { samples: "CPU", wall: "Time", allocated: "Allocation", blocked: "Locks", waited: "Waits" };
const KIND_NAMES = { collection: ["garbage collection", "garbage collections"], safepoint: ["other safepoint", "other safepoints"] };

/** Selects a window of seconds for all views; without one, all of the time. */
export function selectWindow(from, to) {
  const least = isService() ? 10 : 0.01;
  change(from === undefined ? { from: undefined, to: undefined, at: undefined } : { from: addressTime(from), to: addressTime(Math.max(to, from + least)), at: undefined });
}

/** The most of a lane, in words; of estimated times the sum, as one sample represents more than its interval. */
function most(series, { interval_ns, cpu_count }) {
  const peak = series.numbers.reduce((a, b) => Math.max(a, b), 0);
  if (series.metric === "samples" && series.sample_ns) {
    // A sample that ends an interval represents time of the one before, too.
    const cpus = Math.min((peak * series.sample_ns) / interval_ns, cpu_count ?? Infinity);
    return `max ${cpus.toFixed(1)} CPUs`;
  }
  if (series.unit === "bytes") return `max ${amount((peak * 1e9) / interval_ns, "bytes")}/s`;
  if (series.unit === "ns" || series.unit === "nanoseconds") return duration(series.numbers.reduce((a, b) => a + b, 0));
  return `max ${amount(peak, series.unit)}`;
}

/** The pauses of each kind, in words. */
export const pauseWords = (pauses) => pauses
  .map((it) => `${counted(it.count, "pause").replace(/pauses?/, KIND_NAMES[it.kind][it.count === 1 ? 0 : 1])}, ${duration(it.total_ns)}, longest ${duration(it.longest_ns)}`);
export const pauseSum = (pauses) => duration(pauses.reduce((sum, it) => sum + it.total_ns, 0));

/** Marks pauses at the bottom of a plot: collections are full bars, other safepoints hollow ones, none lower than can be seen. */
export function markPauses(plot, { interval_ns, pauses }, bottom, [ink, muted], height = LANE) {
  const { ctx: context } = plot;
  const ratio = devicePixelRatio || 1;
  context.save();
  for (const { kind, numbers } of pauses) {
    context.fillStyle = context.strokeStyle = kind === "collection" ? ink : muted;
    numbers.forEach((ns, index) => {
      if (ns === 0) return;
      const at = plot.valToPos((index * interval_ns) / 1e9, "x", true);
      const wide = Math.max(2 * ratio, plot.valToPos(((index + 1) * interval_ns) / 1e9, "x", true) - at - ratio);
      const high = Math.max(3 * ratio, Math.min(1, ns / interval_ns) * (height - 4) * ratio);
      if (kind === "collection") context.fillRect(at, bottom - high, wide, high);
      else context.strokeRect(at + 0.5, bottom - Math.max(high, 4 * ratio) + 0.5, wide, Math.max(high, 4 * ratio) - 1);
    });
  }
  context.restore();
}

/** The window of the address of an answer's recording, in seconds; null without one. */
export function windowOf(answer) {
  const isLive = moment.source === state.source && state.question.from === undefined && state.question.to === undefined;
  const { from, to } = isLive ? moment : state.question;
  if (from === undefined && (to === undefined || isLive)) return null;
  const begin = beginOf(answer);
  const end = begin + answer.recorded_ns / 1e9;
  const inside = (time) => Math.max(begin, Math.min(time, end));
  return [inside(secondsOf(from) ?? begin), inside(secondsOf(to) ?? end)];
}

/** Marks a part of a plot, in seconds; without one, none. */
function mark(plot, part) {
  const [left, right] = part ? part.map((it) => plot.valToPos(it, "x")) : [0, 0];
  plot.setSelect({ left, width: Math.max(right - left, part ? 1 : 0), top: 0, height: plot.over.clientHeight }, false);
}

/** Marks the window of the address in a plot of an answer. */
export const markWindow = (plot, answer) => mark(plot, windowOf(answer));

/** What makes a drag in a plot the window of all views. */
export const timeDrag = {
  setSelect: [(plot) => {
    const { left, width } = plot.select;
    if (width > 2) selectWindow(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  }],
};

class Strip {
  constructor(host) {
    this.host = host;
    this.key = "";
    this.plot = null;
    /** The part that is being chosen, in seconds. */
    this.chosen = null;
    new ResizeObserver(() => this.resize()).observe(host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.answer && this.draw(this.answer));
    matchMedia("(forced-colors: active)").addEventListener("change", () => this.answer && this.draw(this.answer));
  }

  /** Shows the times of what the address names. */
  async fill(isProfile) {
    const { from, to, metric, by, ...asked } = filters();
    const key = JSON.stringify([isProfile, state.source, asked]);
    if (key !== this.key) {
      this.key = key;
      await this.load(isProfile, asked);
    }
    this.mark();
  }

  /** Asks for the numbers anew, as they may have grown. */
  async load(isProfile, asked) {
    const { key } = this;
    let answer = isProfile ? await ask(`${encodeURIComponent(state.source)}/strip`, asked) : null;
    if (key !== this.key) return;
    // A file without times has no strip.
    if (answer?.series.length === 0) answer = null;
    this.answer = answer;
    this.host.hidden = !answer;
    this.plot?.destroy();
    this.plot = null;
    this.host.replaceChildren();
    if (answer) this.draw(answer);
  }

  draw(answer) {
    const { series, pauses, interval_ns, recorded_ns } = answer;
    const lanes = series.length + (pauses.length > 0 ? 1 : 0);
    const begin = beginOf(answer);
    // The last interval has an end.
    const seconds = [...series[0].numbers, 0].map((_, index) => begin + (index * interval_ns) / 1e9);
    // Each lane is a scale of its own, of which the others take the rest.
    const scale = (place, numbers) => {
      const peak = numbers.reduce((a, b) => Math.max(a, b), 0) * 1.1 || 1;
      return { range: () => [-(lanes - 1 - place) * peak, (place + 1) * peak] };
    };
    const { fontFamily } = getComputedStyle(document.body);
    const isForced = matchMedia("(forced-colors: active)").matches;
    const [ink, area, line, muted] = isForced ? ["CanvasText", "GrayText", "GrayText", "CanvasText"] : ["--accent", "--bar", "--line", "--muted"].map(colour);
    this.plot?.destroy();
    const end = begin + recorded_ns / 1e9;
    this.plot = new uPlot({
      ...ofPlot(),
      width: Math.max(120, this.host.clientWidth - this.labelWidth()),
      height: lanes * LANE + AXIS,
      padding: [0, 12, 0, 10],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: { x: { time: isService(), range: () => [begin + (answer.begin_ns ?? 0) / 1e9, Math.max(end, seconds.at(-1))] }, ...Object.fromEntries(series.map((it, place) => [`lane${place}`, scale(place, it.numbers)])) },
      axes: [
        { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false }, size: AXIS, gap: 2, font: `11px ${fontFamily}`, ...ofAxis() },
        ...series.map((_, place) => ({ show: false, scale: `lane${place}` })),
      ],
      series: [{}, ...series.map((_, place) => ({ scale: `lane${place}`, stroke: ink, fill: area, fillTo: 0, width: 1, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) }))],
      hooks: {
        draw: [(plot) => {
          if (pauses.length > 0) markPauses(plot, answer, plot.bbox.top + lanes * LANE * (devicePixelRatio || 1) - 1, [ink, muted]);
        }],
        ...timeDrag,
      },
    }, [seconds, ...series.map((it) => [...it.numbers, it.numbers.at(-1)])]);
    const label = (name, text, title) => make("li", { title }, make("span", {}, name), make("small", {}, text));
    const labels = make("ul", { class: "lanes" }, ...series.map((it) => label(NAMES[it.metric] ?? it.title, most(it, answer), it.title)));
    if (pauses.length > 0) {
      labels.append(label("Pauses", pauseSum(pauses), pauseWords(pauses).join("; ")));
    }
    this.says = make("span", { class: "unseen", role: "status" });
    const frame = make("div", {
      class: "plot", tabIndex: 0, role: "application", "aria-roledescription": "time line", "aria-keyshortcuts": "t",
      "aria-label": [`${series.map((it) => NAMES[it.metric] ?? it.title).join(", ")} over ${duration(recorded_ns)}`, ...pauseWords(pauses),
        "Arrow keys with Shift choose a window for all views, Enter shows it, Escape shows all of the time"].filter(Boolean).join(". "),
    }, this.plot.root);
    frame.addEventListener("keydown", (event) => this.press(event));
    this.host.replaceChildren(labels, frame, this.says);
    this.mark();
  }

  labelWidth() {
    return this.host.clientWidth < 640 ? 84 : 180;
  }

  resize() {
    const width = Math.max(120, this.host.clientWidth - this.labelWidth());
    if (!this.plot || this.plot.width === width) return;
    this.plot.setSize({ width, height: this.plot.height });
    this.mark();
  }

  /** The window of the address, in seconds. */
  window() {
    return windowOf(this.answer);
  }

  /** Shows the part that is chosen, or else the window. */
  mark() {
    if (this.plot) mark(this.plot, this.chosen ?? this.window());
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const begin = beginOf(this.answer);
    const all = this.answer.recorded_ns / 1e9;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const by = (step * all) / STEPS;
      const [from, to] = this.chosen ?? this.window() ?? [begin, begin];
      const fits = (time) => Math.max(begin, Math.min(begin + all, time));
      this.chosen = event.shiftKey ? [from, Math.max(from, fits(to + by))] : [fits(from + by), fits(from + by + all / STEPS)];
      this.says.textContent = `${this.chosen.map(timeText).join(" to ")}: Enter shows it`;
      this.mark();
    } else if (event.key === "Enter" && this.chosen) {
      const [from, to] = this.chosen;
      this.chosen = null;
      selectWindow(from, to);
    } else if (event.key === "Escape" && (this.chosen || this.window())) {
      this.chosen = null;
      if (this.window()) selectWindow();
      else this.mark();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

let strip = null;

/** Shows the strip of what the address names. */
export function fillStrip(isProfile = true) {
  strip ??= new Strip(byId("strip"));
  return strip.fill(isProfile);
}

/** Shows what was recorded since, unless the user is there. */
export async function updateStrip() {
  if (!strip?.key) return fillStrip();
  if (strip.host.contains(document.activeElement) || strip.host.matches(":active")) return;
  // A part of an interval shows nothing new.
  const { answer } = strip;
  const newNs = (secondsOf(moment.to) ?? 0) * 1e9 - (answer?.recorded_ns ?? 0);
  if (answer && newNs < answer.interval_ns && newNs < MOST_BEHIND_NS) return strip.mark();
  strip.key = "";
  await strip.fill(true);
}
