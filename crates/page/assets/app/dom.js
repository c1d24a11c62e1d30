// Elements and words.

/** Text as perk's reports show it: what is not seen itself and may change how the rest is seen is escaped. */
export const printable = (text) =>
  String(text).replace(
    /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu,
    (hidden) => `\\u{${hidden.codePointAt(0).toString(16)}}`,
  );

export const byId = (id) => document.getElementById(id);

/** An element with properties and children; texts are text. */
export function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (["title", "aria-label", "placeholder"].includes(name)) made.setAttribute(name, printable(value));
    else if (name in made && !name.startsWith("aria-")) made[name] = value;
    else made.setAttribute(name, value);
  }
  const isChild = (child) => child !== null && child !== undefined && child !== false;
  made.append(...children.filter(isChild).map((child) => (child instanceof Node ? child : printable(child))));
  return made;
}

/** Ends the task: the browser can draw before what follows. */
export const pause = () => new Promise((done) => setTimeout(done));

export const counted = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
