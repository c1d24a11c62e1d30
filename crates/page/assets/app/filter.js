// The part of the profile that is shown: groups, what is in and what is out, as chips and as lists to choose from.

import { patternOf } from "./actions.js";
import { ask } from "./api.js";
import { isService, secondsOf, timeText } from "./clock.js";
import { byId, make } from "./dom.js";
import { amount } from "./numbers.js";
import { change, filters, moment, state } from "./state.js";

/** Rows of a list of values. */
const VALUES = 100;

const list = (name) => [state.question[name] ?? []].flat();

/** A window of the address, in words. */
const windowText = (from, to) => (isService()
  ? `${from ? timeText(secondsOf(from)) : "begin"} – ${to ? timeText(secondsOf(to)) : "end"}`
  : `${from ?? "0s"} – ${to ?? "end"}`);

/** What changes with another part: nothing of a row or a zoom of the part before is left. */
const show = (parts) => change({ ...parts, at: undefined, root: undefined, node: undefined });

/** The filters of the address: each with its text and the parts of the question without it. */
function chips() {
  const of = (name, text) => list(name).map((value, index, all) => {
    const left = all.filter((_, place) => place !== index);
    return { text: text(value, index), parts: { [name]: left.length > 0 ? left : undefined } };
  });
  const { from, to } = state.question;
  return [
    ...of("focus", (value, index) => `${index === 0 ? "only" : "or"} ${value}`),
    ...of("ignore", (value) => `without ${value}`),
    ...of("hide", (value) => `hidden: ${value}`),
    ...of("label", (value) => value.replace("=", ": ")),
    ...of("thread", (value, index) => `${index === 0 ? "thread" : "or"} ${value}`),
    // The header has the part of a running JVM.
    ...((from || to) && moment.source !== state.source ? [{ text: windowText(from, to), parts: { from: undefined, to: undefined } }] : []),
  ];
}

function chip({ text, parts }) {
  const name = make("span", { title: text }, text);
  return make("li", { class: "chip" }, name,
    make("button", { type: "button", "aria-label": `Remove the filter: ${text}`, onclick: () => show(parts) }, "×"));
}

/** The choice of what is at the root, where the view has one. */
function groupList(summary, view) {
  const labels = summary.labels.map(({ key, value_count: count }) => [`label:${key}`, `by ${key} (${count})`]);
  const ofFlame = [["thread", "by thread"], ["class", "by class"], ["package", "by package"]];
  const choices = [["", "not grouped"], ...(view.groups ? ofFlame : []), ...labels];
  if (choices.length === 1) return null;
  const group = make("select", { id: "group", "aria-label": "Group", onchange: () => {
    const key = group.value.startsWith("label:") ? group.value.slice(6) : undefined;
    show({ by: key, group: key === undefined ? group.value || undefined : undefined });
  } }, ...choices.map(([value, text]) => new Option(text, value)));
  group.value = (view.groups && state.question.group) || (state.question.by ? `label:${state.question.by}` : "");
  return group;
}

/** What can be chosen in the lists. */
function kindsOf(summary) {
  const named = summary.views.includes("flame") ? [["package", "package"], ["class", "class"]] : [];
  const threads = summary.views.includes("threads") ? [["thread", "thread"]] : [];
  return [...named, ["method", "method"], ...threads, ...summary.labels.map(({ key, value_count: count }) => [`label:${key}`, `label ${key} (${count})`])];
}

/** The values of a kind: each with its pattern, its name and its part of all. */
async function valuesOf(kind, text) {
  const path = encodeURIComponent(state.source);
  const search = text || undefined;
  const { by, ...question } = filters();
  if (kind === "package" || kind === "class") {
    const answer = await ask(`${path}/flame`, { ...question, group: kind, tree: "bottom-up", depth: 2, "min-width": 100000 });
    const values = answer.level.flatMap((level, node) => {
      const place = answer.frame[node];
      if (level !== 1 || place < 0 || !["package", "class", "group"].includes(answer.kinds[place])) return [];
      const name = answer.names[place];
      const pattern = kind === "package" ? `${name}.*` : name;
      return [{ name, pattern: patternOf(pattern), share: (100 * answer.total_of[node]) / (answer.total || 1) }];
    });
    return values.filter((value) => !text || value.name.toLowerCase().includes(text.toLowerCase())).slice(0, VALUES);
  }
  const isLabel = kind.startsWith("label:");
  const key = kind.slice(6);
  const asked = isLabel ? { view: "label", by: key } : { view: kind === "thread" ? "threads" : "methods" };
  const answer = await ask(`${path}/report`, { ...question, ...asked, search, limit: VALUES });
  const place = (id) => answer.columns.findIndex((column) => column.id === id);
  const share = answer.columns.findIndex((column) => column.unit === "percent");
  const name = isLabel ? answer.columns.findIndex((column) => column.kind !== "number" && column.id !== "metric") : place(kind === "thread" ? "thread" : "name");
  return answer.rows.map((row) => {
    const text = row[name];
    return { name: text, pattern: isLabel ? `${key}=${text}` : kind === "thread" ? text : patternOf(text), share: row[share] };
  });
}

/** The lists to choose from. */
function panel(summary) {
  const kind = make("select", { "aria-label": "What" }, ...kindsOf(summary).map(([value, text]) => new Option(text, value)));
  const how = make("select", { "aria-label": "How" }, new Option("only", "focus"), new Option("without", "ignore"), new Option("hide frames of", "hide"));
  const search = make("input", { type: "search", placeholder: "Find or type a pattern: com.acme.*", "aria-label": "Find a value", autocomplete: "off", spellcheck: false });
  const values = make("div", { class: "values", role: "group", "aria-label": "Values" });
  const hint = make("p", { class: "hint" }, "");
  const HINTS = {
    focus: "Stacks through what you choose; several are alternatives.",
    ignore: "All stacks but those through what you choose.",
    hide: "The stacks stay; their numbers go to the callers of the frames that are left out.",
    label: "Numbers with this label; several values of a label are alternatives.",
    thread: "Numbers of this thread; several are alternatives.",
  };
  /** What is chosen with one way alone: a label, a thread. */
  const only = () => (kind.value.startsWith("label:") ? "label" : kind.value === "thread" ? "thread" : null);
  const add = (pattern) => {
    const name = only() ?? how.value;
    byId("filter-panel").hidePopover();
    show({ [name]: [...list(name).filter((it) => it !== pattern), pattern] });
  };
  let turn = 0;
  const fill = async () => {
    const mine = ++turn;
    how.hidden = only() !== null;
    hint.textContent = HINTS[only() ?? how.value] + (only() ? "" : " Shares are of the frames on top of stacks.");
    let rows;
    try {
      const found = await valuesOf(kind.value, search.value.trim());
      rows = found.map(({ name, pattern, share }) => make("button", { type: "button", onclick: () => add(pattern) },
        make("span", {}, name), make("span", { class: "number" }, share === undefined || share === null ? "" : `${amount(share, "percent")} %`)));
      if (rows.length === 0) rows = [make("p", { class: "hint" }, "nothing with this text")];
    } catch (error) {
      rows = [make("p", { class: "hint" }, error.message)];
    }
    if (mine === turn) values.replaceChildren(...rows);
  };
  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(fill, 150);
  });
  kind.addEventListener("change", fill);
  how.addEventListener("change", fill);
  const element = make("div", { id: "filter-panel", popover: "auto", role: "dialog", "aria-label": "Filter" },
    make("div", { class: "choices" }, how, kind), search, values, hint);
  element.addEventListener("keydown", (event) => {
    const buttons = [...values.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && event.target === search && search.value.trim()) {
      add(only() === "label" && !search.value.includes("=") ? `${kind.value.slice(6)}=${search.value.trim()}` : search.value.trim());
    } else if (step && event.target.tagName !== "SELECT") {
      (buttons[at + step] ?? (step < 0 ? search : null))?.focus();
    } else return;
    event.preventDefault();
  });
  // Keys of the page are not for what is typed and chosen here.
  element.addEventListener("keydown", (event) => event.stopPropagation());
  element.addEventListener("toggle", (event) => {
    if (event.newState !== "open") return;
    const box = byId("add-filter").getBoundingClientRect();
    element.style.top = `${box.bottom + 4}px`;
    element.style.left = `${Math.max(8, Math.min(box.left, innerWidth - element.offsetWidth - 8))}px`;
    search.focus();
    fill();
  });
  return element;
}

/** Fills the place of the filters in the header; without a summary there are none. */
export function fillFilters(host, { summary, view }) {
  const isOpen = byId("filter-panel")?.matches(":popover-open");
  if (isOpen) byId("filter-panel").hidePopover();
  host.replaceChildren();
  if (!summary) return;
  const all = chips();
  const add = make("button", { id: "add-filter", type: "button", "aria-haspopup": "dialog", "aria-keyshortcuts": "+", title: "Filter (+)" }, "Filter …");
  const lists = panel(summary);
  add.popoverTargetElement = lists;
  host.append(...[groupList(summary, view),
    all.length > 0 && make("ul", { class: "chips", "aria-label": "Filters" }, ...all.map(chip)), add, lists].filter(Boolean));
}

document.addEventListener("keydown", (event) => {
  const lists = byId("filter-panel");
  if (event.key === "Escape" && lists?.matches(":popover-open")) {
    lists.hidePopover();
    byId("add-filter").focus();
  } else if (event.key === "+" && lists && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.matches?.("input, select, textarea")) {
    byId("options").ariaExpanded = "true";
    lists.showPopover();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}, { capture: true });
