// Numbers with their units, and names that begin with what differs.

import { bytes, duration } from "../flame/units.js";
import { make } from "./dom.js";

/** A number of a unit of the server's. */
export function amount(value, unit) {
  if (value === null || value === undefined) return "";
  if (unit === "ns" || unit === "nanoseconds") return duration(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "percent") return value.toFixed(2);
  return typeof value === "number" ? value.toLocaleString("en-US") : value;
}

/** The title of a column, in words. */
export const titleOf = ({ title, id }) =>
  (title || id).replace(/^(call|execution|instruction)( run)? count$/, "$1s$2").replace(/^(allocated|live) count$/, "$1 objects").replace(/ percent$/, " %").replace(/\bcpu ns$/, "CPU").replace(/ (ns|bytes|count)$/, "");

/** The package, and the last `count` parts with the rest, of a name: `a.b`, `C.m(int)`. */
export function split(name, count = 2) {
  // A signature of the JVM's says little to a reader.
  const text = String(name).replace(/\([^()]*\)[A-Z[][^ ]*(?= |$)/, "");
  const end = text.search(/[(<\s]/);
  const head = end < 0 ? text : text.slice(0, end);
  // The number of a hidden class is a part of its name.
  const parts = head.split(/\.(?!0x)/);
  if (parts.length <= count || text.startsWith("[")) return { packageName: "", short: text };
  const kept = parts.slice(-count).join(".");
  return { packageName: parts.slice(0, -count).join("."), short: kept + text.slice(head.length) };
}

/** A name of a method, or with `count` 1 of a class, its package small behind it. */
export function nameOf(name, count = 2) {
  const { packageName, short } = split(name, count);
  return make("span", { title: String(name), class: "name" }, short, packageName && make("small", {}, packageName));
}
