// The picture: what is drawn where, in which colour. It knows nothing of keys and pointers.

const NARROWEST = 0.3;
const PADDING = 4;
const TEXT_FROM = 24;
const FONT = `12px ${getComputedStyle(document.documentElement).getPropertyValue("--sans")}`;
// Neighbours in rank are far apart on the wheel.
const HUES = [250, 60, 155, 340, 210, 30, 115, 305, 185, 5, 85, 275];
const SORTS = ["program", "JDK", "lambda or hidden class", "native", "generated", "thread", "no stack", "objects", "left out", "state"];
const SORT_COLOURS = [2, 0, 7, 1, 10, -1, -1, 3, -1, 3];

// A colour is its place in HUES, or one of these.
const OTHER = HUES.length;
const PLAIN = HUES.length + 1;
// Less, the same, more: the middle one of these is what did not change.
const CHANGES = [[250, 3], [250, 2], [250, 1], [260, 0], [45, 1], [45, 2], [45, 3]];
const SAME = PLAIN + 4;
// Changes of less than this share of all are no changes.
const LEAST_POINTS = 0.001;

/** The colour of a change. */
function changeColour({ points, relative }) {
  const size = Math.abs(points) < LEAST_POINTS ? 0 : Math.abs(relative);
  const step = size < 0.05 ? 0 : size < 0.25 ? 1 : size < 0.6 ? 2 : 3;
  return SAME + Math.sign(points) * step;
}

/** Fill and text of each colour, bright and faint (outside the search, or above the zoom). */
function palette(dark) {
  const fills = (lightness, chroma, plain) => [
    ...HUES.map((hue) => `oklch(${lightness} ${chroma} ${hue})`),
    `oklch(${lightness} ${chroma / 6} 260)`,
    `oklch(${plain} 0.012 260)`,
    ...CHANGES.map(([hue, step]) => `oklch(${lightness + (plain - lightness) * (1 - step / 3)} ${0.012 + step * 0.05} ${hue})`),
  ];
  return dark
    ? {
        bright: fills(0.44, 0.085, 0.36), brightText: "#f3f5f8",
        faint: fills(0.31, 0.025, 0.29), faintText: "#c3cad4",
        match: "oklch(0.8 0.15 75)", matchText: "#161a20",
        ring: "#ffffff", hover: "#c9d3e0",
      }
    : {
        bright: fills(0.86, 0.075, 0.91), brightText: "#1a2029",
        faint: fills(0.945, 0.018, 0.95), faintText: "#49525e",
        match: "oklch(0.8 0.16 70)", matchText: "#1a1206",
        ring: "#0b3f8f", hover: "#475467",
      };
}

class Chart {
  constructor(model, element, canvas, spacer) {
    this.model = model;
    this.element = element;
    this.canvas = canvas;
    this.spacer = spacer;
    this.context = canvas.getContext("2d", { alpha: false });
    this.zoom = 0;
    this.focus = 0;
    this.hover = -1;
    this.flame = false;
    /** A byte a frame that is 1 where the search finds it; null without a search. */
    this.matched = null;
    this.drawn = 0;
    this.rows = model.depth;
    this.width = 0;
    this.height = 0;
    this.rowHeight = matchMedia("(pointer: coarse)").matches ? 28 : 20;
    this.widths = model.names.map(() => []);
    this.scheduled = false;
    this.colours = new Uint8Array(model.names.length);
    this.colourBy(model.totalBefore ? "change" : "package");
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => {
      this.palette = palette(scheme.matches);
      this.background = getComputedStyle(document.body).backgroundColor;
      this.schedule();
    };
    scheme.addEventListener("change", recolour);
    recolour();
    new ResizeObserver(() => this.resize()).observe(element);
    element.addEventListener("scroll", () => this.schedule());
  }

  /** Shows another tree of the same frames. */
  use(model) {
    this.model = model;
    this.zoom = 0;
    this.focus = 0;
    this.hover = -1;
    this.matched = null;
    this.rows = model.depth;
  }

  /** Colours the frames by "package", "kind" or "change"; `legend` then lists colours, names, samples. */
  colourBy(mode) {
    const { model } = this;
    this.nodeColours = null;
    if (mode === "change") {
      this.nodeColours = Uint8Array.from(model.self, (_, node) => changeColour(model.change(node)));
      this.legend = [["shrank", SAME - 3], ["shrank less", SAME - 1], ["same share", SAME], ["grew less", SAME + 1], ["grew or new", SAME + 3]]
        .map(([group, colour]) => ({ group, count: null, colour }));
      this.schedule();
      return;
    }
    const samples = model.selfByFrame();
    const sums = new Map();
    const groups = model.names.map((name, frame) => {
      // Frames of other values of the page have no colour.
      if (!model.used[frame]) return null;
      const sort = sortOf(name);
      const inPackage = mode === "package" && !["thread", "no stack", "objects", "left out"].includes(sort);
      const isState = mode === "package" && sort === "state";
      const group = isState ? name.method : inPackage ? name.package || "no package" : sort;
      sums.set(group, (sums.get(group) ?? 0) + samples[frame]);
      return group;
    });
    const ranked = [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    const colours = new Map();
    for (const [group] of ranked) {
      const sort = SORTS.indexOf(group);
      if (sort >= 0) colours.set(group, SORT_COLOURS[sort] < 0 ? PLAIN : SORT_COLOURS[sort]);
      else colours.set(group, Math.min(colours.size, OTHER));
    }
    this.colours = Uint8Array.from(groups, (group) => colours.get(group) ?? OTHER);
    this.legend = ranked
      .map(([group, count]) => ({ group, count, colour: colours.get(group) }))
      .filter(({ count, colour }) => count > 0 && colour !== OTHER);
    const rest = ranked.filter(([group]) => colours.get(group) === OTHER);
    const count = rest.reduce((sum, entry) => sum + entry[1], 0);
    if (count > 0) {
      this.legend.push({ group: `${rest.length} other packages`, count, colour: OTHER });
    }
    this.schedule();
  }

  resize() {
    const { element, canvas } = this;
    // A flame stands on the lower edge, so that is what stays in place.
    const below = this.flame ? element.scrollHeight - this.height - element.scrollTop : 0;
    this.width = element.clientWidth;
    this.height = element.clientHeight;
    const ratio = devicePixelRatio || 1;
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${this.height}px`;
    canvas.width = Math.round(this.width * ratio);
    canvas.height = Math.round(this.height * ratio);
    this.ratio = ratio;
    this.spacer.style.height = `${Math.max(0, this.rows * this.rowHeight - this.height)}px`;
    if (this.flame) element.scrollTop = element.scrollHeight - this.height - below;
    this.draw();
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
    return (this.flame ? all - (level + 1) * rowHeight : level * rowHeight) - this.element.scrollTop;
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

  /** Draws with the browser's next frame. */
  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.scheduled = false;
    if (this.width === 0) return;
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
    const colour = frame < 0 ? PLAIN : this.nodeColours?.[node] ?? this.colours[frame];
    context.fillStyle = found ? palette.match : (faint ? palette.faint : palette.bright)[colour];
    context.fillRect(x, y, width > 3 ? width - 1 : width, this.rowHeight - 1);
    this.drawn++;
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

  /** The longest label of a frame that fits, else the start of the shortest. */
  #label(frame, room) {
    const { context } = this;
    const labels = frame < 0 ? ["all"] : this.model.names[frame].labels;
    const widths = frame < 0 ? [0] : this.widths[frame];
    for (let index = 0; index < labels.length; index++) {
      widths[index] ??= context.measureText(labels[index]).width;
      if (widths[index] <= room) return labels[index];
    }
    const letters = Array.from(labels.at(-1).slice(0, 200));
    let length = Math.min(letters.length - 1, Math.floor((letters.length * room) / widths.at(-1)));
    for (; length > 1; length--) {
      const text = letters.slice(0, length).join("") + "…";
      if (context.measureText(text).width <= room) return text;
    }
    return "";
  }
}
