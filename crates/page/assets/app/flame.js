// The flame graph: the part that is wide enough comes from the server, and more of it at each zoom.

import { methodActions } from "./actions.js";
import { ask } from "./api.js";
import { byId, counted, make, pause } from "./dom.js";
import { Graph, shareOf, treeOf } from "./graph.js";
import { nameOf } from "./numbers.js";
import { hideSide, showSide } from "./side.js";
import { addressOf, change, filters, note, state } from "./state.js";
import { searchField } from "./table.js";

/** The words of the choices of a tree. */
const TREES = { "top-down": "Top down", "bottom-up": "Bottom up" };
/** What is folded once a bar is open, by what was folded before. */
export const OPENED = { start: { above: "idle", idle: "frames" }, frames: { above: "nothing" }, idle: { idle: "nothing" } };

/** The button that opens all that is folded, or folds it again. */
export const foldButton = (fold) => make("button", {
  type: "button", "aria-pressed": String(fold !== "nothing"),
  title: "The frames above your code and idle threads are one bar each, which Enter or a double click opens",
  onclick: () => change({ fold: fold === "nothing" ? undefined : "nothing", root: undefined, node: undefined }),
}, "From your code");

/** The way down to the root that is shown. */
function crumbsOf(answer) {
  const { question } = state;
  const names = new Map(answer.ids.map((id, index) => [String(id), answer.names[index]]));
  const root = answer.root.map(String);
  const crumbs = make("nav", { class: "crumbs", "aria-label": "Zoom path" });
  const nameAt = (index) => nameOf(names.get(root[index]) ?? "…");
  root.forEach((id, index) => {
    const to = root.slice(0, index).join(".");
    crumbs.append(make("a", { href: addressOf("flame", { ...question, root: to || undefined, node: undefined }) }, index === 0 ? "all" : nameAt(index - 1)), "›");
  });
  if (root.length > 0) crumbs.append(make("strong", {}, nameAt(root.length - 1)));
  return crumbs;
}

/** Fills the view of the flame graph. */
export async function flame({ host, view, summary }) {
  const path = encodeURIComponent(state.source);
  // At first the graph starts at the program's own code; groups have everything.
  const foldOf = ({ group, by, fold }) => (group || by ? undefined : fold ?? "start");
  const load = () => {
    const { question } = state;
    return ask(`${path}/flame`, { ...filters(), tree: question.tree, group: question.group, root: question.root, fold: foldOf(question) });
  };
  const detail = make("p", { id: "detail", role: "status", class: "bar" });
  const rootNow = () => graph.answer.root.map(String);
  const rootOf = (node) => [...rootNow(), ...graph.idsOf(node)].join(".");
  const select = (node) => {
    if (node === 0) return hideSide();
    const method = graph.methodAt(node);
    note({ node: rootOf(node) });
    showSide(make("h2", {}, nameOf(graph.nameAt(node))),
      method && methodActions(method, { lines: summary.views.includes("lines") }),
      make("p", { class: "links" }, make("a", { href: addressOf("flame", { ...state.question, root: rootOf(node), node: undefined }) }, "Zoom to this")),
      graph.numbers(node));
  };
  const first = await load();
  const graph = new Graph(first, {
    label: view.title,
    onFocus: (node) => { detail.textContent = graph.describe(node); },
    onSelect: select,
    onZoom: (node) => {
      const opened = OPENED[foldOf(state.question)]?.[graph.kindAt(node)];
      if (opened) change({ fold: opened, root: undefined, node: undefined });
      else if (node > 0) change({ root: rootOf(node), node: undefined });
    },
    onLeave: () => {
      const root = rootNow();
      if (root.length === 0 || !byId("side").hidden) return false;
      change({ root: root.slice(0, -1).join(".") || undefined, node: undefined });
      return true;
    },
  });
  searchField(state.question.search, (text) => {
    note({ search: text || undefined });
    search(text);
  });
  const found = make("output", {});
  const direction = make("select", { "aria-label": "Direction", onchange: () => change({ tree: direction.value, root: undefined, node: undefined }) },
    ...Object.entries(TREES).map(([value, text]) => new Option(text, value)));
  /** What is above the graph, and what its colours mean. */
  const surroundings = () => {
    direction.value = state.question.tree ?? "top-down";
    const fold = foldOf(state.question);
    return [make("div", { class: "bar" }, found, direction, fold !== undefined && foldButton(fold)), crumbsOf(graph.answer), graph.legend()];
  };
  let around = surroundings();
  const [bar, crumbs, legend] = around;
  host.append(bar, crumbs, graph.element, legend, detail);
  graph.start();

  async function search(text) {
    if (!text) {
      found.textContent = "";
      return graph.mark(null);
    }
    const { question } = state;
    const { total, found: sum, ids } = await ask(`${path}/search`, { ...filters(), group: question.group, fold: foldOf(question), q: text });
    graph.mark(new Set(ids));
    found.textContent = `${shareOf(sum, total)} · ${graph.unit(sum)} in ${counted(ids.length, "name")}`;
  }
  const showChosen = async () => {
    await search(state.question.search);
    hideSide();
    const chosen = chosenNode(graph, state.question.node);
    graph.focus(chosen);
    if (chosen > 0) select(chosen);
  };
  await showChosen();
  return {
    picture: () => graph.picture(),
    again: async (now) => {
      summary = now;
      const { question } = state;
      const next = await load();
      await pause();
      const tree = treeOf(next);
      await pause();
      if (question !== state.question) return;
      graph.use(tree);
      const made = surroundings();
      around.forEach((it, place) => it.replaceWith(made[place]));
      around = made;
      graph.start();
      await showChosen();
    },
    update: async () => {
      const { question } = state;
      let next;
      try {
        next = await load();
        if (question !== state.question) return;
      } catch (error) {
        // What the graph is zoomed to did not run in this part.
        if (error.status !== 404) throw error;
        detail.textContent = "Nothing of it in this part of the recording.";
        return;
      }
      graph.update(next);
      if (state.question.search) await search(state.question.search);
      detail.textContent = graph.describe(graph.chart.focus);
    },
  };
}

/** The node that the address names, below the root that is shown; 0 where there is none. */
function chosenNode(graph, path) {
  const root = graph.answer.root.map(String);
  const ids = path?.split(".") ?? [];
  if (ids.length <= root.length || root.some((id, index) => ids[index] !== id)) return 0;
  const node = graph.nodeOf(ids.slice(root.length));
  return graph.model.level[node] === ids.length - root.length ? node : 0;
}
