// What limits the program, most first, with links to its methods.

import { by, data, names, part, parts, printable } from "./data.js";
import { element, number } from "./words.js";
import { calls, chart, chooseView, link, model, pushState, select, setFocus, show, view } from "./page.js";

/** Rows until more are asked for. */
const FIRST_LIMITS = 5;

/** The value that shows a row: threads that wait are in wall-clock time alone. */
const partOf = (row) => parts.findIndex((it) => (it.value ?? "samples") === row.value);

/** Shows the method of a row, with its callers and callees, by the value that has its numbers. */
function goTo(row) {
  const index = partOf(row);
  if (!calls.used[row.frame] && index >= 0 && parts[index] !== part) show(index);
  if (view !== "calls") chooseView("calls");
  select(row.frame);
  let widest = -1;
  for (const node of model.occurrences(row.frame)) if (widest < 0 || model.total[node] > model.total[widest]) widest = node;
  if (widest >= 0) setFocus(chart, widest);
  pushState();
}

/** The list, for the head of the panel; empty where the profile does not say what limits the program. */
export function limitsList() {
  const { limits } = data;
  if (!limits) return [];
  const section = element("section", "");
  section.id = "limits";
  section.append(element("h2", "What limits the program"), element("p", limits.summary));
  const list = document.createElement("ol");
  const fill = (row, to = list) => {
    const item = element("li", "");
    const text = element("div", row.frame === undefined ? row.reason : `${row.reason}: `);
    if (row.frame !== undefined) {
      const link = element("button", row.place);
      link.title = names[row.frame].full;
      link.addEventListener("click", () => goTo(row));
      text.append(link);
    }
    text.append(element("div", row.hint, "hint"));
    item.append(element("b", row.share), text);
    to.append(item);
  };
  limits.rows.slice(0, FIRST_LIMITS).forEach((row) => fill(row));
  section.append(list);
  if (limits.rows.length > FIRST_LIMITS) {
    const more = element("button", `Show all ${number(limits.rows.length)}`);
    more.addEventListener("click", () => {
      more.remove();
      limits.rows.slice(FIRST_LIMITS).forEach((row) => fill(row));
    });
    section.append(more);
  }
  if (limits.more?.length) {
    const few = document.createElement("ol");
    for (const row of limits.more) fill(row, few);
    const more = element("details", "");
    more.append(element("summary", limits.more_title), few);
    section.append(more);
  }
  for (const line of limits.repeats ?? []) section.append(element("p", line));
  return [section];
}

if (data.limits) {
  const { limits } = data;
  limits.summary = printable(limits.summary);
  limits.repeats = limits.repeats?.map(printable);
  for (const row of [...limits.rows, ...(limits.more ?? [])]) for (const key of ["reason", "place", "hint", "share"]) row[key] = printable(row[key]);
  const [first] = limits.rows;
  by("begin").textContent = first ? `Where to begin: ${first.share} ${first.reason}${first.place ? `: ${first.place}` : ""}` : "";
}
