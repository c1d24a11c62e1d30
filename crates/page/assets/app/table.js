// A table of as many rows as the server has: those in view are asked for and drawn.

import { byId, counted, make } from "./dom.js";
import { amount, nameOf, titleOf } from "./numbers.js";
import { state } from "./state.js";

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
    this.columns = null;
    this.body = make("tbody");
    this.head = make("thead");
    this.grid = make("table", { class: "grid", role: "grid", "aria-label": label }, this.head, this.body);
    this.element = make("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": label }, this.grid);
    this.element.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.schedule()).observe(this.element);
  }

  /** Asks for the first rows; the answer has the columns. */
  async start() {
    const first = Math.max(0, Math.floor(this.at / PAGE));
    await this.#page(first);
    this.#fillHead();
    this.grid.setAttribute("aria-rowcount", this.total + 1);
    if (this.at >= this.total) this.at = -1;
    if (this.at >= 0) this.#reveal();
    this.draw();
    if (this.at >= 0) this.onSelect(this.row(this.at), this.at, this.columns);
    return this;
  }

  async #page(index) {
    if (this.pages.has(index)) return;
    this.pages.set(index, null);
    const answer = await this.load(index * PAGE, PAGE);
    if (!this.columns) {
      this.columns = answer.columns;
      this.shown = this.choose(answer).map((column) => ({ ...column, place: answer.columns.indexOf(column) }));
    }
    this.total = answer.total_rows;
    this.answer ??= answer;
    this.pages.set(index, answer.rows);
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
    const answers = await Promise.all([...pages].filter((page) => Math.abs(page - top) <= 1).map(async (page) => [page, await this.load(page * PAGE, PAGE)]));
    if (answers.length === 0) return;
    const [, first] = answers[0];
    const isSame = this.columns && first.columns.map((it) => it.id).join() === this.columns.map((it) => it.id).join();
    if (!isSame) {
      this.columns = first.columns;
      this.shown = this.choose(first).map((column) => ({ ...column, place: first.columns.indexOf(column) }));
      this.#fillHead();
    }
    this.pages = new Map(answers.map(([page, answer]) => [page, answer.rows]));
    [this.total, this.answer] = [first.total_rows, first];
    this.grid.setAttribute("aria-rowcount", this.total + 1);
    const found = key === undefined ? undefined : answers.map(([page, { rows }]) => [page, rows.findIndex((row) => row[place] === key)]).find((it) => it[1] >= 0);
    if (found) this.at = found[0] * PAGE + found[1];
    this.draw();
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

  draw() {
    if (!this.columns) return;
    const { element } = this;
    const from = Math.max(0, Math.floor(element.scrollTop / ROW) - MARGIN);
    const to = Math.min(this.total, Math.ceil((element.scrollTop + element.clientHeight) / ROW) + MARGIN);
    for (let page = Math.floor(from / PAGE); page <= Math.floor(Math.max(0, to - 1) / PAGE); page++) {
      if (!this.pages.has(page)) this.#page(page).catch((error) => this.onFault?.(error));
    }
    const space = (rows) => {
      const cell = make("td", { colSpan: this.shown.length });
      cell.style.height = `${rows * ROW}px`;
      return make("tr", { class: "space", "aria-hidden": "true" }, cell);
    };
    const rows = [];
    if (from > 0) rows.push(space(from));
    for (let index = from; index < to; index++) rows.push(this.#row(index));
    if (to < this.total) rows.push(space(this.total - to));
    if (this.total === 0) {
      rows.push(make("tr", {}, make("td", { colSpan: this.shown.length, class: "empty" }, "no rows")));
    }
    this.body.replaceChildren(...rows);
    // The selected row has the focus of readers.
    if (this.body.querySelector(".selected")) element.setAttribute("aria-activedescendant", "selected-row");
    else element.removeAttribute("aria-activedescendant");
  }

  #row(index) {
    const row = this.row(index);
    const isSelected = index === this.at;
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
    const made = make("tr", { "aria-rowindex": index + 2, class: isSelected ? "selected" : "" }, ...cells);
    if (isSelected) made.id = "selected-row";
    made.ariaSelected = String(isSelected);
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

/** Says how many rows a table has. */
export const rowCount = (table) => counted(table.total, "row");

/** What an answer says beside its rows: without the name of the file, and without what the foot says of all views. */
export function notesOf({ answer, total }) {
  const known = byId("conditions").textContent;
  const plain = (note) => (state.path && note.startsWith(`${state.path}: `) ? note.slice(state.path.length + 2) : note);
  const notes = (answer.notes ?? []).map(plain).filter((note) => !known.includes(note));
  return [...notes, ...(total === 0 ? answer.missing ?? [] : [])];
}

/** Puts a field that searches the view into the header: the address has the text. */
export function searchField(text, onSearch) {
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
