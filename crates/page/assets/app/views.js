// The views of a profile, in the order of their use: each is a module with a function that fills it.

import { around } from "./around.js";
import { bytecodes } from "./bytecodes.js";
import { flame } from "./flame.js";
import { lines } from "./lines.js";
import { locks } from "./locks.js";
import { overview } from "./overview.js";
import { rows } from "./rows.js";
import { threads } from "./threads.js";
import { time } from "./time.js";

// Few profiles have accesses to fields, and few are compared or asked for methods over time: the modules for that come
// when they are asked for.
const fields = async (context) => (await import("./fields.js")).fields(context);
const compare = async (context) => (await import("./compare.js")).compare(context);
const history = async (context) => (await import("./history.js")).history(context);

/**
 * `needs` is the name of the part of a profile that the view shows, as the overview lists those that are there. `own` are
 * the parts of a question that the view knows beside the filters; a view `within` another is reached from there.
 */
export const VIEWS = [
  { id: "overview", title: "Overview", show: overview, own: [] },
  { id: "flame", title: "Flame", show: flame, needs: "flame", groups: true },
  { id: "time", title: "Time", show: time, needs: "timeline" },
  { id: "history", title: "History", show: history, needs: "timeline", own: ["method", "top"] },
  { id: "methods", title: "Methods", show: rows, needs: "methods" },
  { id: "tree", title: "Tree", show: rows, needs: "tree", own: ["tree", "min"], defaults: { min: "0.5" }, isOrdered: true },
  { id: "lines", title: "Lines", show: lines, needs: "lines" },
  { id: "threads", title: "Threads", show: threads, needs: "threads" },
  { id: "monitors", title: "Locks", show: locks, needs: "monitors" },
  { id: "sites", title: "Allocations", show: rows, needs: "sites" },
  { id: "classes", title: "Allocations", show: rows, needs: "classes", within: "sites" },
  { id: "field", title: "Fields", show: fields, needs: "field", own: ["field"] },
  { id: "bytecodes", title: "Bytecodes", show: bytecodes, needs: "bytecodes", table: "methods", metric: "bytecodes" },
  { id: "edges", title: "Calls", show: rows, needs: "edges" },
  { id: "method", title: "Callers and callees", show: around, needs: "methods", own: ["method"], isHidden: true },
  { id: "compare", title: "Compare", show: compare },
  { id: "accounting", title: "Accounting", show: overview, own: [], needs: "accounting" },
];

/** The view of an id; the first where there is none. */
export const viewOf = (id, views = VIEWS) => views.find((view) => view.id === id) ?? views[0];
