// What is shown: a file, a view and a question, which are the address.

/** The parts of a question that hold in every view. */
export const FILTERS = ["metric", "focus", "ignore", "hide", "label", "thread", "by", "from", "to", "last"];
const listeners = [];

/** The part of a running JVM's recording that is shown now: all questions about the source are about it. */
export const moment = { source: "", from: undefined, to: undefined };

/** `path` is how the server names the file in its notes, `kind` what the source is. */
export const state = { source: "", view: "", question: {}, path: "", kind: "" };

/** Reads the address. */
function read() {
  const [, s, source, view] = location.pathname.split("/");
  state.source = s === "s" && source ? decodeURIComponent(source) : "";
  state.view = view ?? "";
  state.question = {};
  for (const [name, value] of new URLSearchParams(location.search)) {
    const known = state.question[name];
    state.question[name] = known === undefined ? value : [known, value].flat();
  }
}

/** The address of a view of a file with a question. */
export function address(source, view, question = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(question)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") query.append(name, one);
  }
  const text = query.toString();
  const path = source ? `/s/${encodeURIComponent(source)}${view ? `/${view}` : ""}` : "/";
  return `${path}${text && `?${text}`}`;
}

/** The filters of the question. */
export const filters = (question = state.question) =>
  Object.fromEntries(FILTERS.filter((name) => question[name] !== undefined).map((name) => [name, question[name]]));

/** The address of another view of the same file, with the same filters. */
export const addressOf = (view, question = {}) => address(state.source, view, { ...filters(), ...question });

/** Shows another address. */
export function go(to, { isStep = true } = {}) {
  if (to === location.pathname + location.search) return;
  history[isStep ? "pushState" : "replaceState"](null, "", to);
  read();
  for (const listener of listeners) listener();
}

/** Changes parts of the question; `undefined` takes one out. */
export const change = (parts, options) => go(address(state.source, state.view, { ...state.question, ...parts }), options);

/** Notes a part of the question in the address, without showing anything anew. */
export function note(parts) {
  Object.assign(state.question, parts);
  for (const [name, value] of Object.entries(parts)) if (value === undefined) delete state.question[name];
  history.replaceState(null, "", address(state.source, state.view, state.question));
}

/** What the address has of a table: its order, of the columns that `sorts` names, and the selected row. */
export const inAddress = (question, sorts = () => true) => ({
  sort: question.sort,
  order: question.order,
  at: question.at === undefined ? -1 : Number(question.at),
  onSort: (id, order) => sorts(id) && change({ sort: id, order, at: undefined }),
});

/** Calls `listener` whenever another address is shown. */
export function listen(listener) {
  listeners.push(listener);
}

addEventListener("popstate", () => {
  read();
  for (const listener of listeners) listener();
});
read();
