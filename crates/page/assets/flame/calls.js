// The counted calls of methods, beside samples.

import { data } from "./data.js";
import { callWords } from "./units.js";

const pairs = new Map();
data.calls?.callee.forEach((callee, index) => {
  const { caller, pair_count: count, estimated } = data.calls;
  pairs.set(`${caller[index]} ${callee}`, { count: count[index], isEstimate: estimated[index] > 0 });
});

/** The calls of a node's method, and of those the calls by its caller; empty where they are not counted. */
export function callsOf(model, node) {
  const frame = model.frame[node];
  const count = data.calls?.count[frame] ?? 0;
  if (count === 0) return "";
  const pair = model.isUpward ? undefined : pairs.get(`${model.frame[model.parent[node]]} ${frame}`);
  return callWords(count, pair);
}
