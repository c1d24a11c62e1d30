// A tree in typed arrays. Node 0 is the root (all samples, or what else is shown); the others follow in preorder, so a
// subtree is the range from a node to its `next`.

import { KIND } from "./names.js";

export class Model {
  /**
   * Of the frames `names`. `nodes` has the columns `level`, `frame`, `self` and, where two profiles are compared,
   * `before`; node 0 is among them. Shares are of `whole`, a model; without it, of this tree.
   */
  constructor(names, nodes, whole = null) {
    const count = nodes.level.length;
    this.names = names;
    this.count = count;
    this.level = nodes.level;
    this.frame = nodes.frame;
    this.self = nodes.self;
    this.parent = new Int32Array(count).fill(-1);
    this.next = new Int32Array(count);
    this.total = new Float64Array(count);
    // What ended here, and here or below, in the profile before; null where none is compared.
    this.selfBefore = nodes.before;
    this.totalBefore = nodes.before && new Float64Array(count);
    // Where a node begins, in samples from the left edge.
    this.start = new Float64Array(count);
    this.whole = whole ?? this;
    /** Whether what is further from the root are callers. */
    this.isUpward = false;
    this.#findParents();
    this.sum();
    this.#fillRows();
    // The frames that are in this tree, of all of the page; and those that are subjects of numbers.
    this.used = new Uint8Array(names.length);
    for (let node = 0; node < count; node++) if (this.frame[node] >= 0) this.used[this.frame[node]] = 1;
    this.subjects = Uint8Array.from(names, (name) => (name.kind === KIND.objects ? 1 : 0));
  }

  /** The tree of the page's data. */
  static read(data, nodes, names) {
    const count = nodes.frame.length + 1;
    const level = new Int32Array(count);
    const frame = new Int32Array(count).fill(-1);
    const self = new Float64Array(count);
    const before = data.before === undefined ? null : new Float64Array(count);
    for (let node = 1; node < count; node++) {
      level[node] = level[node - 1] + nodes.level[node - 1];
      if (before) before[node] = nodes.before[node - 1];
    }
    frame.set(nodes.frame, 1);
    self.set(nodes.self, 1);
    return new Model(names, { level, frame, self, before });
  }

  #findParents() {
    const { count, level, parent, next } = this;
    for (let node = 1; node < count; node++) {
      let above = node - 1;
      while (level[above] >= level[node]) above = parent[above];
      parent[node] = above;
    }
    for (let node = count - 1; node >= 0; node--) {
      if (next[node] === 0) next[node] = node + 1;
      const above = parent[node];
      if (above >= 0 && next[above] === 0) next[above] = next[node];
    }
  }

  /** Makes the totals and places those of the numbers. */
  sum() {
    const { count, parent, self, total, start } = this;
    this.ends = null;
    total.set(self);
    for (let node = count - 1; node > 0; node--) total[parent[node]] += total[node];
    if (this.totalBefore) {
      this.totalBefore.set(this.selfBefore);
      for (let node = count - 1; node > 0; node--) this.totalBefore[parent[node]] += this.totalBefore[node];
    }
    const free = new Float64Array(count);
    for (let node = 1; node < count; node++) {
      start[node] = free[node] = free[parent[node]];
      free[parent[node]] += total[node];
    }
  }

  /** `rowNodes` from `rowBegin[level]` to `rowBegin[level + 1]` are a level, left to right. */
  #fillRows() {
    const { count, level } = this;
    let depth = 0;
    for (let node = 0; node < count; node++) if (level[node] >= depth) depth = level[node] + 1;
    this.depth = depth;
    const begin = new Int32Array(depth + 1);
    for (let node = 0; node < count; node++) begin[level[node] + 1]++;
    for (let row = 0; row < depth; row++) begin[row + 1] += begin[row];
    const at = begin.slice();
    const nodes = new Int32Array(count);
    for (let node = 0; node < count; node++) nodes[at[level[node]]++] = node;
    this.rowBegin = begin;
    this.rowNodes = nodes;
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
    return this.frame[node] < 0 ? "all" : this.names[this.frame[node]].full;
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
    if (top === 0) return this.depth;
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
    const isMatch = (node) => this.frame[node] >= 0 && matched[this.frame[node]] === 1;
    if (this.path(top).some(isMatch)) return this.total[top];
    let samples = 0;
    for (let node = top + 1; node < this.next[top]; ) {
      if (isMatch(node)) {
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
    return this.changeOf(this.total[node], this.totalBefore[node]);
  }

  /** The change between two numbers, as shares of all. */
  changeOf(now, then) {
    const after = now / (this.whole.total[0] || 1);
    const before = then / (this.whole.totalBefore[0] || 1);
    const most = Math.max(after, before);
    return { points: after - before, relative: most > 0 ? (after - before) / most : 0 };
  }

  /** Whether a node is no frame but what its numbers are of: a class, a state. */
  isSubject(node) {
    return this.frame[node] >= 0 && this.subjects[this.frame[node]] === 1;
  }

  /** What ends in a node, with the subjects of its numbers. */
  own(node) {
    let own = this.self[node];
    if (this.isSubject(node)) return own;
    for (let child = node + 1; child < this.next[node]; child = this.next[child]) {
      if (this.isSubject(child)) own += this.total[child];
    }
    return own;
  }

  /** The samples below `top` that end in each frame; those of a subject end in the frame above, too. */
  selfByFrame(top) {
    if (top === 0 && this.ends) return this.ends;
    const { names, frame, self, parent, next } = this;
    const samples = new Float64Array(names.length);
    for (let node = top; node < next[top]; node++) {
      if (frame[node] < 0 || self[node] === 0) continue;
      samples[frame[node]] += self[node];
      let above = node;
      while (above > 0 && this.isSubject(above)) above = parent[above];
      if (above !== node && frame[above] >= 0) samples[frame[above]] += self[node];
    }
    if (top === 0) this.ends = samples;
    return samples;
  }

  /** The outermost nodes of a frame. */
  occurrences(frame) {
    const found = [];
    for (let node = 0; node < this.count; ) {
      if (this.frame[node] === frame) {
        found.push(node);
        node = this.next[node];
      } else {
        node++;
      }
    }
    return found;
  }
}
