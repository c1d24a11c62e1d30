// The accesses to fields: columns, order, search, and what there is to say of a field. The page of one file and the
// server show the same.

const inWords = (number) => number.toLocaleString("en");
const plural = (number, noun) => `${inWords(number)} ${noun}${number == 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
const shareOfAll = (part, all) => (all > 0 ? 100 * Number(part) / Number(all) : 0);
const inPercent = (number) => number.toFixed(2);
const sum = (...numbers) => numbers.reduce((all, it) => all + Number(it), 0);
const exactSum = (a, b) => BigInt(a) + BigInt(b);
// Numbers above 2^53 come as text.
const exact = (column) => column.map((it) => (typeof it === "string" ? BigInt(it) : it));

/** The four kinds of accesses, with the classes of their colours. */
export const ACCESSES = { or: "reads by the owner", xr: "reads by others", ow: "writes by the owner", xw: "writes by others" };

const BY_OTHER_MEANS = "by other means: arraycopy, clone, reflection, VarHandle, Unsafe, JNI";

export class FieldsModel {
  /** Of the data of a page. */
  constructor(data) {
    this.data = data;
    const [objects, unknown, shared, othersWrote, readOnly, ...counts] = data.numbers.map(exact);
    const [classes, owners, fields, types] = data.names.map((column) => column.map((place) => data.strings[place]));
    // The same of the accesses by other means, if they were counted.
    Object.assign(this, { unknown, shared, counts, extended: counts.slice(5), classes, types, count: data.todo.length });
    this.fieldNames = fields.map((name, row) => (owners[row] === classes[row] ? name : `${owners[row]}.${name}`));
    this.texts = classes.map((name, row) => `${name} ${name}.${fields[row]} ${this.fieldNames[row]} ${types[row]}`.toLowerCase());
    const [ownerReads, otherReads, ownerWrites, otherWrites] = counts;
    const byOthers = classes.map((_, row) => sum(otherReads[row], otherWrites[row]));
    this.accesses = classes.map((_, row) => sum(byOthers[row], ownerReads[row], ownerWrites[row]));
    this.#order(byOthers);
    this.columns = this.#columns(objects, [shared, othersWrote, readOnly]);
  }

  /** At first the fields that other threads use most, by any means, come first. */
  #order(byOthers) {
    const { extended } = this;
    const withExtended = (numbers, ...more) =>
      (extended.length > 0 ? numbers.map((it, row) => sum(it, ...more.map((column) => extended[column][row]))) : numbers);
    const allByOthers = withExtended(byOthers, 1, 3);
    const all = withExtended(this.accesses, 0, 1, 2, 3);
    this.order = Array.from(this.classes.keys()).sort((a, b) => allByOthers[b] - allByOthers[a] || all[b] - all[a] || a - b);
  }

  /** Of each column: heading, the value by which it is sorted, the text in a cell, and its width. */
  #columns(objects, [shared, othersWrote, readOnly]) {
    const { data, classes, unknown, accesses, extended } = this;
    const known = objects.map((all, row) => Number(all) - Number(unknown[row]));
    const number = (heading, values, title) => ({ heading, title, value: (row) => values[row], text: (row) => inWords(values[row]), width: 7 });
    const part = (heading, values, title) => {
      const value = (row) => shareOfAll(values[row], known[row]);
      return { heading, title, value, text: (row) => inPercent(value(row)), width: 6 };
    };
    const name = (heading, values, width) => ({ heading, value: (row) => values[row], text: (row) => values[row], isName: true, width });
    // The most urgent advice is the lowest bit.
    const urgency = (row) => (data.todo[row] & -data.todo[row]) || 1 << 8;
    const [ownerReads, otherReads, ownerWrites, otherWrites] = this.counts;
    const columns = [
      { heading: "to do", value: urgency, text: (row) => this.adviceOf(row).map(([title]) => title).join(", "), isName: true, width: 10 },
      name("class", classes, 16),
      name("field", this.fieldNames, 13),
      number("objects", objects, "objects of the class"),
      part("shared %", shared, "objects of known site whose field another thread accessed"),
      part("others write %", othersWrote, "objects of known site whose field another thread wrote"),
      part("read only %", readOnly, "objects whose field was read, and written at most once, by the owner"),
      { heading: "accesses", title: "all of objects of known site", value: (row) => accesses[row], text: (row) => inWords(accesses[row]), isBar: true, width: 8 },
      number("reads", ownerReads, "reads by the owner"),
      number("by others", otherReads, "reads by others"),
      number("writes", ownerWrites, "writes by the owner"),
      number("by others", otherWrites, "writes by others"),
    ];
    if (extended.length > 0) {
      columns.push(
        number("reads, other means", extended[0], `reads by the owner ${BY_OTHER_MEANS}`),
        number("by others", extended[1], `reads by others ${BY_OTHER_MEANS}`),
        number("writes, other means", extended[2], `writes by the owner ${BY_OTHER_MEANS}`),
        number("by others", extended[3], `writes by others ${BY_OTHER_MEANS}`),
      );
    }
    return columns;
  }

  /** What to do about a field: pairs of a name and its meaning. */
  adviceOf(row) {
    return this.data.advice.filter((_, index) => this.data.todo[row] & (1 << index));
  }

  /** The parts of the accesses of a row, in percent, by their class. */
  parts(row) {
    return Object.keys(ACCESSES).map((kind, place) => [kind, shareOfAll(this.counts[place][row], this.accesses[row])]);
  }

  /** What the bar of a row says. */
  barTitle(row) {
    return plural(this.accesses[row], "access");
  }

  /** The choices of what to do that any field has: pairs of a value and its text. */
  choices() {
    const { data } = this;
    const kinds = data.advice.flatMap(([title], index) => (data.todo.some((bits) => bits & (1 << index)) ? [[String(index), `To do: ${title}`]] : []));
    return [["all", "All fields"], ["shared", "Shared fields"], ...kinds];
  }

  /** The meaning of a choice. */
  meaning(todo) {
    return this.data.advice[Number(todo)]?.[1] ?? "";
  }

  /** The rows in the order of a column. */
  sorted(index, isDescending) {
    const values = Array.from(this.classes.keys(), this.columns[index].value);
    const sign = isDescending ? -1 : 1;
    return [...this.order].sort((a, b) => (values[a] < values[b] ? -sign : values[a] > values[b] ? sign : a - b));
  }

  /** The rows of `order` with these words, to which a choice applies; a word after - must not be there. */
  found(order, text, todo) {
    const words = text.toLowerCase().split(/\s+/).filter((word) => word && word !== "-");
    const isMeant = (row) => (todo === "all" || (todo === "shared" ? this.shared[row] > 0 : this.data.todo[row] & (1 << Number(todo))))
      && words.every((word) => (word[0] === "-" ? !this.texts[row].includes(word.slice(1)) : this.texts[row].includes(word)));
    return order.filter(isMeant);
  }

  /** How many of all fields are shown. */
  countOf(found) {
    return `${inWords(found.length)} of ${inWords(this.count)} fields`;
  }

  /** The whole names of a field, the advice, and what is not judged. */
  describe(row) {
    const unknownAll = exactSum(this.counts[4][row], this.extended[4]?.[row] ?? 0);
    const kept = this.unknown[row] > 0
      ? ` Not judged: ${plural(this.unknown[row], "object")} of unknown site, with ${plural(unknownAll, "access")}.`
      : "";
    const advice = this.adviceOf(row).map(([name, meaning]) => ` ${name}: ${meaning}.`).join("");
    const type = this.types[row] === "?" ? "" : `${this.types[row]} `;
    return `${this.classes[row]}: ${type}${this.fieldNames[row]}.${advice}${kept}`;
  }

  /** What there is in all: the objects; the accesses by other means and what is not judged, where there are any. */
  facts() {
    const total = exact(this.data.total);
    const ofTotal = (first) => {
      const [ownersReads, othersReads, ownersWrites, othersWrites] = total.slice(first);
      const others = sum(othersReads, othersWrites);
      const both = sum(ownersReads, ownersWrites, others);
      return `${plural(both, "access")}, ${inWords(others)} of them by other threads than the owner (${inPercent(shareOfAll(others, both))} %)`;
    };
    const shares = inPercent(shareOfAll(total[2], Number(total[0]) - Number(total[1])));
    return {
      total: `${plural(total[0], "object")}, ${inWords(total[2])} of them shared between threads (${shares} %); ${ofTotal(5)}`,
      extended: this.extended.length > 0
        ? `By other means (arraycopy, clone, reflection, VarHandle, Unsafe, JNI): ${ofTotal(10)}. They have columns of their own; objects and advice are judged by both.`
        : null,
      unknown: total[1] > 0
        ? `Not judged: ${plural(total[1], "object")} of unknown site, with ${plural(exactSum(total[9], total[14] ?? 0), "access")}: the file does not say which thread made them.`
        : null,
    };
  }
}
