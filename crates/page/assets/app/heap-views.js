// The views of a heap dump, in the order of their use.

import { heapRows, object, suspects } from "./heap.js";
import { heapThreads } from "./heap-threads.js";

// The picture of the tree is a module that comes when it is asked for.
const heapTree = async (context) => (await import("./heap-tree.js")).heapTree(context);

/** The views of a heap dump, in the order of their use. */
export const HEAP_VIEWS = [
  { id: "overview", title: "Overview", show: suspects },
  { id: "tree", title: "Tree", show: heapTree, isOrdered: true },
  { id: "classes", title: "Classes", show: heapRows },
  { id: "packages", title: "Packages", show: heapRows },
  { id: "biggest", title: "Biggest objects", show: heapRows },
  { id: "threads", title: "Threads", show: heapThreads },
  { id: "roots", title: "Roots", show: heapRows },
  { id: "loaders", title: "Loaders", show: heapRows },
  { id: "unreachable", title: "Garbage", show: heapRows },
  { id: "instances", title: "Objects", show: heapRows, isHidden: true },
  { id: "paths", title: "Paths", show: heapRows, isHidden: true, isOrdered: true },
  { id: "refs-of", title: "References of", show: heapRows, isHidden: true },
  { id: "refs-to", title: "References to", show: heapRows, isHidden: true },
  { id: "object", title: "Object", show: object, isHidden: true },
];
