// A service of a store: the part of the time that is looked at, and the labels of its recordings.

import { ask } from "./api.js";
import { byId, make } from "./dom.js";
import { change, state } from "./state.js";

/** The ranges, as the address has them; they end with the newest numbers. */
const RANGES = { "1h": "last hour", "6h": "last 6 hours", "24h": "last 24 hours", "168h": "last 7 days", "720h": "last 30 days", "": "all" };
/** The range with which a service begins. */
export const FIRST_RANGE = "24h";

let isFilled = false;

/** Fills the place of the range in the header; other sources have none. */
export function fillRange(source) {
  if (source?.kind !== "service") {
    if (isFilled) byId("live").replaceChildren();
    isFilled = false;
    return;
  }
  const asked = state.question.last ?? "";
  const choices = [...Object.entries(RANGES), ...(asked in RANGES ? [] : [[asked, `last ${asked}`]])];
  const list = make("select", {
    "aria-label": "Time", title: `Numbers of ${source.name} from ${minuteText(source.begin)} to ${minuteText(source.modified)}`,
    onchange: () => change({ last: list.value || undefined, from: undefined, to: undefined, at: undefined, root: undefined, node: undefined }),
  }, ...choices.map(([value, text]) => new Option(text, value)));
  list.value = asked;
  byId("live").replaceChildren(list);
  isFilled = true;
}

/** A time in milliseconds for people. */
export const minuteText = (ms) => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;

/** The labels of the recordings of what is shown: their keys, and how many values each has. */
export async function labelsOf(source, { last, from, to, label }) {
  return (await ask(`${encodeURIComponent(source)}/labels`, { last, from, to, label })).labels;
}
