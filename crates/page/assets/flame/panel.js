// The panel beside the graph: the methods of what is zoomed, or the callers and callees of the selected one; and the
// legend, which leaves groups of frames out.

import { KIND, OWNERS, shortName, sortOf } from "./names.js";
import { methodsBelow, neighbours } from "./views.js";
import { CHANGE_GROUPS, changeColour } from "./chart.js";
import { by, data, names, source } from "./data.js";
import { amount, amountOf, counted, element, number, percent, what } from "./words.js";
import { points } from "./frame.js";
import { limitsList } from "./limits.js";
import {
  calls, chart, chooseView, colours, hidden, isCompared, mergeMethod, model, pushState, rebuild, samples, select,
  selected, started, view, zoomPath,
} from "./page.js";

/** Rows of a table until more are asked for. */
const FIRST_ROWS = 100;
/** Whether the table has the subjects of the numbers (classes, states) in place of the methods. */
let isOfSubjects = false;
/** The columns by which each table is ordered. */
const order = { methods: data.before === undefined ? "self" : "change", neighbours: "total" };

/** The methods below a node of the calls. They are found when they are asked for. */
export const methods = {
  rows: null,
  top: -1,
  forget() {
    this.rows = null;
  },
  below(top) {
    if (!this.rows || this.top !== top) [this.rows, this.top] = [methodsBelow(calls, top), top];
    return this.rows;
  },
  /** The method that has most itself. */
  busiest() {
    return this.below(0).reduce((best, row) => (row.self > best.self ? row : best), { frame: -1, self: -1 }).frame;
  },
};

export const isPanelOpen = () => !by("panel").hidden;

export function showPanel(isOpen) {
  by("panel").hidden = !isOpen;
  by("begin").hidden = isOpen || !data.limits?.rows.length;
  by("panel-button").ariaPressed = String(isOpen);
  fillPanel();
}

/** Fills the panel, if it is open, after the picture. */
export function fillPanel() {
  if (!isPanelOpen() || fillPanel.isDue) return;
  fillPanel.isDue = true;
  requestAnimationFrame(() => setTimeout(() => {
    fillPanel.isDue = false;
    if (selected >= 0 && calls.used[selected]) fillMethod();
    else fillMethods();
  }));
}

/** What the subjects of the value's numbers are; null if it has none. */
function subjects() {
  const subject = names.find((name, frame) => source.used[frame] && name.kind === KIND.objects);
  return subject && (sortOf(subject) === "classes" ? "Classes" : "States");
}

function fillMethods() {
  // The zoomed frame is one of the calls; another view's tree has other nodes.
  const top = view === "calls" ? chart.zoom : 0;
  const other = subjects();
  const isSubject = (row) => names[row.frame].kind === KIND.objects;
  const ofSubjects = isOfSubjects && other !== undefined;
  let rows = (top === 0 || model === calls ? methods.below(top) : methodsBelow(model, top)).filter((row) => ![KIND.thread, KIND.fold].includes(names[row.frame].kind) && isSubject(row) === ofSubjects);
  const count = rows.length;
  if (chart.matched) rows = rows.filter((row) => chart.matched[row.frame] === 1);
  const what = ofSubjects ? other : "Methods";
  const title = element("h2", top ? `${what} in ${shortName(names[model.frame[top]])}` : what);
  title.append(" ", element("small", chart.matched ? `${number(rows.length)} of ${number(count)}` : number(count)));
  if (other) {
    const button = element("button", ofSubjects ? "Methods" : other);
    button.id = "subjects";
    button.addEventListener("click", () => {
      isOfSubjects = !isOfSubjects;
      fillPanel();
    });
    title.append(" ", button);
  }
  const columns = [
    { key: "self", text: "Self", title: "What ends in the method itself", share: (row) => row.self },
    { key: "total", text: "Total", title: "The method with all that it calls", share: (row) => row.total },
  ];
  by("panel-body").replaceChildren(...limitsList(), title, table("methods", rows, ofSubjects ? columns.slice(1) : columns, model.total[top]));
}

function fillMethod() {
  const name = names[selected];
  const { self, ended, count, total, before, callers, callees } = neighbours(calls, selected);
  const head = element("div", "", "method-head");
  const back = element("button", "‹ Methods");
  back.id = "back";
  back.addEventListener("click", () => {
    if (view === "merged") chooseView("calls");
    select(-1);
  });
  const merge = element("button", "Merge");
  merge.id = "merge";
  merge.title = "All places of this method as one: callers above, callees below (m)";
  merge.disabled = view === "merged" && model.frame[0] === selected;
  merge.addEventListener("click", () => mergeMethod(selected));
  const tools = element("div", "", "method-tools");
  tools.append(back, merge);
  head.append(tools);
  if (name.className) head.append(element("div", name.className, "class"));
  head.append(element("div", name.method + name.signature, "method"));
  const facts = [
    `total ${amount(total)} (${percent(total, samples)})`,
    `self ${amount(self)} (${percent(self, samples)})`,
    `${counted(count, "place")}`,
  ];
  if (isCompared) facts.push(points(calls.changeOf(total, before).points));
  head.append(element("div", facts.join(" · "), "facts"));
  head.append(element("div", sortOf(name), "class"));
  const column = [{ key: "total", text: "Total", title: "Of the method's total", share: (row) => row.total }];
  const heading = (text, rows) => {
    const made = element("h3", text);
    made.append(" ", element("small", number(rows.length)));
    return made;
  };
  if (ended > 0) callees.push({ frame: selected, total: ended, before: 0, isSelf: true });
  by("panel-body").replaceChildren(
    head,
    heading("Callers", callers), table("callers", callers, column, total),
    heading("Callees", callees), table("callees", callees, column, total),
  );
}

/** A table of methods with columns of shares of `whole`, ordered by the column that was clicked last. */
function table(id, rows, columns, whole) {
  const kind = id === "methods" ? "methods" : "neighbours";
  const made = element("table", "", "rows");
  made.id = id;
  const all = [...columns];
  if (isCompared) {
    const change = (row) => calls.changeOf(row.total, row.before).points;
    all.push({ key: "change", text: "Change", title: "Of the total's share of all, in points", share: change });
  }
  const label = (row) => (row.isSelf ? "[self]" : row.frame < 0 ? "[the stack begins here]" : names[row.frame].full);
  const ordered = order[kind] === "name" ? null : all.find((column) => column.key === order[kind]) ?? all[0];
  if (ordered) {
    const amountBy = (row) => (ordered.key === "change" ? Math.abs(ordered.share(row)) : ordered.share(row));
    rows.sort((a, b) => amountBy(b) - amountBy(a) || b.total - a.total || a.frame - b.frame);
  } else {
    rows.sort((a, b) => (label(a) < label(b) ? -1 : 1));
  }
  const head = made.createTHead().insertRow();
  for (const column of [...all, { key: "name", text: "Method", title: "By name" }]) {
    const cell = element("th", "");
    cell.scope = "col";
    const button = element("button", column.text);
    button.title = column.title;
    if (column === ordered) cell.ariaSort = "descending";
    else if (!ordered && column.key === "name") cell.ariaSort = "ascending";
    button.addEventListener("click", () => {
      order[kind] = column.key;
      fillPanel();
    });
    cell.append(button);
    head.append(cell);
  }
  const body = made.createTBody();
  const fill = (from, to) => {
    for (const row of rows.slice(from, to)) body.append(tableRow(row, all, whole, label(row)));
    if (to >= rows.length) return;
    const more = body.insertRow();
    const cell = more.insertCell();
    cell.colSpan = all.length + 1;
    const button = element("button", `Show more of ${number(rows.length)}`);
    button.addEventListener("click", () => {
      more.remove();
      fill(to, to * 5);
    });
    cell.append(button);
  };
  fill(0, FIRST_ROWS);
  return made;
}

function tableRow(row, columns, whole, label) {
  const made = document.createElement("tr");
  for (const column of columns) {
    const cell = made.insertCell();
    const share = column.share(row);
    if (column.key === "change") {
      cell.textContent = `${share < 0 ? "−" : "+"}${Math.abs(100 * share).toFixed(2)}`;
      continue;
    }
    cell.textContent = percent(share, whole);
    cell.title = amountOf(share);
    cell.style.setProperty("--share", `${whole > 0 ? (100 * share) / whole : 0}%`);
  }
  const cell = made.insertCell();
  const isMethod = row.frame >= 0 && !row.isSelf;
  const content = element(isMethod ? "button" : "span", "");
  if (isMethod) {
    const name = names[row.frame];
    const chip = element("i", "");
    const colour = colours ? colours.colours[row.frame] : changeColour(calls.changeOf(row.total, row.before));
    chip.style.background = chart.palette.bright[colour];
    content.append(chip, name.labels.at(-2) ?? name.full);
    if (name.package) content.append(" ", element("small", name.package));
    content.addEventListener("click", () => select(row.frame));
    content.addEventListener("dblclick", () => mergeMethod(row.frame));
  } else {
    content.textContent = label;
  }
  content.title = label;
  cell.append(content);
  return made;
}

// ---- the legend

/** What ends in each frame, of what is zoomed. */
function zoomedSelf() {
  // What is folded has its colours, too.
  if (!model.isUpward) return (chart.zoom === 0 && model === started ? calls : model).selfByFrame(chart.zoom);
  const ends = new Float64Array(names.length);
  const add = (node, count) => {
    ends[model.frame[node]] += count;
    return model.isSubject(node);
  };
  // Below a subject are the frames in which its numbers end.
  const below = (node) => {
    for (let child = node + 1; child < model.next[node]; child = model.next[child]) {
      if (add(child, model.total[child])) below(child);
    }
  };
  if (chart.zoom === 0) {
    below(0);
    return ends;
  }
  const path = model.path(chart.zoom).slice(1);
  const isOver = path.every((node) => add(node, model.total[chart.zoom]));
  if (isOver) below(chart.zoom);
  return ends;
}

export function fillLegend() {
  const legend = by("legend");
  const chip = (colour) => {
    const made = element("i", "");
    made.style.background = chart.palette.bright[colour];
    return made;
  };
  if (!colours) {
    legend.replaceChildren(...CHANGE_GROUPS.map(({ name, colour }) => {
      const item = element("li", "");
      item.append(chip(colour), name);
      return item;
    }));
    return;
  }
  const counts = new Float64Array(colours.groups.length);
  zoomedSelf().forEach((count, frame) => {
    if (count > 0) counts[colours.group[frame]] += count;
  });
  const whole = model.total[chart.zoom];
  const isSubject = new Set(names.filter((name) => name.kind === KIND.objects).map(sortOf));
  const items = colours.groups.flatMap(({ name, colour }, group) => {
    const isOut = hidden.has(name);
    if (counts[group] === 0 && !isOut) return [];
    const item = element("li", "", isSubject.has(name) ? "subject" : "");
    const button = element("button", "");
    button.value = name;
    button.ariaPressed = String(!isOut);
    const own = name === OWNERS[0] && data.app?.length ? ` (${data.app.join(", ")})` : "";
    button.title = isOut
      ? `Show ${name}${own}`
      : `Leave out ${name}${own}: what ends there counts for the caller. Shift-click leaves out all others.`;
    button.append(chip(colour), `${name} ${isOut ? "left out" : percent(counts[group], whole)}`);
    button.addEventListener("click", (event) => filter(name, event.shiftKey));
    item.append(button);
    return [item];
  });
  if (hidden.size > 0) {
    const item = element("li", "");
    const all = element("button", "Show all");
    all.id = "show-all";
    all.addEventListener("click", () => {
      hidden.clear();
      rebuild();
      pushState();
    });
    item.append(all);
    items.push(item);
  }
  legend.replaceChildren(...items);
}

/** Leaves a group of frames out or shows it again; or leaves out all others. */
function filter(group, isAlone) {
  const path = zoomPath();
  if (isAlone) {
    hidden.clear();
    for (const { name } of colours.groups) if (name !== group) hidden.add(name);
  } else if (!hidden.delete(group)) {
    hidden.add(group);
  }
  rebuild({ path });
  pushState();
}
