// A frame in words: the line below the graph, the tip, the path, the copied stack.

import { callsOf } from "./calls.js";
import { KIND, shortName, sortOf } from "./names.js";
import { by, interval, names } from "./data.js";
import { duration } from "./units.js";
import { amount, amountOf, counted, element, percent, what } from "./words.js";
import { chart, model, samples, upper, zoomByUser } from "./page.js";
import { lastUsed } from "./input.js";

/** What a node was before, where profiles are compared. */
function before({ model }, node) {
  if (!model.totalBefore) return "";
  const share = percent(model.totalBefore[node], model.whole.totalBefore[0]);
  return `; before ${amount(model.totalBefore[node])} (${share}), ${points(model.change(node).points)}`;
}

/** A change of a share, in points. */
export const points = (change) => `${change < 0 ? "−" : "+"}${Math.abs(100 * change).toFixed(2)} points`;

export function describe(at, node) {
  const detail = by("detail");
  const { model } = at;
  const [total, self] = [model.total[node], model.own(node)];
  const time = interval > 0 ? `, ${duration(total * interval)} CPU` : "";
  const calls = callsOf(model, node);
  detail.classList.remove("hint");
  detail.textContent =
    `${model.name(node)} — ${amountOf(total)} (${percent(total, samples)}${time})` +
    `${model.isUpward ? "" : `, self ${amount(self)} (${percent(self, samples)})`}${before(at, node)}${calls && `; ${calls}`}`;
  by("copy").hidden = false;
}

export function hint() {
  by("copy").hidden = true;
  by("detail").classList.add("hint");
  if (samples === 0) by("detail").textContent = `This profile has no ${what}.`;
  else if (matchMedia("(pointer: coarse)").matches) by("detail").textContent = "Tap a frame to zoom, the path above to go back.";
  else by("detail").textContent = "Click or Enter zooms, arrow keys move, / searches, ? explains.";
}

function fillTip(at, node) {
  const tip = by("tip");
  const { model } = at;
  const name = model.frame[node] < 0 ? null : names[model.frame[node]];
  const compared = model.totalBefore !== null;
  const rows = [["total", model.total[node], model.totalBefore?.[node]]];
  if (!model.isUpward) rows.push(["self", model.own(node), model.selfBefore?.[node]]);
  const zoomed = at.zoom !== 0;
  const table = document.createElement("table");
  const head = table.insertRow();
  for (const text of ["", what, "of all", zoomed && "of zoomed", interval > 0 && "CPU time", compared && "before", compared && "of all before"]) {
    if (text !== false) head.append(element("th", text));
  }
  for (const [text, count, old] of rows) {
    const row = table.insertRow();
    const cells = [
      text, amount(count), percent(count, samples),
      zoomed && percent(count, model.total[at.zoom]), interval > 0 && duration(count * interval),
      compared && amount(old), compared && percent(old, model.whole.totalBefore[0]),
    ];
    for (const cell of cells) if (cell !== false) row.insertCell().textContent = cell;
  }
  tip.replaceChildren();
  if (name?.className) tip.append(element("div", name.className, "class"));
  tip.append(element("div", name?.method ?? `all ${what}`, "method"));
  if (name?.signature) tip.append(element("div", name.signature, "signature"));
  if (name && sortOf(name) !== name.method) tip.append(element("div", sortOf(name), "class"));
  tip.append(table);
  const calls = callsOf(model, node);
  if (calls) tip.append(element("div", calls, "calls"));
}

export function moveTip(x, y) {
  const tip = by("tip");
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = x + 14 + width > innerWidth - 8 ? x - 14 - width : x + 14;
  const top = y + 18 + height > innerHeight - 8 ? y - 12 - height : y + 18;
  tip.style.left = `${Math.max(8, Math.min(left, innerWidth - 8 - width))}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

/** Shows the tip of a node of a graph; of none with -1. */
export function hover(at, node) {
  for (const other of [chart, upper]) {
    const its = other === at ? node : -1;
    if (its === other.hover) continue;
    other.hover = its;
    other.canvas.classList.toggle("over", its >= 0);
    other.schedule();
    if (its >= 0) fillTip(other, its);
  }
  by("tip").hidden = node < 0;
}

export function fillCrumbs() {
  const path = model.path(chart.zoom);
  const shown = path.length > 5 ? [0, -1, ...path.slice(-3)] : path;
  const label = (node) => (model.frame[node] < 0 ? "all" : shortName(names[model.frame[node]]));
  by("crumbs").replaceChildren(
    ...shown.flatMap((node, index) => {
      const step = index > 0 ? [element("span", model.isUpward ? "‹" : "›")] : [];
      if (node < 0) return [...step, element("span", "\u00a0…\u00a0")];
      const last = node === chart.zoom;
      const crumb = element(last ? "span" : "button", label(node));
      crumb.title = model.name(node);
      if (last) crumb.ariaCurrent = "true";
      else crumb.addEventListener("click", () => zoomByUser(node));
      return [...step, crumb];
    }),
  );
}

// ---- the stack as text

/** The stack of a node, the innermost frame first, below a line that says its numbers. */
function stackText(at, node) {
  const { model } = at;
  const path = model.path(node).filter((it) => model.frame[it] >= 0);
  if (!model.isUpward) path.reverse();
  const line = (it) => {
    const name = names[model.frame[it]];
    return name.kind === KIND.java || name.kind === KIND.native ? `    at ${name.full}` : `    ${name.full}`;
  };
  const total = model.total[node];
  return [`${amountOf(total)} (${percent(total, samples)})`, ...path.map(line)].join("\n") + "\n";
}

/** Copies text. Pages of files may not have the browser's clipboard. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", "", "unseen");
    area.value = text;
    const focused = document.activeElement;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    focused?.focus();
    return isCopied;
  }
}

export async function copyStack() {
  const at = lastUsed;
  if (at.model.frame[at.focus] < 0) return;
  const text = stackText(at, at.focus);
  const isCopied = await copyText(text);
  by("said").textContent = isCopied ? `Copied the stack: ${counted(text.split("\n").length - 2, "frame")}` : "The browser did not copy the stack";
  by("said").hidden = false;
  clearTimeout(copyStack.timer);
  copyStack.timer = setTimeout(() => (by("said").hidden = true), 2500);
}
