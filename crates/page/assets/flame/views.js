// Other trees of the same numbers: threads merged, frames left out, from the last frame up, all occurrences of a method
// as one; and the numbers of methods.

import { KIND } from "./names.js";
import { Model } from "./model.js";

/** The columns of a tree while it grows in preorder. */
export class Columns {
  constructor(frame, isCompared, capacity = 1024) {
    this.level = new Int32Array(capacity);
    this.frame = new Int32Array(capacity);
    this.self = new Float64Array(capacity);
    this.before = isCompared ? new Float64Array(capacity) : null;
    this.count = 0;
    this.add(0, frame);
  }

  /** Adds a node, and returns its place. */
  add(level, frame) {
    this.#reserve(1);
    this.level[this.count] = level;
    this.frame[this.count] = frame;
    return this.count++;
  }

  /** Adds what is below a node of `model`, as that node's level is here. */
  addBelow(model, node, level) {
    const [from, to] = [node + 1, model.next[node]];
    const at = this.count;
    this.#reserve(to - from);
    this.frame.set(model.frame.subarray(from, to), at);
    this.self.set(model.self.subarray(from, to), at);
    this.before?.set(model.selfBefore.subarray(from, to), at);
    const moved = level - model.level[node];
    for (let index = from; index < to; index++) this.level[at + index - from] = model.level[index] + moved;
    this.count += to - from;
  }

  #reserve(more) {
    if (this.count + more <= this.level.length) return;
    const capacity = Math.max(this.count + more, 2 * this.level.length);
    for (const column of ["level", "frame", "self", "before"]) {
      if (!this[column]) continue;
      const wider = new this[column].constructor(capacity);
      wider.set(this[column]);
      this[column] = wider;
    }
  }

  model(names, whole) {
    const cut = (column) => column && column.slice(0, this.count);
    const nodes = { level: cut(this.level), frame: cut(this.frame), self: cut(this.self), before: cut(this.before) };
    return new Model(names, nodes, whole);
  }
}

/** The place of each frame in the order of siblings; found when it is asked for. */
export function ranksOf(names) {
  if (names.ranks) return names.ranks;
  // What is folded is last.
  const keys = names.map((name) => `${name.kind === KIND.fold ? "\uffff" : ""}${name.className}\0${name.method}\0${name.signature}\0${name.kind}`);
  const order = [...keys.keys()].sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
  names.ranks = new Int32Array(names.length);
  order.forEach((frame, rank) => (names.ranks[frame] = rank));
  return names.ranks;
}

/** The runs of equal frames in `nodes`, which it sorts. */
export function runs(nodes, frameOf, ranks) {
  if (nodes.length > 1) nodes.sort((a, b) => ranks[frameOf(a)] - ranks[frameOf(b)]);
  const found = [];
  for (let from = 0; from < nodes.length; ) {
    let to = from + 1;
    while (to < nodes.length && frameOf(nodes[to]) === frameOf(nodes[from])) to++;
    found.push(nodes.slice(from, to));
    from = to;
  }
  return found;
}

/**
 * A function that adds what is below `nodes` of `model` to `columns`, as below one node there. Frames that are marked in
 * `hidden` are left out: what is below them is below the node above.
 */
export function joiner(model, columns, hidden) {
  const ranks = ranksOf(model.names);
  const { next, self, selfBefore } = model;
  // How many of the nodes before each are left out.
  const out = new Int32Array(model.count + 1);
  for (let node = 0; node < model.count; node++) {
    out[node + 1] = out[node] + (model.frame[node] >= 0 ? hidden[model.frame[node]] : 0);
  }
  const isWhole = (node) => out[next[node]] === out[node + 1];
  const frameOf = (node) => model.frame[node];
  const join = (nodes, at, level) => {
    const children = [];
    const collect = (node) => {
      columns.self[at] += self[node];
      if (selfBefore) columns.before[at] += selfBefore[node];
      for (let child = node + 1; child < next[node]; child = next[child]) {
        if (hidden[model.frame[child]]) collect(child);
        else children.push(child);
      }
    };
    if (nodes.length === 1 && isWhole(nodes[0])) {
      columns.self[at] += self[nodes[0]];
      if (selfBefore) columns.before[at] += selfBefore[nodes[0]];
      columns.addBelow(model, nodes[0], level);
      return;
    }
    nodes.forEach(collect);
    for (const group of runs(children, frameOf, ranks)) join(group, columns.add(level + 1, frameOf(group[0])), level + 1);
  };
  return join;
}

/** What is below `tops`, as below one node with this frame, without the frames that are marked in `hidden`. */
export function merged(model, tops, frame, hidden, whole = null) {
  const columns = new Columns(frame, model.selfBefore !== null, tops.includes(0) ? model.count : 1024);
  joiner(model, columns, hidden)(tops, 0, 0);
  return columns.model(model.names, whole);
}

/**
 * The ways up from `ends`, as below one node with this frame: each end with its callers below it, those with most
 * first. The numbers are `amounts` and `before` of the ends.
 */
function upwards(model, ends, frame, amounts, before) {
  const ranks = ranksOf(model.names);
  const { parent } = model;
  const columns = new Columns(frame, before !== null);
  // An entry is an end; `at` is how far up its way is followed.
  const at = Int32Array.from(ends);
  const frameOf = (entry) => model.frame[at[entry]];
  const add = (node, entry) => {
    columns.self[node] += amounts[entry];
    if (before) columns.before[node] += before[entry];
  };
  const grow = (entries, node, level) => {
    const further = [];
    for (const entry of entries) {
      if (at[entry] > 0) further.push(entry);
      else add(node, entry);
    }
    if (further.length === 1) {
      // A single way needs no order.
      const [entry] = further;
      let last = node;
      for (let below = level + 1; at[entry] > 0; at[entry] = parent[at[entry]]) last = columns.add(below++, frameOf(entry));
      add(last, entry);
      return;
    }
    const groups = runs(further, frameOf, ranks).map((group) => ({ group, sum: group.reduce((sum, it) => sum + amounts[it], 0) }));
    groups.sort((a, b) => b.sum - a.sum);
    for (const { group } of groups) {
      const child = columns.add(level + 1, frameOf(group[0]));
      for (const entry of group) at[entry] = parent[at[entry]];
      grow(group, child, level + 1);
    }
  };
  grow(Array.from(at.keys()), 0, 0);
  const made = columns.model(model.names, model);
  made.isUpward = true;
  return made;
}

/** From the frames in which the numbers end up to their callers. */
export function reversed(model) {
  const { self, selfBefore } = model;
  const ends = [];
  for (let node = 0; node < model.count; node++) if (self[node] > 0 || selfBefore?.[node] > 0) ends.push(node);
  const take = (column) => column && Float64Array.from(ends, (node) => column[node]);
  return upwards(model, ends, -1, take(self), take(selfBefore));
}

/** All that calls a frame, with the time in the frame. */
export function callersOf(model, frame) {
  const nodes = model.occurrences(frame);
  const take = (column) => column && Float64Array.from(nodes, (node) => column[node]);
  const ends = nodes.map((node) => Math.max(0, model.parent[node]));
  return upwards(model, ends, frame, take(model.total), take(model.totalBefore));
}

/** Sums by frame, each node counted in the outermost of its frame alone. The root's frame is -1. */
class Sums {
  constructor(model) {
    this.model = model;
    const count = model.names.length + 1;
    this.total = new Float64Array(count);
    this.before = model.totalBefore && new Float64Array(count);
    // Where the node ends that was added last.
    this.covered = new Int32Array(count);
    this.frames = [];
  }

  /** Adds a node to the sum of `frame`, unless it is below one that was added. */
  add(frame, node) {
    const at = frame + 1;
    if (node < this.covered[at]) return;
    const { model } = this;
    if (this.covered[at] === 0) this.frames.push(frame);
    this.covered[at] = model.next[node];
    this.total[at] += model.total[node];
    if (this.before) this.before[at] += model.totalBefore[node];
  }

  rows() {
    return this.frames.map((frame) => ({ frame, total: this.total[frame + 1], before: this.before?.[frame + 1] ?? 0 }));
  }
}

/** The methods below a node with their own and total numbers, in this tree of calls. */
export function methodsBelow(model, top) {
  const sums = new Sums(model);
  const self = model.selfByFrame(top);
  for (let node = top; node < model.next[top]; node++) if (model.frame[node] >= 0) sums.add(model.frame[node], node);
  return sums.rows().map((row) => ({ ...row, self: self[row.frame] }));
}

/**
 * The direct callers and callees of a frame (-1: none, the stack begins here), and its own numbers: with those of its
 * subjects, and those that are of none.
 */
export function neighbours(model, frame) {
  const [own, callers, callees] = [new Sums(model), new Sums(model), new Sums(model)];
  let self = 0;
  let ended = 0;
  let count = 0;
  for (let node = 1; node < model.count; node++) {
    const above = model.parent[node];
    if (model.frame[node] === frame) {
      own.add(frame, node);
      callers.add(model.frame[above], node);
      self += model.own(node);
      ended += model.self[node];
      count++;
    }
    if (model.frame[above] === frame) callees.add(model.frame[node], node);
  }
  const [{ total, before }] = count > 0 ? own.rows() : [{ total: 0, before: 0 }];
  return { self, ended, count, total, before, callers: callers.rows(), callees: callees.rows() };
}
