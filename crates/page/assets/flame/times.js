// The strip above the graph: when the numbers were taken, by thread. A window that is selected there is what the
// graph and its numbers show.

import { FONT } from "./chart.js";
import { by, interval, part, printable, source } from "./data.js";
import { duration } from "./units.js";
import { amount, amountOf, counted, element, what } from "./words.js";
import { fillAccount } from "./account.js";
import { chart, model, rebuild, saveState, setZoom } from "./page.js";

const STRIP_ROW = 22;
const STRIP_AXIS = 16;
// Bars are at least so wide: of a narrow bin one sample more or less says nothing.
const STRIP_BAR = 4;
// A pointer that moved less selects nothing.
const LEAST_DRAG = 4;

/** A time since the recording's start. */
const moment = (ns) => (ns === 0 ? "0 s" : duration(ns));

export class TimeStrip {
  constructor() {
    this.times = null;
    /** The first bin of the window and the one after its last; null without a window. */
    this.window = null;
    /** The start and the end of a window in time, while the page shows a value without times. */
    this.kept = null;
    this.dragged = null;
    /** The index of the thread whose numbers alone are shown, or -1. */
    this.thread = -1;
    this.#build();
    this.use(part.times, null);
  }

  /** Shows the times of the page's value, which may have none, and a window, if there is one. */
  use(times, window) {
    this.times = times;
    this.window = null;
    this.dragged = null;
    this.thread = -1;
    this.section.hidden = !times;
    // A value without times keeps the window for the next one.
    this.kept = times ? null : window;
    if (!times) return;
    const unit = interval > 0 ? "CPU time" : what;
    this.caption.textContent = `${unit} by thread, times to ${duration(times.bin_ns)} · drag to select a window`;
    this.bins = Number(times.bins);
    this.names = times.threads.map(printable);
    if (times.other_threads > 0) this.names.push(counted(times.other_threads, "other thread"));
    this.bin = new Float64Array(times.bin.length);
    let bin = 0;
    for (let row = 0; row < times.bin.length; row++) this.bin[row] = bin += times.bin[row];
    // What each thread has in each bin.
    this.sums = this.names.map(() => new Float64Array(this.bins));
    times.bin.forEach((_, row) => {
      this.sums[times.thread[row]][this.bin[row]] += times.count[row];
    });
    this.whole = source.self.slice();
    this.say();
    this.draw();
    if (!window) return;
    const [from, to] = window.map((ns) => (ns - times.begin_ns) / times.bin_ns);
    if (from >= this.bins || to <= 0) return;
    this.window = [Math.max(0, Math.floor(from)), Math.min(this.bins, Math.max(Math.ceil(to), Math.floor(from) + 1))];
    this.#apply();
  }

  /** Shows everything, before the page shows another value. Returns the start and the end of the window in time. */
  leave() {
    const window = this.window?.map((bin) => this.time(bin));
    if (window || this.thread >= 0) {
      source.self.set(this.whole);
      source.sum();
    }
    return window ?? this.kept;
  }

  #build() {
    const section = element("details", "");
    this.section = section;
    section.id = "times";
    section.ariaLabel = "Times";
    const caption = element("summary", "");
    caption.id = "times-caption";
    this.caption = element("span", "");
    caption.append(this.caption);
    this.output = element("output", "");
    this.output.id = "times-window";
    caption.append(this.output);
    this.strip = element("div", "");
    this.strip.id = "times-strip";
    this.strip.tabIndex = 0;
    this.strip.setAttribute("role", "application");
    this.strip.ariaRoleDescription = "time strip";
    this.strip.ariaLabel =
      "Time strip: arrow keys move the window, with Shift its end, Home and End go to the start and the end, Escape shows everything";
    this.strip.setAttribute("aria-describedby", "times-window");
    this.canvas = document.createElement("canvas");
    this.canvas.ariaHidden = "true";
    this.strip.append(this.canvas);
    section.append(caption, this.strip);
    by("upper").before(section);
    const keys = element("td", "select a window of time: drag, or the arrow keys in the strip, with Shift its end");
    const row = by("help").querySelector("table").insertRow();
    row.append(element("td", "Strip"), keys);
    this.#listen();
    new ResizeObserver(() => this.draw()).observe(this.strip);
    section.addEventListener("toggle", () => {
      this.draw();
      saveState();
    });
  }

  /** Whether the rows of the threads are shown. */
  get isOpen() {
    return this.section.open;
  }

  open(isOpen) {
    this.section.open = isOpen;
  }

  #listen() {
    const { strip } = this;
    strip.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      strip.setPointerCapture(event.pointerId);
      this.dragged = { from: event.clientX, to: event.clientX };
    });
    strip.addEventListener("pointermove", (event) => {
      if (!this.dragged) return;
      this.dragged.to = event.clientX;
      this.draw();
    });
    strip.addEventListener("pointerup", (event) => {
      const drag = this.dragged;
      this.dragged = null;
      if (!drag) return;
      if (Math.abs(event.clientX - drag.from) >= LEAST_DRAG) {
        const [left, right] = [drag.from, event.clientX].sort((a, b) => a - b).map((x) => this.position(x));
        this.select(Math.floor(left), Math.max(Math.ceil(right), Math.floor(left) + 1));
        return;
      }
      const at = Math.floor(this.position(event.clientX));
      if (!this.window || at < this.window[0] || at >= this.window[1]) this.clear();
      else this.draw();
    });
    strip.addEventListener("pointercancel", () => {
      this.dragged = null;
      this.draw();
    });
    strip.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.#key(event.key, event.shiftKey)) event.preventDefault();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !by("help").open) this.clear();
    });
    by("reset").addEventListener("click", () => this.clear());
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", () => requestAnimationFrame(() => this.draw()));
  }

  /** Moves the window, or its end; without one, a tenth of all is selected first. */
  #key(key, isEnd) {
    const { bins } = this;
    const tenth = Math.max(1, Math.round(bins / 10));
    const [from, to] = this.window ?? [0, 0];
    const width = this.window ? to - from : tenth;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -width, PageDown: width, Home: -bins, End: bins }[key];
    if (step === undefined) return false;
    if (isEnd && this.window) {
      this.select(from, Math.min(bins, Math.max(from + 1, to + step)));
    } else {
      const begin = this.window ? from + step : step > 0 && key === "End" ? bins : 0;
      const kept = Math.max(0, Math.min(begin, bins - width));
      this.select(kept, kept + width);
    }
    return true;
  }

  /** The bin at a place of the screen, with its fraction. */
  position(x) {
    const box = this.canvas.getBoundingClientRect();
    return Math.max(0, Math.min(this.bins, ((x - box.left) / (box.width || 1)) * this.bins));
  }

  /** Shows the bins from `from` on and before `to`. */
  select(from, to) {
    this.window = [Math.max(0, from), Math.min(this.bins, to)];
    this.#apply();
    this.#show();
  }

  /** Shows everything. */
  clear() {
    this.kept = null;
    if (!this.window) {
      this.draw();
      return;
    }
    this.window = null;
    this.#apply();
    this.#show();
  }

  /** The threads that the times distinguish, with the numbers of each. */
  totals() {
    if (!this.times) return [];
    return this.names.map((name, row) => ({ name, total: this.sums[row].reduce((sum, count) => sum + count, 0) }));
  }

  /** Makes the numbers those of a thread alone, or of all with -1. */
  only(thread) {
    if (!this.times || thread === this.thread) return;
    this.thread = thread;
    this.#apply();
  }

  /** Makes the numbers of the tree those of the window and of the thread. */
  #apply() {
    const { times, window, thread } = this;
    if (!window && thread < 0) {
      source.self.set(this.whole);
    } else {
      const [from, to] = window ?? [0, this.bins];
      source.self.fill(0);
      for (let row = 0; row < times.node.length; row++) {
        if (this.bin[row] < from || this.bin[row] >= to || (thread >= 0 && times.thread[row] !== thread)) continue;
        source.self[times.node[row] + 1] += times.count[row];
      }
    }
    source.sum();
    source.reversed = null;
    this.say();
    this.draw();
  }

  #show() {
    fillAccount();
    rebuild();
    if (model.total[chart.zoom] === 0) setZoom(0);
  }

  /** The moment at which a bin begins. */
  time(bin) {
    return this.times.begin_ns + bin * this.times.bin_ns;
  }

  say() {
    const end = this.time(this.bins);
    if (!this.window) {
      this.output.textContent = `all of ${duration(end - this.times.begin_ns)}`;
      return;
    }
    const [from, to] = this.window.map((bin) => moment(this.time(bin)));
    const all = this.whole.reduce((sum, number) => sum + number, 0);
    const selected = source.total[0];
    const time = interval > 0 ? ` · ${duration(selected * interval)} CPU` : "";
    this.output.textContent = `${from} to ${to} · ${amountOf(selected)} of ${amount(all)}${time}`;
  }

  draw() {
    const { canvas, strip, sums, names, bins } = this;
    const width = strip.clientWidth;
    if (!this.times || width === 0) return;
    const height = names.length * STRIP_ROW + STRIP_AXIS;
    const ratio = devicePixelRatio || 1;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    context.textBaseline = "middle";
    const bin = width / bins;
    const group = Math.ceil(STRIP_BAR / bin);
    // A whole CPU is a full row, unless a row has more.
    const full = interval > 0 ? (group * this.times.bin_ns) / interval : 0;
    names.forEach((name, row) => {
      const bars = new Float64Array(Math.ceil(bins / group));
      sums[row].forEach((count, at) => (bars[Math.floor(at / group)] += count));
      const most = bars.reduce((a, b) => Math.max(a, b), full);
      const bottom = (row + 1) * STRIP_ROW;
      context.fillStyle = colour("--strip");
      bars.forEach((count, at) => {
        if (count === 0) return;
        const high = Math.max(1, (count / most) * (STRIP_ROW - 2));
        context.fillRect(at * group * bin, bottom - high, group * bin, high);
      });
      context.fillStyle = colour("--line");
      context.fillRect(0, bottom - 0.5, width, 0.5);
      context.fillStyle = colour("--text");
      context.fillText(name, 4, bottom - STRIP_ROW / 2, width / 3);
    });
    context.fillStyle = colour("--muted");
    const marks = Math.max(1, Math.floor(width / 160));
    for (let mark = 0; mark < marks; mark++) {
      const x = (mark * width) / marks;
      context.fillText(moment(this.time((mark * bins) / marks)), x + 4, height - STRIP_AXIS / 2);
    }
    const box = canvas.getBoundingClientRect();
    const drag = this.dragged && [this.dragged.from, this.dragged.to].map((x) => x - box.left).sort((a, b) => a - b);
    const shown = drag ?? this.window?.map((at) => at * bin);
    if (!shown) return;
    context.globalAlpha = 0.18;
    context.fillStyle = colour("--accent");
    context.fillRect(shown[0], 0, shown[1] - shown[0], height);
    context.globalAlpha = 1;
    context.fillRect(shown[0], 0, 1, height);
    context.fillRect(shown[1] - 1, 0, 1, height);
  }
}
