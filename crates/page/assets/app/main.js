// The page of `perk serve`: the frame around the views.

import { Fault, ask, begin, holdVersions } from "./api.js";
import { byId, make } from "./dom.js";
import { fillFilters } from "./filter.js";
import { HEAP_VIEWS } from "./heap-views.js";
import { heapRows } from "./heap.js";
import { amount } from "./numbers.js";
import { hideSide } from "./side.js";
import { address, addressOf, change, filters, go, listen, note, state } from "./state.js";
import { menu } from "./menu.js";
import { rows } from "./rows.js";
import { saves } from "./save.js";
import { fillStrip, selectWindow, updateStrip } from "./strip.js";
import { VIEWS, viewOf } from "./views.js";
import { watch } from "./watch.js";

/** The sources, and the summary of the one that is shown with the filters that it was asked for. */
let sources = [];
let known = { key: "", summary: null };
/** The number of the last address that was shown: answers to earlier ones are left out. */
let turn = 0;
/** What the view that is shown gave back: `picture`, where it can be saved as one. */
let shown = {};

function say(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const fault = byId("fault");
  fault.hidden = !error;
  fault.textContent = error ? error.message : "";
}

/** The list of all files. */
function listFiles(host) {
  const rows = sources.map((source) => {
    const name = source.state === "ok"
      ? make("a", { href: address(source.id, "overview") }, source.name)
      : make("span", {}, source.name);
    const date = new Date(source.modified).toISOString().slice(0, 19).replace("T", " ");
    return make(
      "tr", {},
      make("td", {}, name, source.error && make("div", { class: "hint" }, source.error)),
      make("td", {}, source.format ?? source.kind),
      make("td", { class: "number" }, amount(source.bytes, "bytes")),
      make("td", { class: "number" }, `${date} UTC`),
    );
  });
  const head = make("tr", {}, ...["File", "Format", "Size", "Changed"].map((text, place) =>
    make("th", { scope: "col", class: place > 1 ? "number" : "" }, text)));
  const table = make("table", { class: "files" }, make("thead", {}, head), make("tbody", {}, ...rows));
  host.append(make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": "Files" }, make("h2", {}, "Files"), table));
}

/** The summary of the file, which says what views there are. */
async function summaryOf() {
  const { metric, ...question } = filters();
  const key = JSON.stringify([state.source, question]);
  if (known.key !== key) known = { key, summary: await ask(`${encodeURIComponent(state.source)}/report`, { view: "summary", ...question }) };
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
const viewsOf = (id) => (sourceOf(id)?.kind === "heap" ? HEAP_VIEWS : VIEWS);

function fillTabs(summary, view) {
  const isThere = (it) => !it.needs || summary.views.includes(it.needs);
  const shown = viewsOf(state.source).filter((it) => isThere(it) && (!it.isHidden || it === view) && !(it.within && summary.views.includes(it.within)));
  byId("tabs").replaceChildren(...shown.map((it) => {
    const tab = make("a", { href: address(state.source, it.id, filters()) }, it.title);
    if (it === view || it.id === view.within) tab.ariaCurrent = "page";
    return tab;
  }));
}

async function show() {
  const mine = ++turn;
  try {
    say(null);
    hideSide();
    if (sources.length === 0) take((await ask("sources")).sources);
    state.path = sourceOf(state.source)?.path ?? "";
    const isHeap = sourceOf(state.source)?.kind === "heap";
    const summary = state.source && !isHeap ? await summaryOf() : null;
    if (mine !== turn) return;
    const view = viewOf(state.view, viewsOf(state.source));
    fillHead(summary, view);
    const isFocused = byId("view").contains(document.activeElement);
    const isTyping = document.activeElement?.id === "search";
    const place = isTyping ? document.activeElement.selectionStart : 0;
    byId("view").replaceChildren();
    byId("find").replaceChildren();
    shown = {};
    fillStrip(summary !== null).catch(say);
    byId("compare").hidden = !summary || sources.filter((it) => it.kind !== "heap").length === 0;
    byId("compare").href = addressOf("compare");
    byId("save").hidden = !state.source;
    let given;
    if (summary) {
      document.title = `${view.title} · ${summary.program || summary.file} · perk`;
      fillTabs(summary, view);
      byId("conditions").textContent = [...(summary.facts ?? summary.totals.slice(0, 1)), ...summary.conditions, ...[summary.filtered ?? []].flat()].join(" · ");
      given = await view.show({ host: byId("view"), summary, view, sources, onFault: say });
    } else if (isHeap) {
      document.title = `${view.title} · ${sourceOf(state.source).name} · perk`;
      fillTabs(null, view);
      byId("conditions").textContent = "";
      given = await view.show({ host: byId("view"), view, onFault: say });
    } else {
      document.title = "perk";
      byId("tabs").replaceChildren();
      byId("conditions").textContent = "";
      listFiles(byId("view"));
    }
    if (mine !== turn) return;
    shown = given ?? {};
    if (isTyping) {
      byId("search")?.focus();
      byId("search")?.setSelectionRange(place, place);
    } else if (isFocused) {
      byId("view").querySelector(".scroll, .page, .chart")?.focus();
    }
    // What a test waits for.
    document.body.dataset.shown = String(mine);
  } catch (error) {
    if (mine !== turn) return;
    const isOutside = error instanceof Fault && [0, 401, 409].includes(error.status);
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
byId("source").addEventListener("change", () => go(address(byId("source").value, byId("source").value && "overview")));
byId("metric").addEventListener("change", () => change({ metric: byId("metric").value, sort: undefined, at: undefined }));
menu(byId("save"), byId("save-menu"), () => {
  const isHeap = sourceOf(state.source)?.kind === "heap";
  const view = viewOf(state.view, viewsOf(state.source));
  return saves({ view, isHeap, isTable: view.show === rows || view.show === heapRows, picture: shown.picture, onFault: say });
});
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
  holdVersions(list);
  return isNew;
}
const news = watch({
  known: (list) => take(list) && !state.source && show(),
  load: () => {
    known.key = "";
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
  if (sources.length === 1 && only.state === "ok") go(address(only.id, "overview"), { isStep: false });
  else await show();
} else {
  await show();
}
