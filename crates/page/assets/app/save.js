// What can be saved of what is shown: its picture and its numbers, and the filtered profile.

import { resolved } from "./api.js";
import { printable } from "./dom.js";
import { dumpThreads, isRunning } from "./live.js";
import { filters, state } from "./state.js";

/** The formats of the filtered profile. */
const FORMATS = { svg: "flame graph as SVG", html: "flame graph as a page", pprof: "pprof", jfr: "JFR recording", collapsed: "collapsed stacks", speedscope: "speedscope", hprof: "HPROF of perk" };

/** Gives a file to the browser's downloads. */
function download(address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}

/** The address of a file that the server makes of the question. */
function exported(form, more = {}) {
  const query = new URLSearchParams({ as: form });
  for (const [name, value] of Object.entries({ ...resolved(`${encodeURIComponent(state.source)}/export`, filters()), method: state.question.method, ...more })) {
    for (const one of [value].flat()) if (one !== undefined) query.append(name, one);
  }
  return `/api/${encodeURIComponent(state.source)}/export?${query}`;
}

/** A picture as PNG. */
async function savePicture(picture, name) {
  const canvas = await picture();
  const blob = await new Promise((ok) => canvas.toBlob(ok, "image/png"));
  if (!blob) throw new Error("the browser cannot make a picture this large");
  const address = URL.createObjectURL(blob);
  download(address, name);
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** The entries of the menu. */
export function saves({ view, isHeap, isTable, picture, onFault }) {
  const of = (title, run) => ({ title, run });
  const name = printable(`perk-${view.id}`);
  const entries = [`${view.title}`];
  if (picture) entries.push(of("picture (PNG)", () => savePicture(picture, `${name}.png`).catch(onFault)));
  if (isHeap) {
    const { id, what, class: className } = state.question;
    const query = new URLSearchParams(Object.entries({ id, what, class: className }).filter((it) => it[1] !== undefined));
    const address = `/api/${encodeURIComponent(state.source)}/heap/${view.id}`;
    entries.push(of("numbers (JSON)", () => download(`${address}?${query}`, `${name}.json`)));
    return entries;
  }
  const { tree, min } = { ...view.defaults, ...state.question };
  if (isTable) entries.push(of("table (CSV)", () => download(exported("csv", view.id === "tree" ? { view: "tree", tree, min } : { view: view.id }), `${name}.csv`)));
  entries.push(of("all numbers (JSON)", () => download(exported("json"), "perk-profile.json")));
  if (isRunning()) entries.push(of("thread dump (text)", () => dumpThreads().catch(onFault)));
  entries.push("The profile, filtered as shown", ...Object.entries(FORMATS).map(([form, title]) => of(title, () => location.assign(exported(form)))));
  return entries;
}
