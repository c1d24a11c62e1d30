// A button that opens a list of things to do.

import { make } from "./dom.js";

/**
 * Opens the menu `list` at `button`. `items` gives what it has now: texts are headings, others have a `title` and what
 * they `run`.
 */
export function menu(button, list, items) {
  const entries = () => [...list.querySelectorAll("button")];
  const open = () => {
    list.replaceChildren(...items().map((item) => {
      if (typeof item === "string") return make("div", { class: "hint", role: "presentation" }, item);
      const run = () => {
        list.hidePopover();
        button.focus();
        item.run();
      };
      return make("button", { type: "button", role: "menuitem", tabIndex: -1, onclick: run }, item.title);
    }));
    list.showPopover();
    entries()[0]?.focus();
  };
  button.ariaExpanded = "false";
  // The press that closes an open menu is the same that would open it again.
  let isOpen = false;
  button.addEventListener("pointerdown", () => { isOpen = list.matches(":popover-open"); });
  button.addEventListener("click", () => {
    if (!isOpen) open();
    isOpen = false;
  });
  list.addEventListener("toggle", (event) => { button.ariaExpanded = String(event.newState === "open"); });
  list.addEventListener("keydown", (event) => {
    const all = entries();
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) all[(to + all.length) % all.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") {
      list.hidePopover();
      button.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
