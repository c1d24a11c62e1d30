// When the numbers were taken: those of all threads, by second and 20 ms, and of each thread, on one axis. What is dragged
// is the window of all views.

import { uPlot } from "../vendor/uplot.js";
import { duration } from "../flame/units.js";
import { Fault, ask } from "./api.js";
import { counted, make } from "./dom.js";
import { amount } from "./numbers.js";
import { addressOf, change, filters, state } from "./state.js";
import { NAMES, markPauses, pauseSum, pauseWords, selectWindow, timeDrag, windowOf } from "./strip.js";

/** Threads with lanes of their own, at first and after a click. */
const THREADS = 8;
const MORE_THREADS = 60;
const LANE = 16;
const FIRST_LANE = 56;
const GAP = 8;
const AXIS = 24;
/** The height of a cell of the heat map. */
const CELL = 3;
/** Intervals of a lane. */
const INTERVALS = 400;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const isForced = () => matchMedia("(forced-colors: active)").matches;
const nameOf = (metric) => NAMES[metric.metric] ?? metric.title;
const peakOf = (numbers) => numbers.reduce((a, b) => Math.max(a, b), 0);

/** A total of a metric. */
const totalText = (metric, total) => (metric.sample_ns ? duration(total * metric.sample_ns) : amount(total, metric.unit));

/** The rows of the plot from the top, each with its height: headings, lanes, the pauses and the heat map. */
function rowsOf({ metrics, all, threads, others, other_thread_count: count }, map, { pauses }) {
  const lane = (metric, place, of, most, height = LANE) => ({
    height, numbers: of.numbers[place], most: most || 1, label: nameOf(metric), text: totalText(metric, of.totals[place]),
  });
  const rows = [{ height: LANE, heading: "All threads" }];
  metrics.forEach((metric, place) => rows.push(lane(metric, place, all, peakOf(all.numbers[place]), place === 0 ? FIRST_LANE : LANE)));
  if (pauses.length > 0) rows.push({ height: LANE, pauses, label: "Pauses", text: pauseSum(pauses) });
  rows.push({ height: GAP }, { height: LANE, heading: "Heat map" }, { height: map.height * CELL, map, label: nameOf(metrics[0]), text: `${duration(map.column_ns)} × ${duration(map.cell_ns)}` });
  // The lanes of all threads have one scale.
  const most = metrics.map((_, place) => threads.reduce((peak, { numbers }) => Math.max(peak, peakOf(numbers[place])), 0));
  const group = (heading, of, peaks) => {
    rows.push({ height: GAP }, { height: LANE, heading });
    metrics.forEach((metric, place) => of.totals[place] > 0 && rows.push(lane(metric, place, of, peaks[place])));
  };
  threads.forEach((thread) => group(thread.name ?? "thread not known", thread, most));
  if (others.totals.some((total) => total > 0)) {
    group(count > 0 ? counted(count, "other thread") : "threads not known", others, others.numbers.map(peakOf));
  }
  let top = 0;
  for (const row of rows) {
    row.top = top;
    top += row.height;
  }
  return rows;
}

/** Draws the rows. */
function draw(plot, rows, lanes, strip) {
  const { ctx: context, bbox } = plot;
  const ratio = devicePixelRatio || 1;
  const [ink, line, muted] = isForced() ? ["CanvasText", "GrayText", "GrayText"] : ["--accent", "--line", "--muted"].map(colour);
  const x = (ns) => plot.valToPos(ns / 1e9, "x", true);
  context.save();
  // The last column of the heat map may be longer than the recording.
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  for (const { top, height, numbers, most, map, pauses } of rows) {
    const [begin, end] = [bbox.top + top * ratio, bbox.top + (top + height) * ratio];
    context.fillStyle = ink;
    numbers?.forEach((number, at) => {
      if (number === 0) return;
      const left = x(at * lanes.interval_ns);
      const high = Math.max(ratio, (number / most) * (height - 2) * ratio);
      context.fillRect(left, end - high, Math.max(ratio, x((at + 1) * lanes.interval_ns) - left), high);
    });
    const peak = map ? peakOf(map.numbers) || 1 : 0;
    map?.numbers.forEach((number, index) => {
      if (number === 0) return;
      const left = x(Math.floor(index / map.height) * map.column_ns);
      const wide = Math.max(ratio, x((Math.floor(index / map.height) + 1) * map.column_ns) - left - ratio);
      context.globalAlpha = 0.15 + (0.85 * number) / peak;
      context.fillRect(left, begin + (index % map.height) * CELL * ratio, wide, CELL * ratio);
    });
    context.globalAlpha = 1;
    if (pauses) markPauses(plot, strip, end, [ink, muted], height);
    if (!numbers && !map && !pauses) continue;
    context.fillStyle = line;
    context.fillRect(bbox.left, end - 1, bbox.width, 1);
  }
  context.restore();
}

/** The plot with its labels. Columns of the heat map are what keys and a click choose. */
function timePlot(host, lanes, map, strip) {
  const rows = rowsOf(lanes, map, strip);
  const height = rows.at(-1).top + rows.at(-1).height;
  const end = lanes.recorded_ns / 1e9;
  const column = map.column_ns / 1e9;
  const last = Math.max(0, Math.ceil(end / column) - 1);
  const labels = make("ul", { class: "lanes time-lanes" }, ...rows.map((row) => {
    const label = row.heading
      ? make("li", { class: "of-thread", title: row.heading }, make("span", {}, row.heading))
      : make("li", { title: row.label && `${row.label}: ${row.text}` }, row.label && make("span", {}, row.label), row.text && make("small", {}, row.text));
    label.style.height = `${row.height}px`;
    return label;
  }));
  const stroke = (name) => () => (isForced() ? "CanvasText" : colour(name));
  const widthOf = () => Math.max(120, host.clientWidth - 24 - (host.clientWidth < 640 ? 80 : 180));
  const plot = new uPlot({
    width: widthOf(), height: height + AXIS, padding: [0, 12, 0, 10],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: false, range: () => [0, Math.max(end, column / 100)] }, y: { range: () => [0, 1] } },
    axes: [
      { side: 0, stroke: stroke("--muted"), grid: { stroke: stroke("--line"), width: 1 }, ticks: { show: false }, size: AXIS, gap: 2, font: `11px ${getComputedStyle(document.body).fontFamily}`, values: (_, splits) => splits.map((it) => `${it} s`) },
      { show: false, scale: "y" },
    ],
    series: [{}, { scale: "y", show: false }],
    hooks: { draw: [(it) => draw(it, rows, lanes, strip)], ...timeDrag },
  }, [[0, end], [null, null]]);
  let chosen = null;
  const says = make("span", { class: "unseen", role: "status" });
  const frame = make("div", {
    class: "plot", tabIndex: 0, role: "application", "aria-roledescription": "time line",
    "aria-label": [`${lanes.metrics.map(nameOf).join(", ")} over ${duration(lanes.recorded_ns)}, of all threads and of each`,
      ...lanes.threads.map((thread) => `${thread.name}: ${lanes.metrics.map((metric, place) => `${nameOf(metric)} ${totalText(metric, thread.totals[place])}`).join(", ")}`),
      `Arrow keys choose a column of ${duration(map.column_ns)} for all views, with Shift several, Enter shows it, Escape shows all of the time`].join(". "),
  }, plot.root);
  const take = () => selectWindow(chosen[0] * column, Math.min(end, (chosen[1] + 1) * column));
  /** Shows the columns that are chosen, or else the window. */
  const mark = () => {
    const shown = chosen ? [chosen[0] * column, Math.min(end, (chosen[1] + 1) * column)] : windowOf(lanes);
    const [left, right] = shown ? shown.map((it) => plot.valToPos(it, "x")) : [0, 0];
    plot.setSelect({ left, width: Math.max(right - left, shown ? 1 : 0), top: 0, height: plot.over.clientHeight }, false);
  };
  let down = null;
  plot.over.addEventListener("pointerdown", (event) => { down = event.clientX; });
  plot.over.addEventListener("pointerup", (event) => {
    if (down === null || Math.abs(event.clientX - down) > 3) return;
    const at = Math.floor(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x") / column);
    chosen = [at, at].map((it) => Math.max(0, Math.min(last, it)));
    take();
  });
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const [from, to] = chosen ?? [-1, -1];
      const next = Math.max(0, Math.min(last, to + step));
      chosen = event.shiftKey && chosen ? [Math.min(from, next), next] : [next, next];
      says.textContent = `${(chosen[0] * column).toFixed(2)} s to ${Math.min(end, (chosen[1] + 1) * column).toFixed(2)} s: Enter shows it`;
      mark();
    } else if (event.key === "Enter" && chosen) take();
    else if (event.key === "Escape" && chosen) {
      chosen = null;
      mark();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  new ResizeObserver(() => {
    plot.setSize({ width: widthOf(), height: height + AXIS });
    mark();
  }).observe(host);
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", () => frame.isConnected && plot.redraw());
  }
  return { element: make("div", { class: "time-plot" }, labels, frame, says), mark, picture: () => picture(plot, labels, rows) };
}

/** The plot with its labels as a picture, on the page's background. */
function picture(plot, labels, rows) {
  const { canvas } = plot.ctx;
  const ratio = devicePixelRatio || 1;
  const side = 180 * ratio;
  const made = make("canvas", { width: canvas.width + side, height: canvas.height });
  const context = made.getContext("2d");
  context.fillStyle = colour("--page");
  context.fillRect(0, 0, made.width, made.height);
  context.drawImage(canvas, side, 0);
  context.textBaseline = "middle";
  const { fontFamily } = getComputedStyle(labels);
  for (const { top, height, heading, label, text } of rows) {
    const middle = (AXIS + top + (heading ? height / 2 : Math.min(height, LANE) / 2)) * ratio;
    context.font = `${heading ? "600 " : ""}${11 * ratio}px ${fontFamily}`;
    context.fillStyle = colour(heading ? "--text" : "--muted");
    context.fillText(heading ?? label ?? "", 8 * ratio, middle, heading ? side - 16 * ratio : side / 2);
    const wide = context.measureText(text ?? "").width;
    context.fillText(text ?? "", side - 8 * ratio - wide, middle);
  }
  return made;
}

/** Fills the view of times. */
export async function time({ host, view, summary }) {
  const path = encodeURIComponent(state.source);
  const { from, to, ...asked } = filters();
  const threads = state.question.threads ?? THREADS;
  const page = make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": view.title });
  const strip = await ask(`${path}/strip`);
  let lanes;
  let map;
  try {
    [lanes, map] = await Promise.all([
      ask(`${path}/lanes`, { ...asked, threads, "bucket-ms": Math.max(1, Math.ceil(summary.recorded_ns / 1e6 / INTERVALS)) }),
      ask(`${path}/heatmap`, asked),
    ]);
  } catch (error) {
    const [known] = strip.series;
    if (!(error instanceof Fault) || error.status !== 404 || !known || known.metric === asked.metric) throw error;
    page.append(make("p", {}, `${error.message}. It does for its `, make("a", { href: addressOf("time", { metric: known.metric }) }, known.title), "."));
    host.append(page);
    return {};
  }
  host.append(page);
  const plot = timePlot(page, lanes, map, strip);
  const window = from || to ? `Window: ${from ?? "0s"} to ${to ?? "the end"}. ` : "";
  const all = make("button", { type: "button", onclick: () => selectWindow() }, "Show all of the time");
  const isShared = lanes.metrics.filter((_, place) => place > 0 && lanes.all.totals[place] > 0 && lanes.threads.every(({ totals }) => totals[place] === 0) && lanes.other_thread_count === 0);
  const isMore = Number(threads) > THREADS;
  const more = make("button", { type: "button", onclick: () => change({ threads: isMore ? undefined : MORE_THREADS }) },
    isMore ? "Show fewer threads" : `Show ${counted(Math.min(lanes.other_thread_count, MORE_THREADS - THREADS), "more thread")}`);
  page.append(...[
    make("p", {}, `${window}A click or a drag selects a window for all views. `, window && all),
    strip.pauses.length > 0 && make("ul", { class: "legend pauses", "aria-label": "Pauses" }, ...pauseWords(strip.pauses).map((text, place) =>
      make("li", {}, make("i", { class: strip.pauses[place].kind }), text))),
    plot.element,
    (isMore || lanes.other_thread_count > 0) && make("p", {}, more),
    make("p", { class: "hint" }, `The busiest threads come first. An interval is ${duration(lanes.interval_ns)}; lanes of threads have one scale.`),
    make("p", { class: "hint" }, `A column of the heat map is ${duration(map.column_ns)} from top to bottom, a cell ${duration(map.cell_ns)} of it; the darker a cell, the more was measured in it.`),
    isShared.length > 0 && make("p", { class: "hint" }, `Of all threads together alone: ${isShared.map(nameOf).join(", ")}.`),
    ...(lanes.notes ?? []).map((note) => make("p", { class: "hint" }, note)),
  ].filter(Boolean));
  plot.mark();
  return { picture: plot.picture };
}
