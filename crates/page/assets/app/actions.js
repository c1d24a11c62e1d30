// What can be done with a method: links and a button of the selected item, each with its key.

import { byId, make } from "./dom.js";
import { addressOf, state } from "./state.js";

/** The pattern that matches a method by its name: what no pattern has may be any text. */
export const patternOf = (name) => String(name).replace(/\(.*/s, "").replace(/[\s\\/;:,[\]()"'\p{Cc}]/gu, "*");

/** A link with a key. */
const action = (text, key, href) => make("a", { href, "aria-keyshortcuts": key, title: `Key ${key}` }, text);

/** Puts a text where it can be pasted. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without https, a page may copy what is selected.
    const field = make("textarea", { value: text, class: "unseen", "aria-hidden": "true" });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

/** A button that copies a name. */
export function copyButton(name) {
  const button = make("button", { type: "button", class: "link", "aria-keyshortcuts": "y", title: "Key y", onclick: async () => {
    await copy(name);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy name"; }, 1500);
  } }, "Copy name");
  return button;
}

/** The address of this view with other filters. */
function filtered(name, pattern, isAdded) {
  const others = isAdded ? [state.question[name] ?? []].flat().filter((it) => it !== pattern) : [];
  return addressOf(state.view, { ...state.question, [name]: [...others, pattern], at: undefined, root: undefined, node: undefined });
}

/** Links of a method by its name. `lines` says whether its lines are known. */
export function methodActions(name, { lines = true } = {}) {
  const pattern = patternOf(name);
  return make("p", { class: "links" },
    state.view !== "method" || state.question.method !== pattern
      ? action("Callers and callees", "m", addressOf("method", { method: pattern })) : null,
    action("Focus on this", "f", filtered("focus", pattern, false)),
    action("Ignore", "i", filtered("ignore", pattern, true)),
    action("Hide", "x", filtered("hide", pattern, true)),
    lines ? action("Lines", "l", addressOf("lines", { search: pattern })) : null,
    copyButton(name),
  );
}

// The keys of the selected item's links.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select, textarea")) return;
  if (!/^[a-z]$/.test(event.key) || byId("help")?.open) return;
  const target = byId("side").querySelector(`[aria-keyshortcuts="${event.key}"]`);
  if (!target) return;
  event.preventDefault();
  target.click();
});
