// A flame graph of an answer of the server, with its keys: the view of flame graphs, callers and callees, comparisons.

import { CHANGE_GROUPS, Chart, coloursBy } from "../flame/chart.js";
import { Model } from "../flame/model.js";
import { KIND, OWNERS } from "../flame/names.js";
import { callWords } from "../flame/units.js";
import { counted, make, printable } from "./dom.js";
import { amount, split } from "./numbers.js";

const KINDS = { native: KIND.native, no_stack: KIND.noStack, below_cutoff: KIND.belowCutoff, subject: KIND.objects, group: KIND.thread, above: KIND.fold, idle: KIND.fold };
const OWNER_NAMES = ["yours", "library", "jdk", "jvm"];

/** The texts of a frame, the longest first. */
function labelsOf(full, packageName, short) {
  if (!packageName) return [full];
  const letters = packageName.split(".").filter(Boolean).map((part) => Array.from(part)[0]);
  return [full, [...letters, short].join("."), short, short.replace(/\(.*/, "").split(".").at(-1)];
}

/** The name of a frame, as the picture needs it. */
function frameName(text, kind, owner) {
  const full = printable(text);
  const { packageName, short } = split(full);
  const place = OWNER_NAMES.indexOf(owner);
  let labels = null;
  return {
    kind: KINDS[kind] ?? (owner === null ? KIND.objects : KIND.java),
    className: packageName ? `${packageName}.${short.split(".")[0]}` : "",
    method: short,
    signature: "",
    package: packageName,
    full,
    // Most frames are too narrow for any.
    get labels() { return (labels ??= labelsOf(full, packageName, short)); },
    owner: place < 0 ? OWNERS.length : place,
  };
}

/** The tree of an answer: what is left out of it belongs to the node above. */
function modelOf(answer) {
  const names = answer.names.map((text, index) => frameName(text, answer.kinds[index], answer.owners[index]));
  const count = answer.level.length;
  const rest = (totals) => {
    const left = Float64Array.from(totals);
    const path = [];
    for (let node = 0; node < count; node++) {
      path.length = answer.level[node];
      if (path.length > 0) left[path.at(-1)] -= totals[node];
      path.push(node);
    }
    return left;
  };
  const before = answer.before_total ? rest(answer.before_total) : null;
  const nodes = { level: Int32Array.from(answer.level), frame: Int32Array.from(answer.frame), self: rest(answer.total_of), before };
  return new Model(names, nodes);
}

/** A number of the metric of an answer. */
export const numberOf = ({ unit, title }) => (number) => `${amount(number, unit)}${unit === "count" ? ` ${number === 1 ? title.replace(/s$/, "") : title}` : ""}`;

/** The part of all of a number, in percent. */
export const shareOf = (number, whole) => `${amount((100 * number) / (whole || 1), "percent")} %`;

/** An answer as a graph draws it. */
export function treeOf(answer) {
  const model = modelOf(answer);
  return { answer, model, colours: answer.before_total ? null : coloursBy("owner", model) };
}

export class Graph {
  /**
   * The graph of `answer`. `whole` is the number of which shares are, without it that of all; an upward graph has its root below. `onFocus`,
   * `onSelect` and `onZoom` get the node that the user moved to, chose and opened; `onLeave` is asked to go up.
   */
  constructor(answer, { label, whole, isUpward = false, onFocus, onSelect, onZoom, onLeave = () => false }) {
    Object.assign(this, { isUpward, onFocus, onSelect, onZoom, onLeave });
    this.element = make("div", {
      class: "chart", tabIndex: 0, role: "application", "aria-roledescription": "flame graph",
      "aria-label": `${label}: arrow keys move through the frames, Enter zooms, Escape leaves the zoom`, "aria-describedby": "detail",
    });
    this.canvas = make("canvas", { "aria-hidden": "true" });
    const spacer = make("div");
    this.element.append(this.canvas, spacer);
    this.chart = new Chart(this.element, this.canvas, spacer);
    this.chart.flame = isUpward;
    this.use(treeOf(answer), whole);
    this.#listen();
  }

  /** Shows another answer in the same place: the frame that the user was at stays it, where it is there. */
  update(answer) {
    const ids = this.idsOf(this.chart.focus);
    this.use(treeOf(answer));
    this.chart.focus = this.nodeOf(ids);
    this.start();
  }

  /** Takes another tree, to be shown from its root on. */
  use({ answer, model, colours }, whole = answer.above?.[0] ?? answer.total) {
    Object.assign(this, { answer, whole, model, colours, unit: numberOf(answer) });
    this.chart.use(model, colours);
    this.mark(this.found ?? null);
  }

  /** Draws what it has; the element is in the page now. */
  start() {
    this.chart.measure();
    this.chart.schedule();
  }

  /** What the colours mean, of this graph and others beside it. */
  legend(...others) {
    const all = [this, ...others].flatMap((graph) => graph.colours?.groups ?? CHANGE_GROUPS);
    const groups = all.filter((group, index) => all.findIndex((it) => it.name === group.name) === index);
    return make("ul", { class: "legend", "aria-label": "Colours" }, ...groups.map((group) => {
      const chip = make("i", {});
      chip.style.background = this.chart.palette.bright[group.colour];
      return make("li", {}, chip, group.name);
    }));
  }

  /** The name of a node. */
  nameAt(node) {
    return this.model.frame[node] < 0 ? "all" : this.model.names[this.model.frame[node]].full;
  }

  /** The name of the method of a node; `null` where it is none. */
  methodAt(node) {
    const frame = this.model.frame[node];
    return frame >= 0 && ["method", "native"].includes(this.answer.kinds[frame]) ? this.nameAt(node) : null;
  }

  /** The kind of a node, as the server names it; empty of the root. */
  kindAt(node) {
    return this.answer.kinds[this.model.frame[node]] ?? "";
  }

  /** Whose code a node is, in words. */
  ownerAt(node) {
    return OWNERS[this.model.names[this.model.frame[node]]?.owner] ?? "";
  }

  /** The ids of the labels on the way to a node. */
  idsOf(node) {
    const ids = [];
    for (let at = node; at > 0; at = this.model.parent[at]) ids.unshift(this.answer.ids[this.model.frame[at]]);
    return ids;
  }

  /** The node of a path of ids from the root on, or of the part of it that is there. */
  nodeOf(ids) {
    const places = new Map(this.answer.ids.map((id, index) => [String(id), index]));
    return this.model.follow(ids.map((id) => places.get(String(id)) ?? -1));
  }

  /** By how much the share of a node changed, in percent points, with its sign; of a comparison. */
  changeAt(node) {
    const { answer, whole } = this;
    const points = 100 * (answer.total_of[node] / (whole || 1) - answer.before_total[node] / (answer.before || 1));
    const word = answer.before_total[node] === 0 ? "new" : Math.abs(points) < 0.005 ? "the same share" : points > 0 ? "grew" : "shrank";
    return `${word}, ${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(2)} percentage points`;
  }

  /** A node in a line. */
  describe(node) {
    const { answer } = this;
    const more = answer.more[node] > 0 ? `, ${counted(answer.more[node], "narrow frame")} below: zoom in` : "";
    const then = answer.before_total ? `, before ${this.unit(answer.before_total[node])}: ${this.changeAt(node)}` : "";
    const total = answer.total_of[node];
    const calls = this.callsOf(node);
    return `${this.nameAt(node)} — ${this.unit(total)} (${shareOf(total, this.whole)}), self ${this.unit(answer.self[node])}${then}${calls && `, ${calls}`}${more}`;
  }

  /** The counted calls of the method of a node, and of those the ones by the node above; empty where none were counted. */
  callsOf(node) {
    const { answer } = this;
    const count = answer.calls?.[node] ?? 0;
    if (count === 0) return "";
    return callWords(count, { count: answer.calls_by_caller[node], isEstimate: answer.estimated_calls[node] > 0 });
  }

  /** The numbers of a node, as terms and values. */
  numbers(node) {
    const { answer } = this;
    const both = (number) => `${this.unit(number)} (${shareOf(number, this.whole)})`;
    const entries = [["total", both(answer.total_of[node])], ["self", both(answer.self[node])]];
    if (answer.before_total) {
      const before = answer.before_total[node];
      entries.push(["before", `${this.unit(before)} (${shareOf(before, answer.before)})`], ["change", this.changeAt(node)]);
    }
    const calls = this.callsOf(node);
    if (calls) entries.push(["calls", calls]);
    entries.push(["code", this.ownerAt(node)]);
    return make("dl", {}, ...entries.flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)]));
  }

  /** Moves to a node. */
  focus(node) {
    this.chart.focus = node;
    this.chart.reveal(node);
    this.onFocus(node);
  }

  /** Marks the frames of these ids; without ids, none. */
  mark(ids) {
    this.found = ids;
    this.chart.matched = ids && Uint8Array.from(this.answer.ids, (id) => (ids.has(id) ? 1 : 0));
    this.chart.schedule();
  }

  /** A picture of the graph, all rows of it. */
  picture() {
    return this.chart.picture();
  }

  #listen() {
    const { chart, canvas, element } = this;
    const nodeAt = (event) => {
      const box = canvas.getBoundingClientRect();
      return chart.hit(event.clientX - box.left, event.clientY - box.top);
    };
    canvas.addEventListener("click", (event) => {
      const node = nodeAt(event);
      if (node < 0) return;
      element.focus();
      this.focus(node);
      this.onSelect(node);
    });
    canvas.addEventListener("dblclick", (event) => {
      const node = nodeAt(event);
      if (node >= 0) this.onZoom(node);
    });
    const hover = (node) => {
      if (node === chart.hover) return;
      chart.hover = node;
      chart.schedule();
      this.onFocus(node >= 0 ? node : chart.focus);
    };
    canvas.addEventListener("pointermove", (event) => hover(nodeAt(event)));
    canvas.addEventListener("pointerleave", () => hover(-1));
    element.addEventListener("keydown", (event) => this.#key(event));
    for (const kind of ["focus", "blur"]) element.addEventListener(kind, () => chart.schedule());
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { chart, model } = this;
    const { focus: node } = chart;
    const [toParent, toChild] = this.isUpward ? ["ArrowDown", "ArrowUp"] : ["ArrowUp", "ArrowDown"];
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const level = model.level[node];
      let place = model.firstAfter(level, model.start[node]) + step;
      for (; place >= model.rowBegin[level] && place < model.rowBegin[level + 1]; place += step) {
        if (!chart.shown(model.rowNodes[place])) continue;
        this.focus(model.rowNodes[place]);
        break;
      }
    } else if (event.key === toParent && node > 0) this.focus(model.parent[node]);
    else if (event.key === toChild && model.widestChild(node) >= 0) this.focus(model.widestChild(node));
    else if (event.key === "Home") this.focus(0);
    else if (event.key === " ") this.onSelect(node);
    else if (event.key === "Enter") this.onZoom(node);
    else if (event.key !== "Escape" || !this.onLeave()) return;
    event.preventDefault();
    event.stopPropagation();
  }
}
