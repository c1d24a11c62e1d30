// What the user does: keys, pointer, buttons.

import { KIND } from "./names.js";
import { by, names, parts, printable } from "./data.js";
import { element, whatIs } from "./words.js";
import { copyStack, describe, hover, moveTip } from "./frame.js";
import { fillLegend, fillPanel, isPanelOpen, showPanel } from "./panel.js";
import {
  chart, chooseView, hidden, link, loadState, mergeMethod, model, pushState, rebuild, recolour, reset, saveState,
  search, select, selected, setFocus, setSelected, setThreads, show, turnFolds, unfold, upper, view, zoomByUser,
  zoomPath,
} from "./page.js";

/** The graph that was used last: its focus is what is copied and merged. */
export let lastUsed = chart;

function move(at, key) {
  const node = at.focus;
  const { model } = at;
  if (key === "Home") return setFocus(at, at.zoom);
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const step = key === "ArrowLeft" ? -1 : 1;
    const level = model.level[node];
    let place = model.firstAfter(level, model.start[node]) + step;
    for (; place >= model.rowBegin[level] && place < model.rowBegin[level + 1]; place += step) {
      const other = model.rowNodes[place];
      if (at.shown(other)) return setFocus(at, other);
    }
    return undefined;
  }
  const outward = (key === "ArrowUp") !== at.flame;
  const other = outward ? model.parent[node] : model.widestChild(node);
  if (other >= 0 && at.shown(other)) setFocus(at, other);
  return undefined;
}

/** Zooms to a node of a graph and selects its method. */
function choose(at, node) {
  lastUsed = at;
  const frame = at.model.frame[node];
  if (frame >= 0 && names[frame].kind === KIND.fold) {
    unfold(names[frame].letter);
    return;
  }
  if (view !== "merged") setSelected(frame >= 0 && names[frame].kind !== KIND.thread ? frame : -1);
  if (at === chart) {
    zoomByUser(node);
    return;
  }
  at.zoomTo(node);
  at.focus = node;
  describe(at, node);
}

for (const at of [chart, upper]) {
  at.element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    lastUsed = at;
    if (event.key === "Enter" || event.key === " ") choose(at, at.focus);
    else if (event.key.startsWith("Arrow") || event.key === "Home") move(at, event.key);
    else return;
    event.preventDefault();
  });
  for (const kind of ["focus", "blur"]) at.element.addEventListener(kind, () => at.schedule());
  const nodeAt = (event) => {
    const box = at.canvas.getBoundingClientRect();
    return at.hit(event.clientX - box.left, event.clientY - box.top);
  };
  at.canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse") return;
    const node = nodeAt(event);
    hover(at, node);
    if (node >= 0) moveTip(event.clientX, event.clientY);
  });
  at.canvas.addEventListener("pointerleave", () => hover(at, -1));
  at.element.addEventListener("scroll", () => hover(at, -1));
  at.canvas.addEventListener("click", (event) => {
    const node = nodeAt(event);
    if (node >= 0) choose(at, node);
  });
}

/** Keys that work wherever no text is typed. */
const KEYS = {
  "/": () => {
    by("search").focus();
    by("search").select();
  },
  "?": () => by("help").showModal(),
  c: copyStack,
  m: () => mergeMethod(lastUsed.model.frame[lastUsed.focus] >= 0 ? lastUsed.model.frame[lastUsed.focus] : selected),
  r: () => chooseView(view === "reversed" ? "calls" : "reversed"),
  p: () => showPanel(!isPanelOpen()),
  o: turnFolds,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || by("help").open) return;
  const typing = event.target.matches?.("input, select");
  if (event.key === "Escape") {
    if (view === "merged") chooseView("calls");
    reset();
    if (typing) by("chart").focus();
  } else if (!typing && Object.hasOwn(KEYS, event.key)) {
    KEYS[event.key]();
  } else {
    return;
  }
  event.preventDefault();
});

by("search").addEventListener("input", () => {
  search();
  fillPanel();
  saveState();
});
by("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") by("chart").focus();
});
by("regex").addEventListener("click", () => {
  by("regex").ariaPressed = String(by("regex").ariaPressed !== "true");
  search();
  fillPanel();
  saveState();
});
by("colours").addEventListener("change", () => {
  hidden.clear();
  recolour();
  rebuild();
  saveState();
});
for (const button of by("views").children) button.addEventListener("click", () => chooseView(button.value));
by("threads").addEventListener("change", () => {
  const path = zoomPath();
  setThreads(by("threads").value);
  rebuild({ path });
  pushState();
});
if (parts.length > 1) {
  const values = document.createElement("select");
  values.id = "values";
  values.append(...parts.map((it, index) => new Option(`Show: ${whatIs(printable(it.value ?? "samples"))}`, index)));
  const label = element("label", "Value", "unseen");
  label.htmlFor = values.id;
  by("views").after(label, values);
  const keys = element("td", "select what is shown; the zoom stays as far as its path is there");
  by("help").querySelector("table").insertRow().append(element("td", "Show"), keys);
  values.addEventListener("change", () => {
    show(Number(values.value));
    history.pushState(null, "", link());
  });
}
by("flip").addEventListener("click", () => {
  by("flip").ariaPressed = String(by("flip").ariaPressed !== "true");
  chart.flame = by("flip").ariaPressed === "true";
  chart.zoomTo(chart.zoom);
  saveState();
});
by("reset").addEventListener("click", () => {
  if (view === "merged") chooseView("calls");
  reset();
});
by("fold").addEventListener("click", turnFolds);
by("copy").addEventListener("click", copyStack);
by("explain").addEventListener("click", () => by("help").showModal());
by("panel-button").addEventListener("click", () => showPanel(!isPanelOpen()));
by("begin").addEventListener("click", () => {
  select(-1);
  showPanel(true);
  by("limits")?.scrollIntoView();
});
by("panel-close").addEventListener("click", () => showPanel(false));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  fillLegend();
  fillPanel();
});
addEventListener("popstate", loadState);
