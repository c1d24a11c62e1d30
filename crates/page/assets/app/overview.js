// The first screen of `perk report`, and the accounting of the run.

import { patternOf } from "./actions.js";
import { isService } from "./clock.js";
import { make } from "./dom.js";
import { amount, nameOf } from "./numbers.js";
import { addressOf } from "./state.js";

/** Where a row of what limits the program leads: `method` needs a method, other views none. */
function link(row, text) {
  const { view, method, metric } = row.link ?? {};
  if (!view) return text;
  return make("a", { href: addressOf(view, { method, metric }) }, text);
}

/** What to try; the command that shows more is the link of the row here. */
const adviceOf = ({ advice }) => advice.replace(/(; )?perk report .* shows its .*$/, "");

function limits(list, title) {
  const rows = list.map((row) => {
    const place = row.method && [": ", nameOf(row.method), row.line ? ` line ${row.line}` : ""];
    return make(
      "tr",
      {},
      make("td", { class: "share" }, `${amount(row.percent, "percent")} %`),
      make("td", {}, link(row, make("span", {}, row.reason, ...(place || []))), make("div", { class: "hint" }, adviceOf(row))),
    );
  });
  return make("table", { class: "limits", "aria-label": title }, make("tbody", {}, ...rows));
}

/** What was measured, by its words, and the view that shows it. */
const MEASURED = [
  [/deadlock|^blocked /, "monitors"],
  [/fields|accesses/, "field"],
  [/heap dump/, "classes"],
  [/allocated|live in/, "sites"],
  [/wall-clock/, "threads"],
  [/ calls/, "edges"],
  [/CPU time|samples|bytecodes/, "flame"],
  [/JVM threads/, "accounting"],
];

/** A line of what was measured, which leads to its view. */
function measured(line, summary) {
  const [, view] = MEASURED.find(([words, view]) => words.test(line) && summary.views.includes(view)) ?? [];
  return make("div", {}, view ? make("a", { href: addressOf(view) }, line) : line);
}

/** The methods to begin with, where the profile does not show what limits the program. */
function beginnings(summary) {
  const rows = summary.where_to_begin.map((row) => {
    const works = (row.works ?? []).slice(0, 3).map((work) => `${work.what} ${amount(work.percent, "percent")} %`);
    return make(
      "tr",
      {},
      make("td", { class: "share" }, `${amount(row.percent, "percent")} %`),
      make(
        "td",
        {},
        `${row.kind}: `,
        make("a", { href: addressOf("method", { method: row.label, metric: row.metric }) }, nameOf(row.name)),
        make("div", { class: "hint" }, works.join(", ")),
      ),
    );
  });
  return make("table", { class: "limits", "aria-label": "Where to begin" }, make("tbody", {}, ...rows));
}

/** Fills the view of the summary. */
export async function overview({ host, summary, view }) {
  const page = make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": view.title });
  if (view.id === "accounting") {
    // The name of a line has a column of its own.
    const lines = (summary.accounting_lines ?? []).map((line) => [line.slice(0, 9).trim(), line.slice(9).trim()]);
    page.append(make("h2", {}, "How the numbers were taken"),
      make("dl", { class: "facts" }, ...lines.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])));
    const entries = Object.entries(summary.accounting ?? {}).filter(([, value]) => value !== null && value !== "" && typeof value !== "object");
    const rows = entries.map(([name, value]) =>
      make("tr", {}, make("td", {}, name), make("td", { class: "number" }, amount(value, name.endsWith("_ns") ? "ns" : null))),
    );
    page.append(make("h3", {}, "All of it"), make("table", { class: "files" }, make("tbody", {}, ...rows)));
  } else {
    // A service is several JVMs.
    const heading = isService() ? summary.file : summary.program || summary.file;
    const ofJvm = isService() ? [summary.program, summary.jvm] : [summary.jvm, summary.pid && `pid ${summary.pid}`];
    page.append(make("h2", {}, heading));
    if (summary.jvm) page.append(make("p", { class: "hint" }, ofJvm.filter(Boolean).join(" · ")));
    const { limits: rows = [], more_limits: more = [], more_limits_title: title } = summary;
    if (rows.length + more.length > 0) {
      page.append(make("h3", {}, "What limits the program"), make("p", {}, summary.working?.summary ?? ""));
      if (rows.length > 0) page.append(limits(rows, "What limits the program"));
      if (more.length > 0) page.append(make("details", { class: "more" }, make("summary", {}, title), limits(more, title)));
    } else if (summary.where_to_begin?.length) {
      page.append(make("h3", {}, "Where to begin"), beginnings(summary));
    } else {
      page.append(make("p", {}, summary.working?.summary ?? "The profile does not say what limits the program."));
    }
    for (const row of summary.repeated_calls ?? []) {
      page.append(make("p", {}, make("a", { href: addressOf("method", { method: patternOf(row.callee) }) }, nameOf(row.callee)), `: ${row.calls_per_call} calls per call of `, nameOf(row.caller), ` (${row.kind})`));
    }
    page.append(make("h3", {}, "What was measured"), ...summary.totals.map((line) => measured(line, summary)));
    for (const line of [...(summary.notes ?? []), ...[summary.losses ?? []].flat()]) page.append(make("div", { class: "hint" }, line));
  }
  host.append(page);
}
