// The page of `perk serve`: the frame around the views.

import { Fault, ask, begin, holdVersions } from "./api.js";
import { isService } from "./clock.js";
import { byId, make } from "./dom.js";
import { fillFilters } from "./filter.js";
import { HEAP_VIEWS } from "./heap-views.js";
import { heapRows } from "./heap.js";
import { amount } from "./numbers.js";
import { hideSide } from "./side.js";
import { FILTERS, address, addressOf, change, filters, go, listen, moment, note, state } from "./state.js";
import { menu } from "./menu.js";
import { follow, recordingText } from "./live.js";
import { rows } from "./rows.js";
import { running } from "./running.js";
import { saves } from "./save.js";
import { FIRST_RANGE, fillRange, labelsOf } from "./service.js";
import { fillStrip, selectWindow, updateStrip } from "./strip.js";
import { VIEWS, viewOf } from "./views.js";
import { watch } from "./watch.js";

/** The sources, and the summary of the one that is shown with the filters that it was asked for. */
let sources = [];
let known = { key: "", summary: null };
/** The number of the last address that was shown: answers to earlier ones are left out. */
let turn = 0;
/** The drawing of the strip, while it is under way. */
let strip = null;
/**
 * What the view that is shown gave back: `picture`, where it can be saved as one; `update`, where it can show newer
 * numbers in its place; `again`, where it can show the answer to another question of the same `place`.
 */
let shown = {};
/** What the header was filled for. */
let headOf = "";

/** What may change in a question for a view to show it in its place. */
const PARTS_OF_PLACE = ["sort", "order", "at", "search", "root", "node", "fold", "tree", "group", ...FILTERS];
const placeNow = () => JSON.stringify([state.source, state.view, Object.entries(state.question).filter(([name]) => !PARTS_OF_PLACE.includes(name))]);

function say(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const fault = byId("fault");
  fault.hidden = !error;
  fault.textContent = error ? error.message : "";
}

/** The range with which a source begins: of a running JVM the last seconds. */
const FIRST_RANGES = { jvm: "10s", service: FIRST_RANGE };

/** The address with which a source begins. */
const firstOf = (source) => address(source.id, "overview", { last: FIRST_RANGES[source.kind] });

/** What a source is, in words. */
function kindText(source) {
  if (source.kind === "jvm") return `running JVM: ${recordingText(source)}`;
  return source.kind === "service" && source.format ? `service in ${source.format}` : source.format ?? source.kind;
}

/** The list of all files. */
function listFiles(host) {
  const rows = sources.map((source) => {
    const name = source.state === "ok"
      ? make("a", { href: firstOf(source) }, source.name)
      : make("span", {}, source.name);
    const date = source.modified ? `${new Date(source.modified).toISOString().slice(0, 19).replace("T", " ")} UTC` : "";
    return make(
      "tr", {},
      make("td", {}, name, source.error && make("div", { class: "hint" }, source.error)),
      make("td", {}, kindText(source)),
      make("td", { class: "number" }, amount(source.bytes, "bytes")),
      make("td", { class: "number" }, date),
    );
  });
  const title = sources.some((it) => it.kind === "service") ? "Services and files" : "Files";
  const head = make("tr", {}, ...["Name", "Format", "Size", "Changed"].map((text, place) =>
    make("th", { scope: "col", class: place > 1 ? "number" : "" }, text)));
  const table = make("table", { class: "files" }, make("thead", {}, head), make("tbody", {}, ...rows));
  host.append(make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": title }, make("h2", {}, title), table));
}

/** The summary of the file, which says what views there are. */
async function summaryOf() {
  const { metric, ...question } = filters();
  const key = JSON.stringify([state.source, question, moment.source === state.source && moment]);
  if (known.key === key) return known.summary;
  const summary = ask(`${encodeURIComponent(state.source)}/report`, { view: "summary", ...question });
  // The numbers of a service have the labels alone that are asked for.
  const labels = isService() ? labelsOf(state.source, question) : null;
  known = { key, summary: labels ? { ...(await summary), labels: await labels } : await summary };
  return known.summary;
}

function fillHead(summary, view) {
  const isFile = summary !== null;
  for (const label of document.querySelectorAll(".filter")) label.hidden = !isFile;
  byId("source").replaceChildren(
    new Option("Files", ""),
    ...sources.filter((it) => it.state === "ok").map((it) => new Option(it.name, it.id)),
  );
  byId("source").value = state.source;
  fillFilters(byId("filters"), { summary, view });
  if (!isFile) return;
  byId("metric").replaceChildren(
    ...summary.metrics.filter((it) => it.has_paths).map((it) => new Option(it.title, it.metric)),
  );
  byId("metric").parentElement.hidden = summary.metrics.length === 0;
  byId("metric").value = state.question.metric ?? summary.metrics[0]?.metric ?? "";
}

const sourceOf = (id) => sources.find((it) => it.id === id);

/** The views of a file. */
const viewsOf = (id) => ({ heap: HEAP_VIEWS, jvm: JVM_VIEWS, service: SERVICE_VIEWS })[sourceOf(id)?.kind] ?? VIEWS;

/** The views of a running JVM: its threads have states and rates. */
const JVM_VIEWS = VIEWS.map((view) => (view.id === "threads" ? { id: "threads", title: view.title, show: running } : view));

/** The views of a service: a summary of it does not say whether its times and threads are known. */
const SERVICE_VIEWS = VIEWS.filter((view) => view.id !== "time").map((view) => (["history", "threads"].includes(view.id) ? { ...view, needs: undefined } : view));

/** The names of the views and metrics that a summary lists. */
const partsOf = (summary) => [...summary.views, ...summary.metrics.map((it) => it.metric)].join();

/** Those for which the tabs were made. */
let parts = "";

function fillTabs(summary, view) {
  parts = summary ? partsOf(summary) : "";
  const isThere = (it) => !it.needs || summary.views.includes(it.needs);
  const shown = viewsOf(state.source).filter((it) => isThere(it) && (!it.isHidden || it === view) && !(it.within && summary.views.includes(it.within)));
  byId("tabs").replaceChildren(...shown.map((it) => {
    const tab = make("a", { href: address(state.source, it.id, filters()) }, it.title);
    if (it === view || it.id === view.within) tab.ariaCurrent = "page";
    return tab;
  }));
  // On a narrow screen the row of tabs is wider than the page.
  byId("tabs").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

function sayConditions(summary) {
  byId("conditions").textContent = [...(summary.facts ?? summary.totals.slice(0, 1)), ...summary.conditions].join(" · ");
}

function drawStrip(draw) {
  const mine = draw().catch(say).finally(() => { if (strip === mine) strip = null; });
  strip = mine;
}

/** Whether the user does something in the view that new content would disturb. */
function isBusy() {
  const inside = (node) => node && byId("view").contains(node);
  const isChosen = !getSelection().isCollapsed && inside(getSelection().anchorNode);
  return isChosen || (inside(document.activeElement) && document.activeElement.matches("input, select")) || byId("view").matches(":active");
}

/** Shows what a running JVM did since, in the same place. */
async function refresh() {
  const mine = turn;
  try {
    const summary = await summaryOf();
    if (mine !== turn) return;
    sayConditions(summary);
    // What was measured since may have views and metrics of its own.
    if (partsOf(summary) !== parts) {
      const view = viewOf(state.view, viewsOf(state.source));
      fillHead(summary, view);
      fillTabs(summary, view);
    }
    if (!strip) drawStrip(updateStrip);
    if (shown.update) return await shown.update(summary);
    if (isBusy()) return;
    const view = viewOf(state.view, viewsOf(state.source));
    const host = byId("view");
    const stage = make("div", { class: "staging" });
    host.append(stage);
    try {
      const given = await view.show({ host: stage, summary, view, sources, onFault: say });
      if (mine !== turn) return;
      const scrolled = (root) => [...root.querySelectorAll(".scroll, .page, .chart, .sentences")];
      const places = scrolled(host).filter((it) => !stage.contains(it)).map((it) => [it.scrollLeft, it.scrollTop]);
      const focused = [...host.querySelectorAll("[tabindex], a, button")].filter((it) => !stage.contains(it)).indexOf(document.activeElement);
      // What the user has opened stays open.
      const open = [...host.querySelectorAll("details")].filter((it) => !stage.contains(it)).map((it) => it.open);
      stage.querySelectorAll("details").forEach((it, index) => { it.open = open[index] ?? it.open; });
      host.replaceChildren(...stage.childNodes);
      scrolled(host).forEach((it, index) => it.scrollTo(...(places[index] ?? [0, 0])));
      if (focused >= 0) host.querySelectorAll("[tabindex], a, button")[focused]?.focus({ preventScroll: true });
      shown = given ?? {};
    } finally {
      stage.remove();
    }
  } catch (error) {
    if (mine === turn) say(error);
  }
}

/** Fills what is around the view: the header, the tabs and the foot. */
function fillFrame(summary, view) {
  const head = JSON.stringify([state.source, view.id, known.key, filters(), state.question.group, summary?.views]);
  if (head === headOf) return;
  headOf = head;
  fillHead(summary, view);
  byId("compare").hidden = !summary || sources.filter((it) => it.kind !== "heap").length === 0;
  byId("compare").href = addressOf("compare");
  byId("save").hidden = !state.source;
  byId("conditions").textContent = "";
  document.title = "perk";
  if (!state.source) return byId("tabs").replaceChildren();
  fillTabs(summary, view);
  if (summary) sayConditions(summary);
  document.title = `${view.title} · ${summary ? summary.program || summary.file : sourceOf(state.source).name} · perk`;
}

async function show() {
  const mine = ++turn;
  try {
    say(null);
    hideSide();
    if (sources.length === 0) take((await ask("sources")).sources);
    state.path = sourceOf(state.source)?.path ?? "";
    state.kind = sourceOf(state.source)?.kind ?? "";
    const isHeap = state.kind === "heap";
    await follow(state.kind === "jvm" ? state.source : "", refresh, say);
    if (mine !== turn) return;
    fillRange(sourceOf(state.source));
    const summary = state.source && !isHeap ? await summaryOf() : null;
    if (mine !== turn) return;
    const view = viewOf(state.view, viewsOf(state.source));
    const isFocused = byId("view").contains(document.activeElement);
    fillFrame(summary, view);
    // What leaves rows out is seen.
    if (state.question.search || byId("filters").querySelector(".chip")) fold(true);
    drawStrip(() => fillStrip(summary !== null));
    const host = byId("view");
    if (shown.again && shown.place === placeNow()) {
      const field = byId("search");
      if (field && field !== document.activeElement) field.value = state.question.search ?? "";
      try {
        await shown.again(summary);
      } catch (error) {
        // What is shown is no answer to this question.
        if (mine === turn) host.replaceChildren();
        throw error;
      }
      if (mine !== turn) return;
    } else {
      shown = {};
      const isTyping = document.activeElement?.id === "search";
      const place = isTyping ? document.activeElement.selectionStart : 0;
      host.replaceChildren();
      byId("find").replaceChildren();
      const given = state.source ? await view.show({ host, summary, view, sources, onFault: say }) : listFiles(host);
      if (mine !== turn) return;
      shown = { ...given, place: placeNow() };
      if (isTyping) {
        byId("search")?.focus();
        byId("search")?.setSelectionRange(place, place);
      }
    }
    // What had the focus may have made room for other choices.
    if (isFocused && !host.contains(document.activeElement)) host.querySelector(".scroll, .page, .chart")?.focus();
    // What a test waits for.
    document.body.dataset.shown = String(mine);
  } catch (error) {
    if (mine !== turn) return;
    const isOutside = error instanceof Fault && [0, 401, 409].includes(error.status);
    shown = {};
    // A part of a view is none.
    if (isOutside) byId("view").replaceChildren();
    if (!isOutside) say(error);
    else if (error.status === 409) news.changed();
    else news.look();
    document.body.dataset.shown = String(mine);
  }
}

// Links of the page change what is shown, without loading it anew.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/']");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
byId("source").addEventListener("change", () => go(byId("source").value ? firstOf(sourceOf(byId("source").value)) : address("")));
byId("metric").addEventListener("change", () => change({ metric: byId("metric").value, sort: undefined, at: undefined }));
menu(byId("save"), byId("save-menu"), () => {
  const isHeap = sourceOf(state.source)?.kind === "heap";
  const view = viewOf(state.view, viewsOf(state.source));
  return saves({ view, isHeap, isTable: view.show === rows || view.show === heapRows, picture: shown.picture, onFault: say });
});
/** Opens the row of the header that a narrow screen has no room for, or closes it. */
const fold = (isOpen) => byId("options").setAttribute("aria-expanded", String(isOpen));
byId("options").addEventListener("click", () => fold(byId("options").ariaExpanded !== "true"));
byId("explain").addEventListener("click", () => byId("help").showModal());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const isTyping = event.target.matches?.("input, select, textarea");
  if (event.key === "Escape") {
    if (isTyping) byId("view").querySelector(".scroll, .page, .chart")?.focus();
    else if (!byId("side").hidden) {
      hideSide();
      note({ at: undefined });
    } else if (state.question.search) change({ search: undefined });
    else if (state.question.root) change({ root: state.question.root.split(".").slice(0, -1).join(".") || undefined });
    else if (state.question.from || state.question.to) selectWindow();
  } else if (isTyping) {
    return;
  } else if (event.key === "?") {
    byId("help").showModal();
  } else if (event.key === "/" && byId("search")) {
    fold(true);
    byId("search").focus();
    byId("search").select();
  } else if (event.key === "t" && !byId("strip").hidden) {
    byId("strip").querySelector("[tabindex]").focus();
  } else if (event.key === "s" && !byId("save").hidden) {
    byId("save").click();
  } else if (/^[1-9]$/.test(event.key)) {
    byId("tabs").children[Number(event.key) - 1]?.click();
  } else {
    return;
  }
  event.preventDefault();
});

/** Takes the list of sources, and shows it if it is what is seen. */
function take(list) {
  const isNew = JSON.stringify(list) !== JSON.stringify(sources);
  sources = list;
  if (isNew) headOf = "";
  holdVersions(list);
  return isNew;
}
const news = watch({
  known: (list) => take(list) && !state.source && show(),
  load: () => {
    known.key = headOf = "";
    shown = {};
    updateStrip().catch(say);
    show();
  },
});

listen(show);
try {
  await begin();
} catch (error) {
  say(error);
}
if (!state.source) {
  await ask("sources").then((answer) => take(answer.sources), () => news.look());
  // A single file needs no choice.
  const [only] = sources;
  if (sources.length === 1 && only.state === "ok") go(firstOf(only), { isStep: false });
  else await show();
} else {
  await show();
}
