// Questions to the server.

import { moment } from "./state.js";

/** An answer of the server that is no answer. */
export class Fault extends Error {
  constructor(status, line) {
    super(line);
    this.status = status;
  }
}

async function answer(response) {
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Fault(response.status, body.error ?? `the server answers ${response.status}`);
}

/** Gives the token of the address for a cookie, and takes it out of the address. */
export async function begin() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  await answer(await fetch("/api/session", { method: "POST", body: token }));
}

/** A question about a running JVM that follows it: the part that is shown now, so that all views show the same. */
export function resolved(path, { last, ...question }) {
  const [source, what] = path.split("/");
  const isIts = moment.source && source === encodeURIComponent(moment.source) && what !== "live";
  const isAfter = source === "diff" && question.after === moment.source;
  if (!isIts && !isAfter) return { last, ...question };
  const { from, to, ...rest } = question;
  const part = from === undefined && to === undefined ? moment : { from, to };
  return isIts ? { ...rest, from: part.from, to: part.to } : { "after-from": part.from, "after-to": part.to, ...rest };
}

/** The version of each file that is shown: all questions are about that one. Running JVMs have none. */
const versions = new Map();
const files = new Set();

/** Takes the sources that are files. */
export function holdVersions(sources) {
  for (const source of sources) if (source.kind !== "jvm") files.add(source.id);
}

/** Asks about the files as they are now, from here on. */
export const forgetVersions = () => versions.clear();

/** The version of a source that is shown; without any, `undefined`. */
export const shownVersion = (source) => versions.get(source);

/** The JSON of an address below `/api/`. A question that is asked again takes the place of the one before. */
export async function ask(path, question = {}, { signal } = {}) {
  const query = new URLSearchParams();
  const [source, isOfSource] = path.split("/").map(decodeURIComponent);
  const isKnown = isOfSource !== undefined && versions.has(source);
  for (const [name, value] of Object.entries(resolved(path, isKnown ? { ...question, version: versions.get(source) } : question))) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") query.append(name, one);
  }
  const text = query.toString();
  let response;
  try {
    response = await fetch(`/api/${path}${text && `?${text}`}`, { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Fault(0, "perk serve does not answer: it may have ended");
  }
  const version = (await answer(response)).headers.get("perk-version");
  if (version && isOfSource !== undefined && files.has(source) && !versions.has(source)) versions.set(source, version);
  return response.json();
}
