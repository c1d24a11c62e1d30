// The flame graph: the part that is wide enough comes from the server, and more of it at each zoom.

import { CHANGE_GROUPS, Chart, coloursBy } from "../flame/chart.js";
import { Model } from "../flame/model.js";
import { KIND, OWNERS } from "../flame/names.js";
import { ask } from "./api.js";
import { byId, counted, make, printable } from "./dom.js";
import { amount, nameOf, split } from "./numbers.js";
import { hideSide, showSide } from "./side.js";
import { addressOf, change, filters, note, state } from "./state.js";
import { searchField } from "./table.js";

const KINDS = { native: KIND.native, no_stack: KIND.noStack, below_cutoff: KIND.belowCutoff, subject: KIND.objects, group: KIND.thread };
const OWNER_NAMES = ["yours", "library", "jdk", "jvm"];
/** The words of the choices of a tree and of groups. */
const TREES = { "top-down": "Callers above", "bottom-up": "Callees above" };
const GROUPS = { "": "No groups", thread: "By thread", class: "By class", package: "By package" };

/** The name of a frame, as the picture needs it. */
function frameName(text, kind, owner) {
  const full = printable(text);
  const { packageName, short } = split(full);
  const letters = packageName.split(".").filter(Boolean).map((part) => Array.from(part)[0]);
  const place = OWNER_NAMES.indexOf(owner);
  return {
    kind: KINDS[kind] ?? (owner === null ? KIND.objects : KIND.java),
    className: packageName ? `${packageName}.${short.split(".")[0]}` : "",
    method: short,
    signature: "",
    package: packageName,
    full,
    labels: packageName ? [full, [...letters, short].join("."), short, short.replace(/\(.*/, "").split(".").at(-1)] : [full],
    owner: place < 0 ? OWNERS.length : place,
  };
}

/** The tree of an answer: what is left out of it belongs to the node above. */
function modelOf(answer) {
  const names = answer.names.map((text, index) => frameName(text, answer.kinds[index], answer.owners[index]));
  const count = answer.level.length;
  const rest = (totals) => {
    const left = Float64Array.from(totals);
    const path = [];
    for (let node = 0; node < count; node++) {
      path.length = answer.level[node];
      if (path.length > 0) left[path.at(-1)] -= totals[node];
      path.push(node);
    }
    return left;
  };
  const before = answer.before_total ? rest(answer.before_total) : null;
  const nodes = { level: Int32Array.from(answer.level), frame: Int32Array.from(answer.frame), self: rest(answer.total_of), before };
  return new Model(names, nodes);
}

/** Fills the view of the flame graph. */
export async function flame({ host, view }) {
  const { question, source } = state;
  // Beside a file before, the colour is the change.
  const files = question.with ? { before: question.with, after: source } : {};
  const asked = { ...files, ...filters(), tree: question.tree, group: question.group, root: question.root };
  const answer = await ask(question.with ? "diff/flame" : `${encodeURIComponent(source)}/flame`, asked);
  const model = modelOf(answer);
  const chartHost = make("div", {
    class: "chart", tabIndex: 0, role: "application", "aria-roledescription": "flame graph",
    "aria-label": `${view.title}: arrow keys move through the frames, Enter zooms, Escape leaves the zoom`, "aria-describedby": "detail",
  });
  const canvas = make("canvas", { "aria-hidden": "true" });
  const spacer = make("div");
  chartHost.append(canvas, spacer);
  const share = (number) => `${amount((100 * number) / (whole || 1), "percent")} %`;
  const [whole] = answer.above.length > 0 ? answer.above : [answer.total];
  const unit = (number) => `${amount(number, answer.unit)}${answer.unit === "count" ? ` ${answer.title}` : ""}`;
  const found = make("output", {});
  const detail = make("p", { id: "detail", role: "status", class: "bar" });
  const pick = (label, key, choices) => {
    const list = make("select", { "aria-label": label, onchange: () => change({ [key]: list.value || undefined, root: undefined }) },
      ...Object.entries(choices).map(([value, text]) => new Option(text, value)));
    list.value = question[key] ?? Object.keys(choices)[0];
    return list;
  };
  const bar = make("div", { class: "bar" },
    searchField(question.search, (text) => {
      note({ search: text || undefined });
      search(text);
    }), found, pick("Direction", "tree", TREES), pick("Groups", "group", GROUPS));

  // The way down to the root that is shown.
  const idName = new Map(answer.ids.map((id, index) => [String(id), answer.names[index]]));
  const root = answer.root.map(String);
  const crumbs = make("nav", { class: "crumbs", "aria-label": "Zoom path" });
  root.forEach((id, index) => {
    const to = root.slice(0, index).join(".");
    crumbs.append(make("a", { href: addressOf("flame", { ...question, root: to || undefined }) }, index === 0 ? "all" : nameOf(idName.get(root[index - 1]) ?? "…")), "›");
  });
  if (root.length > 0) crumbs.append(make("strong", {}, nameOf(idName.get(root.at(-1)) ?? "…")));

  const colours = question.with ? null : coloursBy("owner", model);
  const legend = make("ul", { class: "legend", "aria-label": "Colours" });
  host.append(bar, crumbs, chartHost, legend, detail);
  const chart = new Chart(chartHost, canvas, spacer);
  chart.use(model, colours);
  chart.resize();
  legend.append(...(colours?.groups ?? CHANGE_GROUPS).map((group) => {
    const chip = make("i", {});
    chip.style.background = chart.palette.bright[group.colour];
    return make("li", {}, chip, group.name);
  }));

  const nameAt = (node) => (model.frame[node] < 0 ? "all" : model.names[model.frame[node]].full);
  const describe = (node) => {
    const more = answer.more[node] > 0 ? `, ${counted(answer.more[node], "narrow frame")} below: zoom in` : "";
    const then = answer.before_total ? `, before ${unit(answer.before_total[node])}` : "";
    detail.textContent = `${nameAt(node)} — ${unit(answer.total_of[node])} (${share(answer.total_of[node])}), self ${unit(answer.self[node])}${then}${more}`;
  };
  /** The address of the zoom to a node. */
  const rootOf = (node) => {
    const path = [];
    for (let at = node; at > 0; at = model.parent[at]) path.unshift(answer.ids[model.frame[at]]);
    return [...root, ...path].join(".");
  };
  const focus = (node) => {
    chart.focus = node;
    chart.reveal(node);
    describe(node);
  };
  const side = (node) => {
    const name = nameAt(node);
    const isMethod = model.frame[node] >= 0 && ["method", "native"].includes(answer.kinds[model.frame[node]]);
    const method = name.replace(/\(.*/, "");
    showSide(
      make("h2", {}, nameOf(name)),
      isMethod && make("p", { class: "links" },
        make("a", { href: addressOf("method", { method }) }, "Callers and callees"),
        make("a", { href: addressOf("flame", { focus: method }) }, "Only this method")),
      make("dl", {},
        make("dt", {}, "total"), make("dd", {}, `${unit(answer.total_of[node])} (${share(answer.total_of[node])})`),
        make("dt", {}, "self"), make("dd", {}, `${unit(answer.self[node])} (${share(answer.self[node])})`),
        make("dt", {}, "code"), make("dd", {}, OWNERS[model.names[model.frame[node]]?.owner] ?? "")),
    );
  };
  const zoom = (node) => {
    if (node === 0) return;
    change({ root: rootOf(node) });
  };
  const nodeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return chart.hit(event.clientX - box.left, event.clientY - box.top);
  };
  canvas.addEventListener("click", (event) => {
    const node = nodeAt(event);
    if (node < 0) return;
    chartHost.focus();
    focus(node);
    side(node);
  });
  canvas.addEventListener("dblclick", (event) => zoom(nodeAt(event)));
  canvas.addEventListener("pointermove", (event) => {
    const node = nodeAt(event);
    if (node === chart.hover) return;
    chart.hover = node;
    chart.schedule();
    if (node >= 0) describe(node);
  });
  chartHost.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { focus: node } = chart;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const level = model.level[node];
      let place = model.firstAfter(level, model.start[node]) + step;
      for (; place >= model.rowBegin[level] && place < model.rowBegin[level + 1]; place += step) {
        if (!chart.shown(model.rowNodes[place])) continue;
        focus(model.rowNodes[place]);
        break;
      }
    } else if (event.key === "ArrowUp" && node > 0) focus(model.parent[node]);
    else if (event.key === "ArrowDown" && model.widestChild(node) >= 0) focus(model.widestChild(node));
    else if (event.key === "Home") focus(0);
    else if (event.key === " " && node > 0) side(node);
    else if (event.key === "Enter") zoom(node);
    else if (event.key === "Escape" && root.length > 0 && byId("side").hidden) change({ root: root.slice(0, -1).join(".") || undefined });
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  for (const kind of ["focus", "blur"]) chartHost.addEventListener(kind, () => chart.schedule());

  async function search(text) {
    chart.matched = null;
    found.textContent = "";
    if (text) {
      const { total, found: sum, ids } = await ask(`${encodeURIComponent(source)}/search`, { ...filters(), q: text });
      const matched = new Set(ids);
      chart.matched = Uint8Array.from(answer.ids, (id) => (matched.has(id) ? 1 : 0));
      found.textContent = `${amount((100 * sum) / (total || 1), "percent")} % · ${unit(sum)} in ${counted(ids.length, "name")}`;
    }
    chart.schedule();
  }
  if (question.search) await search(question.search);
  focus(0);
  hideSide();
}
