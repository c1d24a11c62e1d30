// Methods over time: those that are on top of the stack most, or one, as parts of all in each interval.

import { uPlot } from "../vendor/uplot.js";
import { duration } from "../flame/units.js";
import { patternOf } from "./actions.js";
import { ask } from "./api.js";
import { beginOf, isService, ofAxis, ofPlot } from "./clock.js";
import { make } from "./dom.js";
import { amount, nameOf } from "./numbers.js";
import { addressOf, change, filters, state } from "./state.js";
import { markWindow, selectWindow, timeDrag } from "./strip.js";
import { searchField } from "./table.js";

const LANE = 34;
const AXIS = 24;
const METHODS = 10;
const MORE_METHODS = 40;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const isForced = () => matchMedia("(forced-colors: active)").matches;
const sumOf = (numbers) => numbers.reduce((a, b) => a + b, 0);
const percentText = (part, all) => `${amount((100 * part) / (all || 1), "percent")} %`;

/** The parts of all in each interval. */
const sharesOf = (numbers, all) => numbers.map((number, at) => number / (all[at] || 1));

/** The interval with most, in words. */
function peakOf(shares, all) {
  const most = shares.reduce((best, share, at) => (all[at] > 0 && share > shares[best] ? at : best), 0);
  return `${amount(100 * (shares[most] ?? 0), "percent")} %`;
}

/** The lanes of the methods, one below the other, on one scale. */
function lanesOf({ methods, all }) {
  const total = sumOf(all);
  return methods.map(({ name, self, total: whole }) => {
    const own = sharesOf(self, all);
    const through = sharesOf(whole, all);
    return {
      name, own, through,
      text: `self ${percentText(sumOf(self), total)} · total ${percentText(sumOf(whole), total)}`,
      title: `${name}: self ${percentText(sumOf(self), total)}, at most ${peakOf(own, all)} of an interval; total ${percentText(sumOf(whole), total)}, at most ${peakOf(through, all)}`,
    };
  });
}

function draw(plot, lanes, answer, most) {
  const { ctx: context, bbox } = plot;
  const ratio = devicePixelRatio || 1;
  const [ink, area, line] = isForced() ? ["CanvasText", "GrayText", "GrayText"] : ["--accent", "--bar", "--line"].map(colour);
  const begin = beginOf(answer);
  const x = (at) => plot.valToPos(begin + (at * answer.interval_ns) / 1e9, "x", true);
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  lanes.forEach(({ own, through }, place) => {
    const bottom = bbox.top + (place + 1) * LANE * ratio - 1;
    for (const [shares, fill] of [[through, area], [own, ink]]) {
      context.fillStyle = fill;
      shares.forEach((share, at) => {
        if (share === 0) return;
        const high = Math.max(ratio, (share / most) * (LANE - 6) * ratio);
        context.fillRect(x(at), bottom - high, Math.max(ratio, x(at + 1) - x(at) - ratio), high);
      });
    }
    context.fillStyle = line;
    context.fillRect(bbox.left, bottom, bbox.width, 1);
  });
  context.restore();
}

/** Fills the view of methods over time. */
export async function history({ host, view }) {
  const { question } = state;
  const { from, to, by, ...asked } = filters();
  const { method } = question;
  const top = question.top ?? METHODS;
  const range = isService() ? { from, to } : {};
  const answer = await ask(`${encodeURIComponent(state.source)}/history`, { ...asked, ...(method ? { method } : { top }) });
  const page = make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": view.title });
  host.append(page);
  searchField(method, (text) => change({ method: text || undefined }, { isStep: false }));
  const lanes = lanesOf(answer);
  const most = lanes.reduce((peak, { through }) => through.reduce((a, b) => Math.max(a, b), peak), 0) || 1;
  const end = beginOf(answer) + answer.recorded_ns / 1e9;
  const labels = make("ul", { class: "lanes history-lanes" }, ...lanes.map(({ name, text, title }) => make("li", { title },
    method ? make("span", {}, name) : make("a", { href: addressOf("history", { ...question, method: patternOf(name) }) }, nameOf(name)),
    make("small", {}, text))));
  const widthOf = () => Math.max(120, page.clientWidth - 24 - (page.clientWidth < 640 ? 130 : 280));
  const plot = new uPlot({
    width: widthOf(), height: lanes.length * LANE + AXIS, padding: [0, 12, 0, 10], ...ofPlot(),
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: isService(), range: () => [beginOf(answer), end] }, y: { range: () => [0, 1] } },
    axes: [
      { stroke: () => (isForced() ? "CanvasText" : colour("--muted")), grid: { stroke: () => (isForced() ? "GrayText" : colour("--line")), width: 1 }, ticks: { show: false }, size: AXIS, gap: 2, font: `11px ${getComputedStyle(document.body).fontFamily}`, ...ofAxis() },
      { show: false, scale: "y" },
    ],
    series: [{}, { scale: "y", show: false }],
    hooks: { draw: [(it) => draw(it, lanes, answer, most)], ...timeDrag },
  }, [[beginOf(answer), end], [null, null]]);
  const frame = make("div", { class: "plot", role: "img", "aria-label": `${answer.title} by method over ${duration(answer.recorded_ns)}. ${lanes.map((it) => it.title).join(". ")}` }, plot.root);
  new ResizeObserver(() => {
    plot.setSize({ width: widthOf(), height: plot.height });
    markWindow(plot, answer);
  }).observe(page);
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", () => frame.isConnected && plot.redraw());
  }
  const isMore = Number(top) > METHODS;
  page.append(...[
    make("p", {}, method
      ? make("span", {}, "Stacks with what matches ", make("strong", {}, method), ". ", make("a", { href: addressOf("method", { method }) }, "Callers and callees"), " · ", make("a", { href: addressOf("history", { ...question, method: undefined }) }, "All methods"))
      : `The methods with most ${answer.title} of their own. A name shows one of them; a drag selects a window for all views.`),
    (range.from || range.to) && make("p", {}, make("button", { type: "button", onclick: () => selectWindow() }, "Show all of the time")),
    make("div", { class: "time-plot" }, labels, frame),
    !method && make("p", {}, make("button", { type: "button", onclick: () => change({ top: isMore ? undefined : MORE_METHODS }) }, isMore ? "Show fewer methods" : "Show more methods")),
    make("p", { class: "hint" }, `A bar is a part of all ${answer.title} in an interval of ${duration(answer.interval_ns)}: dark with the method on top of the stack, light with it anywhere. The scale of all lanes ends at ${amount(100 * most, "percent")} %.`),
    ...(answer.notes ?? []).map((note) => make("p", { class: "hint" }, note)),
  ].filter(Boolean));
  markWindow(plot, answer);
}
