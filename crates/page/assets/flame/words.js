// Words and numbers as a person reads them.

import { part, value } from "./data.js";
import { bytes, duration } from "./units.js";

export const number = (value) => value.toLocaleString("en-US");
export const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
export const percent = (part, whole) => `${(whole > 0 ? (100 * part) / whole : 0).toFixed(2)} %`;

/** What a value is, for headings. */
export const whatIs = (value) =>
  ({
    allocated: "allocated bytes",
    live: "live bytes",
    objects: "allocated objects",
    live_objects: "live objects",
    jvm: "CPU time of the JVM itself",
    wall: "wall-clock time",
    blocked: "blocked time",
    waited: "waited time",
  })[value] ?? value;

/** The noun of what is counted, null where numbers have a unit of their own; what the page shows. */
export let noun, what;
export function nameValue() {
  noun = { samples: "sample", calls: "call" }[value] ?? (part.unit === "count" ? value : null);
  what = whatIs(value);
}
nameValue();

/** A number of the page, as a person reads it: `1,000`, `12.5 ms`, `1.5 MB`. */
export function amount(count) {
  if (noun) return number(count);
  return part.unit === "nanoseconds" ? duration(count) : bytes(count);
}

/** As `amount`, with what is counted: `1,000 samples`. */
export const amountOf = (count) => (!noun ? amount(count) : part.unit ? `${number(count)} ${what}` : counted(count, noun));

/** A moment as the clock showed it where the profile was made. */
export function date(unixMs, offset) {
  const local = new Date(unixMs + offset * 1000);
  if (Number.isNaN(local.getTime())) return "unknown";
  const minutes = Math.round(Math.abs(offset) / 60);
  const two = (value) => String(value).padStart(2, "0");
  const zone = `${offset < 0 ? "−" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  return `${local.toISOString().slice(0, 19).replace("T", " ")} UTC${zone}`;
}

export function element(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}
