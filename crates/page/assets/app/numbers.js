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
  (title || id).replace(/ percent$/, " %").replace(/\bcpu ns$/, "CPU").replace(/ (ns|bytes|count)$/, "");

/** The package, the class and the rest of a method's name: `a.b`, `C.m(int)`. */
export function split(name) {
  // A signature of the JVM's says little to a reader.
  const text = String(name).replace(/\([^()]*\)[A-Z[][^ ]*(?= |$)/, "");
  const end = text.search(/[(<\s]/);
  const head = end < 0 ? text : text.slice(0, end);
  const parts = head.split(".");
  if (parts.length < 3 || text.startsWith("[")) return { packageName: "", short: text };
  const kept = parts.slice(-2).join(".");
  return { packageName: parts.slice(0, -2).join("."), short: kept + text.slice(head.length) };
}

/** A name, its package small behind it. */
export function nameOf(name) {
  const { packageName, short } = split(name);
  return make("span", { title: String(name), class: "name" }, short, packageName && make("small", {}, packageName));
}
