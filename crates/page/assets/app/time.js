// When the numbers were taken: by thread, and by second and 20 ms. What is dragged is the window of all views.

import { uPlot } from "../vendor/uplot.js";
import { duration } from "../flame/units.js";
import { ask } from "./api.js";
import { make } from "./dom.js";
import { amount } from "./numbers.js";
import { filters, state } from "./state.js";
import { markPauses, pauseWords, selectWindow } from "./strip.js";

/** Rows of threads. */
const THREADS = 30;
const ROW = 22;
const CELL = 8;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The numbers of all threads over time, with the pauses of the program at the bottom. */
function curve(host, line, strip) {
  const step = line.interval_ns / 1e9;
  const seconds = line.all.map((_, index) => index * step);
  const style = getComputedStyle(document.body);
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") }, font: `12px ${style.fontFamily}` };
  const value = (number) => (line.sample_ns ? duration(number * line.sample_ns) : amount(number, line.unit));
  const plot = new uPlot({
    width: Math.max(200, host.clientWidth - 24),
    height: 160,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: false } },
    axes: [{ ...axis, values: (_, splits) => splits.map((it) => `${it} s`) }, { ...axis, size: 70, values: (_, splits) => splits.map(value) }],
    series: [{}, { stroke: colour("--accent"), fill: colour("--bar"), width: 1, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) }],
    hooks: {
      draw: [(chart) => markPauses(chart, strip, chart.bbox.top + chart.bbox.height, [colour("--text"), colour("--muted")])],
      setSelect: [(chart) => {
        const { left, width } = chart.select;
        if (width > 3) selectWindow(chart.posToVal(left, "x"), chart.posToVal(left + width, "x"));
      }],
    },
  }, [seconds, line.all]);
  const frame = make("div", { class: "plot", role: "img", "aria-label": `${line.title} over ${duration(line.recorded_ns)}` }, plot.root);
  new ResizeObserver(() => plot.setSize({ width: Math.max(200, host.clientWidth - 24), height: 160 })).observe(host);
  return frame;
}

/** A row of bars for each thread, the busiest first. */
function strips(line) {
  const most = line.threads.reduce((all, thread) => Math.max(all, ...thread.numbers), 1);
  const rows = line.threads.map((thread) => {
    const canvas = make("canvas", { "aria-hidden": "true", width: thread.numbers.length * 2, height: ROW - 4 });
    const context = canvas.getContext("2d");
    context.fillStyle = colour("--accent");
    thread.numbers.forEach((count, at) => {
      const high = count === 0 ? 0 : Math.max(1, (count / most) * canvas.height);
      context.fillRect(at * 2, canvas.height - high, 2, high);
    });
    return make("tr", {},
      make("td", {}, thread.name),
      make("td", { class: "number" }, amount(thread.total, line.unit)),
      make("td", { class: "strip" }, canvas));
  });
  return make("table", { class: "files strips", "aria-label": "By thread" }, make("tbody", {}, ...rows));
}

/** A column for each second, a cell for each part of it. */
function heat(map) {
  const columns = Math.ceil(map.numbers.length / map.height);
  const canvas = make("canvas", { width: columns * CELL, height: map.height * 3, tabIndex: 0, role: "img",
    "aria-label": `Heat map: a column for each ${duration(map.column_ns)}, a cell for each ${duration(map.cell_ns)}; drag or arrow keys select columns` });
  const context = canvas.getContext("2d");
  const most = map.numbers.reduce((a, b) => Math.max(a, b), 1);
  let chosen = null;
  const second = map.column_ns / 1e9;
  const draw = () => {
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = colour("--accent");
    map.numbers.forEach((count, index) => {
      if (count === 0) return;
      context.globalAlpha = 0.15 + (0.85 * count) / most;
      context.fillRect(Math.floor(index / map.height) * CELL, (index % map.height) * 3, CELL - 1, 3);
    });
    context.globalAlpha = 1;
    if (!chosen) return;
    context.strokeStyle = colour("--text");
    context.strokeRect(chosen[0] * CELL + 0.5, 0.5, (chosen[1] - chosen[0] + 1) * CELL - 1, canvas.height - 1);
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return Math.max(0, Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns)));
  };
  const take = () => selectWindow(chosen[0] * second, (chosen[1] + 1) * second);
  let begin = -1;
  canvas.addEventListener("pointerdown", (event) => {
    begin = at(event);
    chosen = [begin, begin];
    draw();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (begin < 0) return;
    chosen = [begin, at(event)].sort((a, b) => a - b);
    draw();
  });
  canvas.addEventListener("pointerup", () => {
    if (begin >= 0) take();
    begin = -1;
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const [from, to] = chosen ?? [-1, -1];
      const last = Math.max(0, Math.min(columns - 1, to + step));
      chosen = event.shiftKey && chosen ? [Math.min(from, last), last] : [last, last];
      draw();
    } else if (event.key === "Enter" && chosen) take();
    else return;
    event.preventDefault();
  });
  draw();
  return canvas;
}

/** Fills the view of times. */
export async function time({ host, view, summary }) {
  const path = encodeURIComponent(state.source);
  const { from, to, ...asked } = filters();
  const width = Math.max(1, Math.ceil(summary.recorded_ns / 1e6 / 300));
  const [line, map, strip] = await Promise.all([
    ask(`${path}/timeline`, { ...asked, threads: THREADS, "bucket-ms": width }),
    ask(`${path}/heatmap`, asked),
    ask(`${path}/strip`),
  ]);
  const page = make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": view.title });
  host.append(page);
  const picture = heat(map);
  const window = from || to ? `Window: ${from ?? "0s"} to ${to ?? "the end"}. ` : "";
  const all = make("button", { type: "button", onclick: () => selectWindow() }, "Show all of the time");
  page.append(...[
    make("p", {}, `${window}Drag over the curve or the heat map to select a window for all views. `, window && all),
    make("h3", {}, `${line.title} by ${duration(line.interval_ns)}`),
    curve(page, line, strip),
    strip.pauses.length > 0 && make("p", { class: "hint" }, `Marks at the bottom, full for collections: ${pauseWords(strip.pauses)}.`),
    make("h3", {}, `Heat map: seconds across, ${duration(map.cell_ns)} down`),
    make("div", { class: "heat" }, picture),
  ].filter(Boolean));
  page.append(make("h3", {}, "By thread"), strips(line));
  if (line.other_thread_count > 0) page.append(make("p", { class: "hint" }, `${line.other_thread_count} other threads are not shown.`));
  for (const note of line.notes ?? []) page.append(make("p", { class: "hint" }, note));
  return { picture: () => onPage(picture) };
}

/** A picture on the page's background. */
function onPage(picture) {
  const canvas = make("canvas", { width: picture.width, height: picture.height });
  const context = canvas.getContext("2d");
  context.fillStyle = colour("--page");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0);
  return canvas;
}
