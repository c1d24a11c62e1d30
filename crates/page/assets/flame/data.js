// The data of the page, and the value that it shows.

import { namesOf } from "./names.js";
import { Model } from "./model.js";

export const data = JSON.parse(document.getElementById("perk-data").textContent);
export const by = (id) => document.getElementById(id);

/** Text as perk's reports show it: what is not seen itself and may change how the rest is seen is escaped. */
export const printable = (text) =>
  text.replace(
    /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu,
    (hidden) => `\\u{${hidden.codePointAt(0).toString(16)}}`,
  );
data.strings = data.strings.map(printable);
data.notes = data.notes.map(printable);
data.app = data.app?.map(printable);
if (data.before !== undefined) data.before = printable(data.before);
export const account = data.accounting
  ? new Map(data.accounting.split("\n").map(printable).map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]))
  : null;
export const names = namesOf(data);
/** The values that the page can show; the first comes first. */
export const parts = [data, ...(data.others ?? [])];
/** The value that the page is about, its tree with all threads and frames, its name, and the CPU time of a sample. */
export let part, source, value, interval;

/** Makes a value the one that the page is about. */
export function take(index) {
  part = parts[index];
  part.source ??= Model.read(data, part.nodes, names);
  source = part.source;
  value = printable(part.value ?? "samples");
  interval = value === "samples" ? Number(account?.get("interval_ns") ?? 0) : 0;
}
take(0);
