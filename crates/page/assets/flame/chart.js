// The picture: what is drawn where, in which colour. It knows nothing of keys and pointers.

import { KIND, OWNERS, sortOf } from "./names.js";

const NARROWEST = 0.3;
const PADDING = 4;
// Browsers have no higher canvas.
const MOST_PIXELS = 16384;
const TEXT_FROM = 24;
const MOST_WIDTHS = 20000;
export const FONT = `12px ${getComputedStyle(document.documentElement).getPropertyValue("--sans")}`;
// Neighbours in rank are far apart on the wheel.
const HUES = [250, 60, 155, 340, 210, 30, 115, 305, 185, 5, 85, 275];
// A colour is its place in HUES, or one of these.
const OTHER = HUES.length;
const PLAIN = HUES.length + 1;
// Less, the same, more: the middle one of these is what did not change.
const CHANGES = [[250, 3], [250, 2], [250, 1], [260, 0], [45, 1], [45, 2], [45, 3]];
const SAME = PLAIN + 4;
// What grew differs in lightness, too: darker on a light page, lighter on a dark one.
const GREW = 45;
// Changes of less than this share of all are no changes.
const LEAST_POINTS = 0.001;
// The hues of OWNERS; the first, the program's own code, is strong. Each has shades, which distinguish classes.
const OWNER_HUES = [58, 150, 250, 310, 15];
const SHADES = [-7, 0, 7];
const OWNED = PLAIN + 1 + CHANGES.length;
// The places in HUES of other groups beside those of OWNERS: none looks like one of theirs.
const BESIDE_OWNERS = [3, 8, 6, 11, 10, 4];
// The colours of what is no code.
const SORT_COLOURS = { thread: PLAIN, folded: PLAIN, "no stack": PLAIN, classes: 3, "left out": PLAIN };

/** The colour of a change. */
export function changeColour({ points, relative }) {
  const size = Math.abs(points) < LEAST_POINTS ? 0 : Math.abs(relative);
  const step = size < 0.05 ? 0 : size < 0.25 ? 1 : size < 0.6 ? 2 : 3;
  return SAME + Math.sign(points) * step;
}

/** Fill and text of each colour, bright and faint (outside the search, or above the zoom). */
function palette(dark) {
  const grown = dark ? 0.035 : -0.045;
  const fills = (lightness, chroma, plain, own, change) => [
    ...HUES.map((hue) => `oklch(${lightness} ${chroma} ${hue})`),
    `oklch(${lightness} ${chroma / 6} 260)`,
    `oklch(${plain} 0.012 260)`,
    ...CHANGES.map(([hue, step]) => `oklch(${lightness + (plain - lightness) * (1 - step / 3) + (hue === GREW ? change * step : 0)} ${0.012 + step * 0.05} ${hue})`),
    ...OWNER_HUES.flatMap((hue, owner) =>
      SHADES.map((shade) => {
        const [light, strength] = owner === 0 ? own : [lightness + 0.01, chroma * 0.62];
        return `oklch(${light + shade * 0.002} ${strength} ${hue + shade})`;
      }),
    ),
  ];
  return dark
    ? {
        bright: fills(0.41, 0.085, 0.36, [0.52, 0.115], grown), brightText: "#f6f8fa",
        faint: fills(0.31, 0.025, 0.29, [0.33, 0.045], grown / 3), faintText: "#c3cad4",
        match: "oklch(0.8 0.16 325)", matchText: "#161a20",
        ring: "#ffffff", hover: "#c9d3e0",
      }
    : {
        bright: fills(0.88, 0.075, 0.91, [0.8, 0.135], grown), brightText: "#1a2029",
        faint: fills(0.945, 0.018, 0.95, [0.93, 0.03], grown / 3), faintText: "#49525e",
        match: "oklch(0.52 0.24 325)", matchText: "#ffffff",
        ring: "#0b3f8f", hover: "#475467",
      };
}

/** The groups of frames by "owner" or "package", each with its name and colour, and the group and colour of each frame. */
export function coloursBy(mode, model) {
  const samples = model.selfByFrame(0);
  const sums = new Map();
  const names = model.names.map((name, frame) => {
    const sort = sortOf(name);
    const group = mode === "package" && OWNERS.includes(sort) ? name.package || "no package" : sort;
    if (model.used[frame]) sums.set(group, (sums.get(group) ?? 0) + samples[frame]);
    return group;
  });
  const order = [...OWNERS, ...Object.keys(SORT_COLOURS).filter((sort) => sort !== "classes")];
  const place = (name) => (mode === "owner" ? order.indexOf(name) >>> 0 : 0);
  const ranked = [...sums].sort((a, b) => place(a[0]) - place(b[0]) || b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const groups = [];
  const places = new Map();
  let hues = 0;
  for (const [name] of ranked) {
    const owner = mode === "owner" ? OWNERS.indexOf(name) : -1;
    const hue = () => (mode === "owner" ? BESIDE_OWNERS[hues++ % BESIDE_OWNERS.length] : Math.min(hues++, OTHER));
    const colour = owner >= 0 ? OWNED + owner * SHADES.length + 1 : SORT_COLOURS[name] ?? hue();
    const other = colour === OTHER ? groups.findIndex((it) => it.colour === OTHER) : -1;
    if (other < 0) groups.push({ name, colour, count: 1 });
    else groups[other].count++;
    places.set(name, other < 0 ? groups.length - 1 : other);
  }
  const group = Int32Array.from(names, (name) => places.get(name) ?? -1);
  for (const it of groups) if (it.count > 1) it.name = `${it.count} other packages`;
  const colours = Uint8Array.from(group, (place, frame) => {
    const colour = model.names[frame].kind === KIND.fold ? PLAIN : groups[place]?.colour ?? OTHER;
    return colour < OWNED ? colour : colour - 1 + (hashOf(model.names[frame].className) % SHADES.length);
  });
  return { groups, group, colours };
}

function hashOf(text) {
  let hash = 7;
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) >>> 0;
  return hash;
}

/** The steps of changes, as a legend has them. */
export const CHANGE_GROUPS = [["shrank", SAME - 3], ["shrank less", SAME - 1], ["same share", SAME], ["grew less", SAME + 1], ["grew or new", SAME + 3]]
  .map(([name, colour]) => ({ name, colour }));

export class Chart {
  constructor(element, canvas, spacer) {
    this.element = element;
    this.canvas = canvas;
    this.spacer = spacer;
    this.context = canvas.getContext("2d", { alpha: false });
    this.model = null;
    this.zoom = 0;
    this.focus = 0;
    this.hover = -1;
    this.flame = false;
    /** A byte a frame that is 1 where the search finds it; null without a search. */
    this.matched = null;
    /** The frame whose occurrences are marked, or -1. */
    this.marked = -1;
    this.drawn = 0;
    this.width = 0;
    this.height = 0;
    this.rowHeight = matchMedia("(pointer: coarse)").matches ? 28 : 20;
    /** The widths of labels in pixels, by their text. */
    this.widths = new Map();
    this.scheduled = false;
    /** The rows are drawn as if scrolled by this; null where the element says it. */
    this.scrolled = null;
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => {
      this.palette = palette(scheme.matches);
      this.background = getComputedStyle(document.body).backgroundColor;
      this.schedule();
    };
    scheme.addEventListener("change", recolour);
    recolour();
    new ResizeObserver(() => {
      if (element.clientWidth !== this.width || element.clientHeight !== this.height) this.resize();
    }).observe(element);
    element.addEventListener("scroll", () => this.schedule());
  }

  /** Shows a tree; `colours` are those of its frames, or null to colour by the change. */
  use(model, colours) {
    this.model = model;
    this.zoom = 0;
    this.focus = 0;
    this.hover = -1;
    this.rows = model.depth;
    this.colour(colours);
  }

  colour(colours) {
    const { model } = this;
    this.colours = colours?.colours;
    this.nodeColours = colours ? null : Uint8Array.from(model.self, (_, node) => changeColour(model.change(node)));
    this.schedule();
  }

  resize() {
    if (!this.model) return;
    this.measure();
    this.draw();
  }

  /** Takes the size of the element and of the tree. */
  measure() {
    const { element, canvas } = this;
    // A flame begins at the lower edge, so the lower edge stays in place.
    const height = Math.max(this.height, element.clientHeight);
    const below = this.flame ? Math.max(0, element.scrollHeight - height - element.scrollTop) : 0;
    this.width = element.clientWidth;
    this.height = element.clientHeight;
    const ratio = devicePixelRatio || 1;
    this.ratio = ratio;
    const [wide, high] = [this.width, this.height].map((it) => Math.round(it * ratio));
    // A canvas that gets a size loses its picture, even if it is the same size.
    if (canvas.width !== wide || canvas.height !== high) {
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${this.height}px`;
      [canvas.width, canvas.height] = [wide, high];
    }
    this.spacer.style.height = `${Math.max(0, this.rows * this.rowHeight - this.height)}px`;
    if (this.flame) element.scrollTop = element.scrollHeight - this.height - below;
  }

  /** Zooms to a node and brings it into view, with a few of its callers. */
  zoomTo(node) {
    this.zoom = node;
    this.rows = this.model.depthOf(node);
    this.resize();
    const callers = Math.max(0, this.model.level[node] - 3) * this.rowHeight;
    this.element.scrollTop = this.flame ? this.element.scrollHeight - this.height - callers : callers;
    this.schedule();
  }

  /** Scrolls as little as shows the node's row. */
  reveal(node) {
    const { y } = this.rect(node);
    if (y < 0) this.element.scrollTop += y;
    else if (y + this.rowHeight > this.height) this.element.scrollTop += y + this.rowHeight - this.height;
    this.schedule();
  }

  /** The top of a level's row in the canvas. */
  top(level) {
    const { rowHeight } = this;
    const all = Math.max(this.rows * rowHeight, this.height);
    return (this.flame ? all - (level + 1) * rowHeight : level * rowHeight) - (this.scrolled ?? this.element.scrollTop);
  }

  /** Where a node lies in the canvas, cut at its edges. */
  rect(node) {
    const { model, zoom, width } = this;
    const scale = width / (model.total[zoom] || 1);
    const left = Math.max(0, (model.start[node] - model.start[zoom]) * scale);
    const right = Math.min(width, (model.start[node] + model.total[node] - model.start[zoom]) * scale);
    return { x: left, y: this.top(model.level[node]), width: right - left, height: this.rowHeight };
  }

  /** Whether a node is in view and wide enough to be drawn. */
  shown(node) {
    return this.model.level[node] < this.rows && this.rect(node).width >= NARROWEST;
  }

  /** The drawn node at a point of the canvas, or -1. */
  hit(x, y) {
    const { model, zoom, rowHeight } = this;
    const level = Math.floor(this.flame ? (this.top(0) + rowHeight - y) / rowHeight : (y - this.top(0)) / rowHeight);
    if (x < 0 || x >= this.width || level >= this.rows) return -1;
    const node = model.at(level, model.start[zoom] + (x / this.width) * model.total[zoom]);
    return node >= 0 && this.shown(node) ? node : -1;
  }

  /** A picture of all rows, as wide as they are shown. */
  picture() {
    const canvas = document.createElement("canvas");
    const shown = [this.context, this.height, this.scrolled];
    const height = Math.min(this.rows * this.rowHeight, MOST_PIXELS / this.ratio);
    canvas.width = this.canvas.width;
    canvas.height = Math.round(height * this.ratio);
    [this.context, this.height, this.scrolled] = [canvas.getContext("2d", { alpha: false }), height, 0];
    this.draw();
    [this.context, this.height, this.scrolled] = shown;
    return canvas;
  }

  /** Draws with the browser's next frame. */
  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      // What resized it since has drawn it.
      if (this.scheduled) this.draw();
    });
  }

  draw() {
    this.scheduled = false;
    if (this.width === 0 || !this.model) return;
    const { context, rowHeight } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = this.background;
    context.fillRect(0, 0, this.width, this.height);
    context.font = FONT;
    context.textBaseline = "middle";
    this.drawn = 0;
    for (let level = 0; level < this.rows; level++) {
      const y = this.top(level);
      if (y > -rowHeight && y < this.height) this.#drawRow(level, y);
    }
    if (this.hover >= 0) this.#outline(this.hover, this.palette.hover, 1);
    if (this.shown(this.focus) && document.activeElement === this.element) {
      this.#outline(this.focus, this.palette.ring, 2);
    }
  }

  #drawRow(level, y) {
    const { model, zoom, width } = this;
    const { rowNodes, start, total } = model;
    const left = start[zoom];
    const right = left + total[zoom];
    const scale = width / (total[zoom] || 1);
    const narrowest = NARROWEST / scale;
    const end = model.rowBegin[level + 1];
    let place = model.firstAfter(level, left);
    while (place < end) {
      const node = rowNodes[place];
      if (start[node] >= right) break;
      if (total[node] < narrowest) {
        // All that end within the narrowest width from here are as narrow: jump over them.
        place = model.firstAfter(level, start[node] + narrowest, place + 1);
        continue;
      }
      const x = Math.max(0, (start[node] - left) * scale);
      this.#drawNode(node, x, y, Math.min(width, (start[node] + total[node] - left) * scale) - x);
      place++;
    }
  }

  #drawNode(node, x, y, width) {
    const { context, model, palette, matched } = this;
    const frame = model.frame[node];
    const found = matched !== null && frame >= 0 && matched[frame] === 1;
    const faint = matched !== null ? !found : model.level[node] < model.level[this.zoom];
    const colour = this.nodeColours ? this.nodeColours[node] : frame < 0 ? PLAIN : this.colours[frame];
    context.fillStyle = found ? palette.match : (faint ? palette.faint : palette.bright)[colour];
    context.fillRect(x, y, width > 3 ? width - 1 : width, this.rowHeight - 1);
    this.drawn++;
    if (frame === this.marked && frame >= 0) {
      context.fillStyle = palette.ring;
      context.fillRect(x, y + this.rowHeight - 4, width > 3 ? width - 1 : width, 3);
    }
    if (width < TEXT_FROM) return;
    const text = this.#label(frame, width - 2 * PADDING);
    if (!text) return;
    context.fillStyle = found ? palette.matchText : faint ? palette.faintText : palette.brightText;
    context.fillText(text, x + PADDING, y + this.rowHeight / 2);
  }

  #outline(node, colour, line) {
    const { context } = this;
    const { x, y, width, height } = this.rect(node);
    context.strokeStyle = colour;
    context.lineWidth = line;
    const inset = line / 2;
    context.strokeRect(x + inset, y + inset, Math.max(width - 1 - line, 1), height - 1 - line);
  }

  #widthOf(label) {
    const { context, widths } = this;
    let width = widths.get(label);
    if (width === undefined) {
      if (widths.size >= MOST_WIDTHS) widths.clear();
      width = context.measureText(label).width;
      widths.set(label, width);
    }
    return width;
  }

  /** The longest label of a frame that fits, else the start of the shortest. */
  #label(frame, room) {
    const { context } = this;
    const labels = frame < 0 ? ["all"] : this.model.names[frame].labels;
    let width = 0;
    for (const label of labels) {
      width = this.#widthOf(label);
      if (width <= room) return label;
    }
    const letters = Array.from(labels.at(-1).slice(0, 200));
    let length = Math.min(letters.length - 1, Math.floor((letters.length * room) / width));
    for (; length > 1; length--) {
      const text = letters.slice(0, length).join("") + "…";
      if (context.measureText(text).width <= room) return text;
    }
    return "";
  }
}
