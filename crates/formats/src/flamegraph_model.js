// The tree in typed arrays. Node 0 is the root (all samples, or what else is shown); the others follow in preorder, so a
// subtree is the range from a node to its `next`.

const KIND = { java: 0, native: 1, thread: 2, noStack: 3, belowCutoff: 4, objects: 5, leftOut: 6 };

class Model {
  /** Of `nodes` with the frames of `data`, whose names may be known. */
  constructor(data, nodes, names) {
    this.data = data;
    const count = nodes.frame.length + 1;
    this.count = count;
    this.level = new Int32Array(count);
    this.frame = new Int32Array(count).fill(-1);
    this.parent = new Int32Array(count).fill(-1);
    this.next = new Int32Array(count);
    this.self = new Float64Array(count);
    this.total = new Float64Array(count);
    // What ended here, and here or below, in the profile before; null where none is compared.
    this.selfBefore = data.before === undefined ? null : new Float64Array(count);
    this.totalBefore = this.selfBefore && new Float64Array(count);
    // Where a node begins, in samples from the left edge.
    this.start = new Float64Array(count);
    this.#readNodes(nodes);
    this.#placeNodes();
    this.#fillRows();
    this.names = names ?? data.frames.name.map((_, frame) => this.#nameOf(frame));
    // The frames that are in this tree, of all of the page.
    this.used = new Uint8Array(this.names.length);
    for (let node = 1; node < count; node++) this.used[this.frame[node]] = 1;
  }

  #readNodes(nodes) {
    for (let node = 1; node < this.count; node++) {
      this.level[node] = this.level[node - 1] + nodes.level[node - 1];
      this.frame[node] = nodes.frame[node - 1];
      this.self[node] = nodes.self[node - 1];
      if (this.selfBefore) this.selfBefore[node] = nodes.before[node - 1];
      let above = node - 1;
      while (this.level[above] >= this.level[node]) above = this.parent[above];
      this.parent[node] = above;
    }
  }

  #placeNodes() {
    const { count, parent, next, self, total, start } = this;
    for (let node = count - 1; node >= 0; node--) {
      total[node] += self[node];
      next[node] = Math.max(next[node], node + 1);
      if (node > 0) {
        total[parent[node]] += total[node];
        next[parent[node]] = Math.max(next[parent[node]], next[node]);
      }
      if (this.totalBefore) {
        this.totalBefore[node] += this.selfBefore[node];
        if (node > 0) this.totalBefore[parent[node]] += this.totalBefore[node];
      }
    }
    const free = new Float64Array(count);
    for (let node = 1; node < count; node++) {
      start[node] = free[node] = free[parent[node]];
      free[parent[node]] += total[node];
    }
  }

  /** `rowNodes` from `rowBegin[level]` to `rowBegin[level + 1]` are a level, left to right. */
  #fillRows() {
    let depth = 0;
    for (const level of this.level) depth = Math.max(depth, level + 1);
    this.depth = depth;
    this.rowBegin = new Int32Array(depth + 1);
    for (const level of this.level) this.rowBegin[level + 1]++;
    for (let level = 0; level < depth; level++) this.rowBegin[level + 1] += this.rowBegin[level];
    const at = this.rowBegin.slice();
    this.rowNodes = new Int32Array(this.count);
    for (let node = 0; node < this.count; node++) this.rowNodes[at[this.level[node]]++] = node;
  }

  #nameOf(frame) {
    const { frames, strings } = this.data;
    const className = strings[frames.class[frame]];
    const name = strings[frames.name[frame]] || "[unknown]";
    const method = frames.kind[frame] === KIND.thread ? `[${name}]` : name;
    const dot = packageOf(className).length;
    const simple = className.slice(dot === 0 ? 0 : dot + 1);
    return {
      kind: frames.kind[frame],
      className,
      method,
      signature: readableSignature(strings[frames.signature[frame]]),
      package: packageOf(className),
      full: className ? `${className}.${method}` : method,
      // What a bar shows, the first that fits.
      labels: className ? [`${className}.${method}`, `${simple}.${method}`, method] : [method],
    };
  }

  /** The node of a path of frames from the root on, or of the part of it that is there. */
  follow(frames) {
    let at = 0;
    for (const frame of frames) {
      let node = at + 1;
      while (node < this.next[at] && this.frame[node] !== frame) node = this.next[node];
      if (node >= this.next[at]) break;
      at = node;
    }
    return at;
  }

  /** The full name of a node. */
  name(node) {
    return node === 0 ? "all" : this.names[this.frame[node]].full;
  }

  /** The first place from `from` in a level's row whose node ends right of `position`. */
  firstAfter(level, position, from = this.rowBegin[level]) {
    const { rowNodes, start, total } = this;
    let low = from;
    let high = this.rowBegin[level + 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const node = rowNodes[middle];
      if (start[node] + total[node] > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The node of a level that covers `position`, or -1. */
  at(level, position) {
    if (level < 0 || level >= this.depth) return -1;
    const place = this.firstAfter(level, position);
    if (place >= this.rowBegin[level + 1]) return -1;
    const node = this.rowNodes[place];
    return this.start[node] <= position ? node : -1;
  }

  /** How many levels the tree has down to the deepest node of a subtree. */
  depthOf(top) {
    let depth = 0;
    for (let node = top; node < this.next[top]; node++) depth = Math.max(depth, this.level[node]);
    return depth + 1;
  }

  /** The child with most samples, or -1. */
  widestChild(top) {
    let widest = -1;
    for (let node = top + 1; node < this.next[top]; node = this.next[node]) {
      if (widest < 0 || this.total[node] > this.total[widest]) widest = node;
    }
    return widest;
  }

  /** The nodes from the root to `node`, both among them. */
  path(node) {
    const path = [];
    for (let at = node; at >= 0; at = this.parent[at]) path.push(at);
    return path.reverse();
  }

  /** The samples below `top` that have a matched frame on their stack, each counted once. */
  matchedSamples(matched, top) {
    if (this.path(top).some((node) => node > 0 && matched[this.frame[node]])) return this.total[top];
    let samples = 0;
    for (let node = top + 1; node < this.next[top]; ) {
      if (matched[this.frame[node]]) {
        samples += this.total[node];
        node = this.next[node];
      } else {
        node++;
      }
    }
    return samples;
  }

  /** By how much of all a node's share grew, and by how much of itself: -1 is gone, 1 is new. */
  change(node) {
    const after = this.total[node] / (this.total[0] || 1);
    const before = this.totalBefore[node] / (this.totalBefore[0] || 1);
    const most = Math.max(after, before);
    return { points: after - before, relative: most > 0 ? (after - before) / most : 0 };
  }

  /** The samples that end in each frame. */
  selfByFrame() {
    const samples = new Float64Array(this.names.length);
    for (let node = 1; node < this.count; node++) samples[this.frame[node]] += this.self[node];
    return samples;
  }
}

/** The package of a class name; the suffix of a hidden class is no part of it. */
function packageOf(className) {
  const end = className.search(/[$/]/);
  const dot = className.slice(0, end < 0 ? className.length : end).lastIndexOf(".");
  return dot < 0 ? "" : className.slice(0, dot);
}

/** Whether a frame stands for what has no stack. */
function isLost(name) {
  return name.kind === KIND.noStack || name.kind === KIND.belowCutoff;
}

/** What sort of code a frame is, for colours. */
function sortOf(name) {
  if (name.kind === KIND.thread) return "thread";
  if (isLost(name)) return "no stack";
  if (name.kind === KIND.objects) return /^\[.*\]$/.test(name.method) ? "state" : "objects";
  if (name.kind === KIND.leftOut) return "left out";
  if (name.kind === KIND.native) return "native";
  const { className, method } = name;
  if (/\$\$Lambda|[./]0x[0-9a-f]+$|LambdaForm/.test(className) || method.startsWith("lambda$")) {
    return "lambda or hidden class";
  }
  if (/\$Proxy\d|\$\$|Generated\w*Accessor/.test(className) || /^access\$|\$\$/.test(method)) {
    return "generated";
  }
  if (/^(java|javax|jdk|sun|com\.sun)\./.test(className)) return "JDK";
  return "program";
}

const BASE_TYPES = {
  B: "byte", C: "char", D: "double", F: "float", I: "int", J: "long", S: "short", V: "void", Z: "boolean",
};

/** `(I[Ljava/lang/String;)V` as `(int, java.lang.String[]): void`; anything else as it is. */
function readableSignature(signature) {
  const parts = /^\((.*)\)(.+)$/s.exec(signature);
  if (!parts) return signature;
  const types = (text) => {
    const found = text.match(/\[*(?:L[^;]*;|[BCDFIJSVZ])/g) ?? [];
    if (found.join("") !== text) return null;
    return found.map((type) => {
      const element = type.replace(/^\[+/, "");
      const name = BASE_TYPES[element] ?? element.slice(1, -1).replaceAll("/", ".");
      return name + "[]".repeat(type.length - element.length);
    });
  };
  const [parameters, result] = [types(parts[1]), types(parts[2])];
  if (!parameters || result?.length !== 1) return signature;
  return `(${parameters.join(", ")}): ${result[0]}`;
}
