// Locks: which of them threads wait for, where they wait, and where the lock is held meanwhile.

import { copyButton, patternOf } from "./actions.js";
import { ask } from "./api.js";
import { counted, make } from "./dom.js";
import { amount, nameOf } from "./numbers.js";
import { hideSide } from "./side.js";
import { addressOf, filters, inAddress, note, state } from "./state.js";
import { Table, rowCount, searchField } from "./table.js";

/** Paths of a lock that are shown. */
const PATHS = 50;
/** The titles of the columns, which the answer has by their numbers alone. */
const TITLES = { blocked_count: "times blocked", blocked_ns: "blocked", wait_count: "times waited", waited_ns: "waited" };
const JDK = /^(java|javax|jdk|sun|com\.sun)\./;

const table = (view, question) => ask(`${encodeURIComponent(state.source)}/report`, { view, ...filters(), ...question });
const placeOf = (columns) => (id) => columns.findIndex((column) => column.id === id);

/** A frame, which leads to its method. */
function frameLink(frame) {
  const [name] = frame.split(" (");
  return make("a", { href: addressOf("method", { method: patternOf(name) }) }, nameOf(frame));
}

/** A path with its part of all: its own frame in the line, all frames below. */
function pathRow(frames, numbers, share) {
  const own = frames.find((frame) => !JDK.test(frame)) ?? frames[0];
  const inner = own === frames[0] ? null : frames[0];
  return make("details", {},
    make("summary", {}, make("strong", {}, `${share} `), own ? nameOf(own) : "path not known", inner && make("span", {}, " in ", nameOf(inner)), make("span", { class: "hint" }, ` · ${numbers}`)),
    make("ol", {}, ...frames.map((frame) => make("li", {}, frameLink(frame)))));
}

/** The paths of a lock, most time first; `time` names the column of their time, `count` that of their number. */
function paths(answer, [lock, kind], [time, count, noun]) {
  const of = placeOf(answer.columns);
  const its = answer.rows.filter((row) => row[of("class")] === lock && row[of("kind")] === kind);
  const sum = its.reduce((all, row) => all + (row[of(time)] ?? 0), 0);
  const shown = its.filter((row) => row[of(time)] > 0).sort((a, b) => b[of(time)] - a[of(time)]);
  const rows = shown.slice(0, PATHS).map((row) => {
    const frames = row[of("frames")] ? row[of("frames")].split("; ") : [];
    return pathRow(frames, `${amount(row[of(time)], "ns")}, ${counted(row[of(count)] ?? 0, noun)}`, `${((100 * row[of(time)]) / (sum || 1)).toFixed(1)} %`);
  });
  if (shown.length > PATHS) rows.push(make("p", { class: "hint" }, counted(shown.length - PATHS, "more path")));
  return { rows, sum };
}

/** The deadlocks, each with its threads. */
function deadlocks(document) {
  const { deadlocks: found = [], dumps = [] } = document.monitors ?? {};
  const nameOfThread = (serial) => dumps.flatMap((dump) => dump.threads).find((thread) => thread.serial === serial)?.name ?? `thread ${serial}`;
  return found.map((links) => make("div", { class: "deadlock", role: "group", "aria-label": "Deadlock" },
    make("strong", {}, `Deadlock of ${counted(links.length, "thread")}`),
    ...links.map((link) => make("div", {}, `${link.thread} waits for ${link.waits_for_class}, which ${link.owner_serial === null ? "nobody known" : nameOfThread(link.owner_serial)} has`))));
}

/** Fills the view of locks. */
export async function locks({ host, view, summary, onFault }) {
  const { question } = state;
  const totalOf = ({ totals }) => totals.find((line) => /^blocked |; \d+ deadlock/.test(line)) ?? "";
  let total = totalOf(summary);
  const sum = make("strong", {}, total);
  const load = () => Promise.all([
    table("monitors", { limit: 10000 }),
    table("holders", { limit: 10000 }).catch(() => null),
    /\d+ deadlock/.test(total) ? ask(`${encodeURIComponent(state.source)}/report`, { ...filters(), top: 1 }) : null,
  ]);
  let [waits, holders, document] = await load();
  const ways = make("div", { class: "ways" });
  let shown = "";
  const explain = (row, columns) => {
    const of = placeOf(columns);
    const lock = [row[of("class")], row[of("kind")]];
    const isBlocked = row[of("blocked_ns")] > 0;
    const waiting = paths(waits, lock, isBlocked ? ["blocked_ns", "blocked_count", "time"] : ["waited_ns", "wait_count", "time"]);
    const holding = holders?.rows.length > 0 ? paths(holders, lock, ["blocking_ns", "blocking_sample_count", "sample"]) : { rows: [] };
    // What is opened of the same lock stays open, and what has the focus keeps it.
    const parts = () => [...ways.querySelectorAll("details, summary, a, button")];
    const isSame = shown === lock.join();
    const [open, focused] = isSame ? [parts().map((it) => it.open), parts().indexOf(window.document.activeElement)] : [[], -1];
    shown = lock.join();
    ways.replaceChildren(
      make("h3", {}, nameOf(lock[0], 1), make("span", { class: "hint" }, ` ${lock[1]} `), copyButton(lock[0])),
      make("h4", {}, isBlocked ? "Threads wait for it in" : "Threads wait to be notified in"), ...(waiting.rows.length > 0 ? waiting.rows : [make("p", { class: "hint" }, "The paths are not known.")]),
      ...(isBlocked ? [make("h4", {}, "It is held meanwhile in"), ...(holding.rows.length > 0 ? holding.rows : [make("p", { class: "hint" }, "No sample has a holder.")])] : []));
    parts().forEach((it, index) => { if (open[index]) it.open = true; });
    if (focused >= 0) parts()[focused]?.focus({ preventScroll: true });
  };
  const list = new Table({
    label: view.title,
    load: (offset, limit) => table("locks", { sort: question.sort, order: question.order, search: question.search, offset, limit }),
    choose: ({ columns }) => {
      // On a narrow screen the times leave room for the names.
      const isShown = ({ id }) => innerWidth > 640 || id.endsWith("_ns");
      const shown = columns.filter((column) => column.kind === "number" && isShown(column)).map((column) => Object.assign(column, { title: TITLES[column.id] ?? column.title }));
      const [name, kind] = ["class", "kind"].map((id) => columns.find((column) => column.id === id));
      return [...shown, Object.assign(name, { kind: "class" }), kind];
    },
    ...inAddress(question),
    onSelect: (row, index, columns) => {
      note({ at: String(index) });
      if (row) explain(row, columns);
    },
    onOpen: () => ways.querySelector("summary")?.focus(),
    onFault,
  });
  const count = make("output", {});
  list.element.classList.add("half");
  hideSide();
  host.append(
    make("div", { class: "bar" }, searchField(question.search), sum, count),
    ...(document ? deadlocks(document) : []), list.element,
    make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": "The selected lock" }, ways));
  await list.start();
  const first = () => {
    const [, own] = /waited (?:about )?(\d+)/.exec(total) ?? [];
    const all = waits.rows.reduce((sum, row) => sum + (row[placeOf(waits.columns)("wait_count")] ?? 0), 0);
    count.textContent = [rowCount(list), all > Number(own ?? 0) && "the rows also have the waits of idle pool threads and of the JDK's housekeeping"].filter(Boolean).join(" · ");
    const row = list.row(0);
    if (list.at < 0 && row) explain(row, list.columns);
  };
  first();
  return { update: async (now) => {
    total = sum.textContent = totalOf(now);
    [waits, holders, document] = await load();
    await list.refresh();
    first();
  } };
}
