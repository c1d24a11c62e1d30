// A table of as many rows as the server has: those in view are asked for and drawn.

import { ask } from "./api.js";
import { byId, counted, make, pause } from "./dom.js";
import { amount, nameOf, titleOf } from "./numbers.js";
import { change, inAddress, state } from "./state.js";

const ROW = 24;
const PAGE = 200;
/** The columns that name a row. */
const KEYS = ["path", "name", "thread", "class", "callee", "site"];
/** Rows beyond the edges that are drawn. */
const MARGIN = 12;

/** Code that a reader can do little about. */
const JDK = /^(java|javax|jdk|sun|com\.sun)\./;

/** A path in a line: the frame on top, and the first below it that is not of the JDK. */
function pathOf(path) {
  const frames = path.split("; ");
  const own = frames.find((frame) => !JDK.test(frame)) ?? frames[0];
  return own === frames[0] ? [nameOf(own)] : [nameOf(own), " › ", nameOf(frames[0])];
}

const idsOf = (columns) => columns?.map((column) => column.id).join();

export class Table {
  /**
   * `load` gives the answer of an offset; `onSort`, `onSelect` and `onOpen` say what the user did. `sort` and `order` are
   * those of the question, `at` is the selected row. `choose` gives the columns that are shown, of the answer; `cell`
   * gives the text of a number whose unit the column does not know.
   */
  constructor({ load, choose, cell = () => null, onSort, onSelect, onOpen, onFault, sort, order, at = -1, label }) {
    Object.assign(this, { load, choose, cell, onSort, onSelect, onOpen, onFault, sort, order, at });
    this.pages = new Map();
    this.total = 0;
    /** The number of the last question: answers to earlier ones are left out. */
    this.turn = 0;
    this.columns = null;
    this.shown = [];
    this.body = make("tbody");
    this.head = make("thead");
    /** The rows that are drawn, by their place, and two that have the room of those before and after them. */
    this.drawn = new Map();
    const space = () => make("tr", { class: "space", "aria-hidden": "true" }, make("td", {}));
    [this.above, this.below] = [space(), space()];
    this.columnsHost = make("colgroup");
    this.grid = make("table", { class: "grid", role: "grid", "aria-label": label }, this.columnsHost, this.head, this.body);
    this.element = make("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": label }, this.grid);
    this.element.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => {
      if (this.fixed !== undefined && this.fixed !== this.element.clientWidth) this.#fix();
      this.schedule();
    }).observe(this.element);
  }

  /** Asks for the first rows; the answer has the columns. */
  async start() {
    return this.again(this);
  }

  /** Shows the answer to another question in the same place, from its selected row or the first on. */
  async again({ load, sort, order, at = -1 }) {
    const mine = ++this.turn;
    const first = Math.max(0, Math.floor(at / PAGE));
    const answer = await load(first * PAGE, PAGE);
    await pause();
    if (mine !== this.turn) return this;
    Object.assign(this, { load, sort, order });
    this.pages = new Map([[first, answer.rows]]);
    const isOther = this.#take(answer);
    this.#fillHead();
    this.at = at < this.total ? at : -1;
    this.element.scrollTop = 0;
    this.draw(0);
    if (isOther) this.#fix();
    else requestAnimationFrame(() => this.#isCut() && this.#fix());
    // There is nothing to scroll before the first rows are drawn.
    if (this.at >= 0) {
      this.#reveal();
      this.draw(0);
      this.onSelect(this.row(this.at), this.at, this.columns);
    }
    // The rows beyond the edges follow once these are seen.
    requestAnimationFrame(() => this.schedule());
    return this;
  }

  /** Takes an answer; says whether other columns are shown now. */
  #take(answer) {
    this.#count(answer);
    const before = idsOf(this.shown);
    this.columns = answer.columns;
    this.shown = this.choose(answer).map((column) => ({ ...column, place: answer.columns.indexOf(column) }));
    return before !== idsOf(this.shown);
  }

  #count(answer) {
    [this.total, this.answer] = [answer.total_rows, answer];
    this.grid.setAttribute("aria-rowcount", this.total + 1);
  }

  /** Whether a number is wider than its column. */
  #isCut() {
    return [...this.body.querySelectorAll("td.number")].some((cell) => cell.scrollWidth > cell.clientWidth);
  }

  async #page(index) {
    const { pages } = this;
    if (pages.has(index)) return;
    pages.set(index, null);
    const answer = await this.load(index * PAGE, PAGE);
    pages.set(index, answer.rows);
    // Rows of the question before are none of this one.
    if (pages !== this.pages) return;
    this.total = answer.total_rows;
    this.schedule();
  }

  /** A row, if it is there. */
  row(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Asks anew for the rows in view, whose numbers have changed; the selected row stays the one of its name. */
  async refresh() {
    const pages = new Set(this.pages.keys());
    const place = this.columns?.findIndex((column) => KEYS.includes(column.id)) ?? -1;
    const key = this.row(this.at)?.[place];
    const top = Math.floor(this.element.scrollTop / ROW / PAGE);
    const mine = this.turn;
    const answers = await Promise.all([...pages].filter((page) => Math.abs(page - top) <= 1).map(async (page) => [page, await this.load(page * PAGE, PAGE)]));
    if (answers.length === 0 || mine !== this.turn) return;
    const [[, first]] = answers;
    const isOther = idsOf(first.columns) !== idsOf(this.columns);
    if (isOther) {
      this.#take(first);
      this.#fillHead();
    } else {
      this.#count(first);
    }
    this.pages = new Map(answers.map(([page, answer]) => [page, answer.rows]));
    const found = key === undefined ? undefined : answers.map(([page, { rows }]) => [page, rows.findIndex((row) => row[place] === key)]).find((it) => it[1] >= 0);
    if (found) this.at = found[0] * PAGE + found[1];
    this.draw();
    if (isOther) this.#fix();
    if (found) this.onSelect(this.row(this.at), this.at, this.columns);
  }

  schedule() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  #fillHead() {
    const cells = this.shown.map((column, index) => {
      const isSorted = this.sort ? this.sort === column.id : false;
      const button = make("button", { type: "button", onclick: () => this.#sortBy(column) }, titleOf(column));
      const isNumber = column.kind === "number";
      const cell = make("th", { scope: "col", class: isNumber ? "number" : "" }, button);
      cell.setAttribute("aria-colindex", index + 1);
      if (isSorted) cell.ariaSort = this.order === "asc" ? "ascending" : "descending";
      return cell;
    });
    this.head.replaceChildren(make("tr", { "aria-rowindex": 1 }, ...cells));
  }

  #sortBy(column) {
    const isDown = this.sort === column.id ? this.order !== "desc" : column.kind === "number";
    this.onSort(column.id, isDown ? "desc" : "asc");
  }

  /** Draws the rows in view, and `margin` rows beyond each edge. */
  draw(margin = MARGIN) {
    if (!this.columns) return;
    const { element, body } = this;
    const from = Math.max(0, Math.floor(element.scrollTop / ROW) - margin);
    const to = Math.min(this.total, Math.ceil((element.scrollTop + element.clientHeight) / ROW) + margin);
    for (let page = Math.floor(from / PAGE); page <= Math.floor(Math.max(0, to - 1) / PAGE); page++) {
      if (!this.pages.has(page)) this.#page(page).catch((error) => this.onFault?.(error));
    }
    // Rows that stay in view stay what they are: only others are made and laid out.
    for (const [index, made] of this.drawn) {
      if (index >= from && index < to && made.of === (this.row(index) ?? null)) continue;
      made.remove();
      this.drawn.delete(index);
    }
    this.#space(this.above, from, (space) => body.prepend(space));
    this.#space(this.below, this.total - to, (space) => body.append(space));
    let before = from > 0 ? this.above : null;
    for (let index = from; index < to; index++) {
      let made = this.drawn.get(index);
      if (!made) {
        made = this.#row(index);
        made.of = this.row(index) ?? null;
        this.drawn.set(index, made);
        if (before) before.after(made);
        else body.prepend(made);
      }
      before = made;
      const isSelected = index === this.at;
      if ((made.id === "selected-row") === isSelected) continue;
      made.id = isSelected ? "selected-row" : "";
      made.classList.toggle("selected", isSelected);
      made.ariaSelected = String(isSelected);
    }
    this.nothing?.remove();
    if (this.total === 0) {
      this.nothing = make("tr", {}, make("td", { colSpan: this.shown.length, class: "empty" }, "no rows"));
      body.append(this.nothing);
    }
    // The selected row has the focus of readers.
    if (this.drawn.has(this.at)) element.setAttribute("aria-activedescendant", "selected-row");
    else element.removeAttribute("aria-activedescendant");
  }

  /** Gives a row the room of others, or takes it away where there are none. */
  #space(space, count, put) {
    space.firstChild.style.height = `${count * ROW}px`;
    space.firstChild.colSpan = this.shown.length;
    if (count <= 0) space.remove();
    else if (!space.isConnected) put(space);
  }

  /** Gives the columns the widths that their first rows need, so that none moves while the table is scrolled. */
  #fix() {
    const { grid, head, columnsHost } = this;
    grid.style.tableLayout = "auto";
    grid.style.minWidth = "";
    columnsHost.replaceChildren();
    const widths = [...head.rows[0].cells].map((cell) => Math.ceil(cell.getBoundingClientRect().width));
    if (widths.every((width) => width === 0)) return;
    const whole = Math.floor(grid.getBoundingClientRect().width);
    columnsHost.replaceChildren(...widths.map((width, place) => {
      const column = make("col", {});
      if (place < widths.length - 1) column.style.width = `${width}px`;
      return column;
    }));
    grid.style.minWidth = `${whole}px`;
    grid.style.tableLayout = "fixed";
    this.fixed = this.element.clientWidth;
  }

  #row(index) {
    const row = this.row(index);
    const depth = this.columns.findIndex((column) => column.id === "depth");
    const cells = this.shown.map((column) => {
      const value = row?.[column.place];
      if (!row) return make("td", {}, column === this.shown[0] ? "…" : "");
      const text = this.cell(row, column, this.columns);
      if (text !== null) return make("td", { class: "number" }, text);
      if (column.kind === "number") {
        const cell = make("td", { class: "number" }, amount(value, column.unit));
        if (column.unit === "percent" && typeof value === "number") {
          cell.style.setProperty("--share", `${Math.max(0, Math.min(100, value))}%`);
          cell.classList.add("share");
        }
        return cell;
      }
      if (column.kind === "path") return make("td", { class: "path", title: value ?? "" }, ...(value ? pathOf(value) : []));
      const cell = make("td", { title: value ?? "" }, !value ? "" : column.kind === "method" ? nameOf(value) : column.kind === "class" ? nameOf(value, 1) : value);
      if (depth >= 0 && ["method", "class"].includes(column.kind)) cell.style.paddingLeft = `${8 + 12 * Math.min(row[depth], 40)}px`;
      return cell;
    });
    const made = make("tr", { "aria-rowindex": index + 2 }, ...cells);
    made.ariaSelected = "false";
    made.addEventListener("click", () => this.select(index));
    made.addEventListener("dblclick", () => row && this.onOpen(row, this.columns));
    return made;
  }

  async select(index) {
    if (index < 0 || index >= this.total) return;
    this.at = index;
    this.#reveal();
    await this.#page(Math.floor(index / PAGE));
    this.draw();
    this.onSelect(this.row(index), index, this.columns);
  }

  /** Scrolls as little as shows the selected row. */
  #reveal() {
    const { element, at } = this;
    const top = at * ROW;
    const height = Math.max(ROW, element.clientHeight - 2 * ROW);
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + height) element.scrollTop = top - height;
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 2);
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -this.total, End: this.total };
    if (event.key === "Enter") {
      const row = this.row(this.at);
      if (row) this.onOpen(row, this.columns);
    } else if (steps[event.key] !== undefined) {
      const to = this.at < 0 ? (steps[event.key] > 0 && event.key !== "End" ? 0 : this.at + steps[event.key]) : this.at + steps[event.key];
      this.select(Math.max(0, Math.min(this.total - 1, to)));
    } else {
      return;
    }
    event.preventDefault();
  }
}

/** What the address says of a table: the rows that `path` has of these parts, in its order unless the view has one. */
export function inTable(path, parts, { isOrdered }) {
  const { sort, order, at } = state.question;
  const asked = isOrdered ? parts : { ...parts, sort, order };
  return {
    load: (offset, limit) => ask(path, { ...asked, offset, limit }),
    ...inAddress(isOrdered ? { at } : { sort, order, at }, () => !isOrdered),
  };
}

/** Says how many rows a table has. */
export const rowCount = (table) => counted(table.total, "row");

/** What an answer says beside its rows: without the name of the file, and without what the foot says of all views. */
export function notesOf({ answer, total }) {
  const known = byId("conditions").textContent;
  const plain = (note) => (state.path && note.startsWith(`${state.path}: `) ? note.slice(state.path.length + 2) : note);
  // A page has no options.
  const notes = (answer.notes ?? []).map((note) => plain(note).replace(/^--\w+ \w+: /, "")).filter((note) => !known.includes(note));
  return [...notes, ...(total === 0 ? answer.missing ?? [] : [])];
}

/** Puts a field that searches the view into the header: the address has the text. */
export function searchField(text, onSearch = (found) => change({ search: found || undefined, at: undefined }, { isStep: false })) {
  const field = make("input", {
    type: "search", id: "search", value: text ?? "", placeholder: "Search", autocomplete: "off", spellcheck: false,
    "aria-keyshortcuts": "/", "aria-label": "Search rows",
  });
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => onSearch(field.value), 150);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") byId("view").querySelector(".scroll, .chart")?.focus();
  });
  byId("find").replaceChildren(field);
  return null;
}
