// The calls from the program's own code on: the frames above it, and the time of threads that do not work, are one bar
// each, which opens.

import { KIND, OWNERS } from "./names.js";
import { Columns, joiner, ranksOf, runs } from "./views.js";
import { names, part, source } from "./data.js";

/** The bars that represent others, by the letter that the address has of each. */
export const FOLDS = {
  a: ["[above your code]", "The frames above your code: click or Enter shows them"],
  i: ["[idle threads]", "Threads that wait for work: click or Enter shows them"],
};
/** The indexes of these bars, after those of the data's frames. */
export const foldFrames = {};
for (const [letter, [text, title]] of Object.entries(FOLDS)) {
  foldFrames[letter] = names.length;
  names.push({
    kind: KIND.fold, className: "", method: text, signature: title, package: "", full: text, labels: [text, text],
    owner: OWNERS.length, letter,
  });
}
/** The letters of the bars that are open. */
export const unfolded = new Set();

/** Whether each node, or one above it, is the program's own code. */
export function areYours(model) {
  const { count, frame, parent } = model;
  const yours = new Uint8Array(count);
  for (let node = 1; node < count; node++) {
    yours[node] = yours[parent[node]] || names[frame[node]].owner === 0 ? 1 : 0;
  }
  return yours;
}

/** The nodes that are kept if those that are marked in `left` are left out: without ends below, a node is left out, too. */
function kept(model, left) {
  const { count, self, selfBefore, next, parent } = model;
  const stays = new Uint8Array(count);
  for (let node = count - 1; node > 0; node--) {
    if (left[node]) continue;
    if (next[node] === node + 1 || self[node] > 0 || selfBefore?.[node] > 0) stays[node] = 1;
    if (stays[node]) stays[parent[node]] = 1;
  }
  stays[0] = 1;
  return stays;
}

/** The tree with the marked ends as one node, below their thread. */
export function withoutIdle(model, isIdle) {
  const { count, self, selfBefore, level, frame, next } = model;
  const stays = kept(model, isIdle);
  const columns = new Columns(-1, selfBefore !== null, count);
  const book = (place, nodes) => {
    for (const node of nodes) {
      columns.self[place] += self[node];
      if (selfBefore) columns.before[place] += selfBefore[node];
    }
  };
  book(0, [0]);
  const idleOfAll = [];
  for (let top = 1; top < count; top = next[top]) {
    const isThread = names[frame[top]].kind === KIND.thread;
    if (isThread && !stays[top]) columns.add(1, frame[top]);
    const idle = [];
    for (let node = top; node < next[top]; node++) {
      if (isIdle[node]) idle.push(node);
      else if (stays[node]) book(columns.add(level[node], frame[node]), [node]);
    }
    if (!isThread) idleOfAll.push(...idle);
    else if (idle.length > 0) book(columns.add(2, foldFrames.i), idle);
  }
  if (idleOfAll.length > 0) book(columns.add(1, foldFrames.i), idleOfAll);
  return columns.model(names, null);
}

/** The tree in which the frames above the program's own code are one node, below their thread. */
export function fromYours(model) {
  const { count, self, selfBefore, frame, parent, next, level } = model;
  const yours = areYours(model);
  const isAbove = (node) => yours[node] && !yours[parent[node]] && level[node] > 1 && names[frame[parent[node]]].kind !== KIND.thread;
  if (!yours.some((_, node) => isAbove(node))) return model;
  const stays = kept(model, yours);
  const columns = new Columns(-1, selfBefore !== null, count);
  const add = (node, at) => {
    const place = node === 0 ? 0 : columns.add(at, frame[node]);
    columns.self[place] += self[node];
    if (selfBefore) columns.before[place] += selfBefore[node];
    return place;
  };
  const join = joiner(model, columns, new Uint8Array(names.length));
  const rest = (node, at) => {
    add(node, at);
    if (yours[node]) return columns.addBelow(model, node, at);
    for (let child = node + 1; child < next[node]; child = next[child]) if (!yours[child] && stays[child]) rest(child, at + 1);
    return undefined;
  };
  const base = (top, at) => {
    add(top, at);
    const begins = [];
    for (let node = top + 1; node < next[top]; ) {
      if (!yours[node]) node++;
      else {
        if (isAbove(node)) begins.push(node);
        node = next[node];
      }
    }
    const isThread = (node) => names[frame[node]].kind === KIND.thread;
    if (begins.length > 0 && !(top === 0 && isThread(1))) {
      columns.add(at + 1, foldFrames.a);
      for (const group of runs(begins, (node) => frame[node], ranksOf(names))) {
        join(group, columns.add(at + 2, frame[group[0]]), at + 2);
      }
    }
    for (let child = top + 1; child < next[top]; child = next[child]) {
      if (isThread(child)) base(child, at + 1);
      else if (yours[child] || stays[child]) rest(child, at + 1);
    }
  };
  base(0, 0);
  return columns.model(names, model.whole === model ? null : model.whole);
}

/** Whether each node of the value's tree is time of a thread that does not work; null where no such time is known. */
export function idleNodes() {
  if (!part.nodes.idle?.length) return null;
  part.isIdle ??= part.nodes.idle.reduce((marks, node) => ((marks[node + 1] = 1), marks), new Uint8Array(source.count));
  return part.isIdle;
}
