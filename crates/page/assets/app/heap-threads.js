// The threads of a heap dump, each with its stack and the objects of its locals.

import { ask } from "./api.js";
import { counted, make } from "./dom.js";
import { pathOf, toObject } from "./heap.js";
import { amount } from "./numbers.js";
import { note, state } from "./state.js";
import { searchField } from "./table.js";

/** The most threads that are listed. */
const MOST = 10_000;

/** The objects of a frame. */
const locals = (list) => make("ul", { class: "folded" }, ...list.map((local) =>
  make("li", {}, make("span", { class: "amount" }, amount(local.retained_bytes, "bytes")), " ", toObject(local.address, local.value ?? local.class))));

function stack(thread) {
  const frames = thread.frames.map((frame) => make("li", {}, frame.frame, frame.locals.length > 0 && locals(frame.locals)));
  if (thread.native_locals.length > 0) frames.push(make("li", {}, "native code", locals(thread.native_locals)));
  return frames.length > 0 ? make("ol", { class: "path" }, ...frames) : make("p", { class: "hint" }, "no stack");
}

/** A thread whose stack is made when it is opened. */
function row(thread) {
  const facts = [thread.state, thread.is_virtual && "virtual", thread.is_daemon && "daemon", thread.local_count > 0 && counted(thread.local_count, "local")];
  const made = make("details", { ontoggle: () => made.open && made.children.length === 1 && made.append(
    ...(thread.address ? [make("p", { class: "links" }, toObject(thread.address, "Its object"))] : []), stack(thread)) },
  make("summary", {}, make("span", { class: "amount" }, amount(thread.retained_bytes, "bytes")), " ", make("strong", {}, thread.name || "without a name"),
    make("small", {}, facts.filter(Boolean).join(", "))));
  return made;
}

/** Fills the view of the threads. */
export async function heapThreads({ host, view }) {
  const { threads, notes } = await ask(pathOf("threads"), { top: MOST });
  const count = make("output", {});
  const page = make("div", { class: "page", tabIndex: 0, role: "group", "aria-label": view.title });
  const show = (text) => {
    const wanted = text.toLowerCase();
    const has = (thread) => [thread.name ?? "", thread.state ?? "", ...thread.frames.map((it) => it.frame)].some((it) => it.toLowerCase().includes(wanted));
    const found = text ? threads.filter(has) : threads;
    const states = new Map();
    for (const { state: name } of found) states.set(name, (states.get(name) ?? 0) + 1);
    const parts = [...states].sort((a, b) => b[1] - a[1]).map(([name, number]) => `${number.toLocaleString("en-US")} ${name ?? "in no known state"}`);
    count.textContent = [counted(found.length, "thread"), ...parts].join(" · ");
    page.replaceChildren(...found.map(row), ...notes.map((line) => make("p", { class: "hint" }, line)));
  };
  host.append(make("div", { class: "bar" }, searchField(state.question.search, (text) => {
    note({ search: text || undefined });
    show(text);
  }), count), page);
  show(state.question.search ?? "");
}
