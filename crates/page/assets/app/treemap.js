// The picture of a dominator tree: each object or class is an area as large as what it keeps, inside of what keeps it.

import { split } from "./numbers.js";

/** The height of the line with the name of an area that has others inside. */
const HEAD = 16;
/** The least width and height of an area that has others inside. */
const LEAST = 28;

/**
 * The places of numbers in a rectangle, as areas that are as square as they can be (Bruls, Huizing and van Wijk). The
 * numbers are in order, largest first.
 */
export function squarify(numbers, { x, y, width, height }) {
  const sum = numbers.reduce((a, b) => a + b, 0);
  const places = [];
  if (sum <= 0 || width <= 0 || height <= 0) return numbers.map(() => ({ x, y, width: 0, height: 0 }));
  const scale = (width * height) / sum;
  let at = 0;
  while (at < numbers.length) {
    const side = Math.min(width, height);
    // The row grows as long as its worst area becomes no longer.
    let [end, area, worst] = [at, 0, Infinity];
    while (end < numbers.length) {
      const more = area + numbers[end] * scale;
      const [most, least] = [numbers[at] * scale, numbers[end] * scale];
      const next = least > 0 ? Math.max((side * side * most) / (more * more), (more * more) / (side * side * least)) : worst;
      if (next > worst) break;
      [area, worst] = [more, next];
      end++;
    }
    const thick = side > 0 ? area / side : 0;
    let along = 0;
    for (let index = at; index < end; index++) {
      const long = area > 0 ? (numbers[index] * scale * side) / area : 0;
      places.push(width >= height ? { x, y: y + along, width: thick, height: long } : { x: x + along, y, width: long, height: thick });
      along += long;
    }
    if (width >= height) [x, width] = [x + thick, width - thick];
    else [y, height] = [y + thick, height - thick];
    at = end;
  }
  return places;
}

/** Whose a class is, for its colour. */
const isOfJdk = (name) => /^(class )?(java|javax|jdk|sun|com\.sun)\./.test(name);
const isPlain = (name) => /^(class )?(boolean|byte|char|double|float|int|long|short)\b/.test(name);
export const OWNERS = [["other classes", "--map-yours"], ["JDK", "--map-jdk"], ["arrays of numbers", "--map-plain"]];
const ownerOf = (name) => (isPlain(name) ? 2 : isOfJdk(name.replace(/\[\]$/, "")) ? 1 : 0);

export class TreeMap {
  /** Draws `nodes`, of which each has a `depth`, a `name` and a number of `bytes`, in the order of their tree; `whole` is the sum. */
  constructor(element, canvas, nodes, whole) {
    Object.assign(this, { element, canvas, nodes, whole });
    this.context = canvas.getContext("2d");
    this.focus = nodes.length > 0 ? 0 : -1;
    this.hover = -1;
    const path = [];
    this.tops = [];
    nodes.forEach((node, index) => {
      Object.assign(node, { index, children: [], parent: -1 });
      path.length = Math.min(path.length, node.depth);
      if (path.length > 0) {
        node.parent = path.at(-1);
        nodes[node.parent].children.push(node);
      } else {
        this.tops.push(node);
      }
      path.push(index);
    });
    const order = (all) => all.sort((a, b) => b.bytes - a.bytes);
    order(this.tops);
    nodes.forEach((node) => order(node.children));
    new ResizeObserver(() => this.resize()).observe(element);
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      matchMedia(query).addEventListener("change", () => this.schedule());
    }
  }

  resize() {
    const { canvas, element } = this;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [element.clientWidth, element.clientHeight];
    if (width === 0 || height === 0) return;
    Object.assign(this, { width, height, ratio });
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    this.rest = this.place(this.tops, { x: 0, y: 0, width, height }, this.whole);
    this.draw();
  }

  /** Places children and, as an area without a name, what their parent keeps beside them. Returns that area. */
  place(children, area, whole) {
    const rest = Math.max(0, whole - children.reduce((sum, it) => sum + it.bytes, 0));
    const numbers = [...children.map((it) => it.bytes), rest].sort((a, b) => b - a);
    const places = squarify(numbers, area);
    const skipped = numbers.indexOf(rest);
    const [left] = places.splice(skipped, 1);
    children.forEach((child, index) => {
      const box = places[index];
      child.box = box;
      if (child.children.length === 0) return;
      const inner = { x: box.x + 2, y: box.y + HEAD, width: box.width - 4, height: box.height - HEAD - 2 };
      const fits = box.width >= LEAST && box.height >= HEAD + LEAST;
      if (fits) this.place(child.children, inner, child.bytes);
      else child.children.forEach((it) => this.hide(it));
    });
    return left;
  }

  hide(node) {
    node.box = null;
    node.children.forEach((it) => this.hide(it));
  }

  schedule() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => this.draw());
  }

  draw(context = this.context) {
    this.isDue = false;
    if (!this.width) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const isForced = matchMedia("(forced-colors: active)").matches;
    const fills = OWNERS.map(([, name]) => (isForced ? "Canvas" : colour(name)));
    const [line, text, page] = isForced ? ["CanvasText", "CanvasText", "Canvas"] : ["--page", "--text", "--raised"].map(colour);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = page;
    context.fillRect(0, 0, this.width, this.height);
    context.font = `11px ${style.getPropertyValue("--sans")}`;
    context.textBaseline = "middle";
    for (const node of this.nodes) {
      const { box } = node;
      if (!box || box.width < 1 || box.height < 1) continue;
      context.fillStyle = fills[ownerOf(node.name)];
      context.fillRect(box.x, box.y, box.width, box.height);
      context.strokeStyle = line;
      context.lineWidth = 1;
      if (box.width > 3 && box.height > 3) context.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
      if (box.width < 30 || box.height < 14) continue;
      const label = this.fit(context, split(node.name, 1).short, box.width - 8);
      context.fillStyle = text;
      if (label) context.fillText(label, box.x + 4, box.y + 8);
    }
    const { rest } = this;
    context.fillStyle = text;
    if (rest?.height > 14) context.fillText(this.fit(context, "all others", rest.width - 8), rest.x + 4, rest.y + 8);
    const outline = (index, width) => {
      // What is too small has the outline of what keeps it.
      let node = this.nodes[index];
      while (node && !node.box) node = this.nodes[node.parent];
      if (!node) return;
      const { box } = node;
      context.strokeStyle = isForced ? "Highlight" : colour("--text");
      context.lineWidth = width;
      context.strokeRect(box.x + width / 2, box.y + width / 2, Math.max(1, box.width - width), Math.max(1, box.height - width));
    };
    if (context !== this.context) return;
    outline(this.hover, 1);
    outline(this.focus, document.activeElement === this.element ? 3 : 2);
  }

  /** A picture of it. */
  picture() {
    const canvas = document.createElement("canvas");
    canvas.width = this.canvas.width;
    canvas.height = this.canvas.height;
    this.draw(canvas.getContext("2d"));
    return canvas;
  }

  fit(context, label, room) {
    if (context.measureText(label).width <= room) return label;
    const letters = Array.from(label);
    for (let length = Math.min(letters.length - 1, Math.floor(room / 4)); length > 2; length--) {
      const text = `${letters.slice(0, length).join("")}…`;
      if (context.measureText(text).width <= room) return text;
    }
    return "";
  }

  /** The innermost area at a point, or -1. */
  hit(x, y) {
    const isIn = (node) => node.box && x >= node.box.x && x < node.box.x + node.box.width && y >= node.box.y && y < node.box.y + node.box.height;
    let [found, among] = [-1, this.tops];
    for (;;) {
      const next = among.find(isIn);
      if (!next) return found;
      [found, among] = [next.index, next.children];
    }
  }

  /** The area that a key leads to from the focus; -1 where it leads nowhere. */
  step(key) {
    const node = this.nodes[this.focus];
    if (!node) return -1;
    const among = (node.parent < 0 ? this.tops : this.nodes[node.parent].children).filter((it) => it.box);
    const at = among.indexOf(node);
    if (key === "ArrowUp") return node.parent;
    if (key === "ArrowDown") return node.children.find((it) => it.box)?.index ?? -1;
    if (key === "Home") return this.tops[0].index;
    return among[at + { ArrowLeft: -1, ArrowRight: 1 }[key]]?.index ?? -1;
  }
}
