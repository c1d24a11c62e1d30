// Source files with the numbers of each line: the table of the files, and the lines of one. The page of one file and
// the server show the same.

import { counted, make } from "../app/dom.js";

/** A number with separators; it may come as digits, as scripts do not have large ones. */
export const separated = (number) => BigInt(number).toLocaleString("en");
// Counts come as digits, times and sizes with their unit.
const withUnit = (text) => (/^\d+$/.test(text) ? separated(text) : text);
const twoDigits = (part) => part.toFixed(2);
const ratio = (part, all) => (all > 0 ? (100 * part) / all : 0);

/** What the colours of lines mean. */
export const COVERAGE = { whole: "all instructions of the line ran", part: "some never ran", never: "none ran" };

function meter(file) {
  const [all, run, inPart] = file.lines;
  const it = make("span", { class: "meter", title: counted(all, "line") });
  for (const [name, count] of [["whole", run - inPart], ["part", inPart], ["never", all - run]]) {
    const piece = make("i", { class: name });
    piece.style.width = `${ratio(count, all)}%`;
    it.append(piece);
  }
  return it;
}

/** The columns of the table of files: heading, the value by which it is sorted, what a cell shows. `link` makes a name. */
export function fileColumns(data, link) {
  const columns = [
    { id: "share", heading: "self %", value: (file) => file.share, text: (file) => twoDigits(file.share) },
    { id: "self", heading: `self: ${data.metric}`, value: (file) => file.share, text: (file) => withUnit(file.own) },
  ];
  if (data.has_coverage) {
    const [all, run, inPart] = [0, 1, 2].map((place) => (file) => file.lines[place]);
    const number = (id, heading, value, title) => ({ id, heading, title, value, text: (file) => separated(value(file)) });
    const share = (file) => ratio(run(file), all(file));
    columns.push(
      { id: "covered", heading: "lines run %", title: "lines of which an instruction ran", value: share, text: (file) => (all(file) > 0 ? twoDigits(share(file)) : "") },
      { id: "lines", heading: "lines", value: all, cell: meter },
      number("run", "run", run),
      number("part", "in part", inPart, "lines of which some instructions ran and others never"),
      number("never", "never run", (file) => all(file) - run(file)),
      { id: "methods", heading: "methods run", value: (file) => ratio(file.methods[1], file.methods[0]), text: (file) => `${file.methods[1]} of ${file.methods[0]}` },
    );
  }
  columns.push({ id: "file", heading: "file", value: (file) => file.path, cell: link, isName: true });
  return columns;
}

/** The files in the order of a column: numbers from the largest, names from the first letter, or the other way. */
export function sortFiles(files, { value }, isDescending) {
  const sign = isDescending ? -1 : 1;
  const compare = (a, b) => (a < b ? -sign : a > b ? sign : 0);
  const places = new Map(files.map((file, place) => [file, place]));
  return [...files].sort((a, b) => compare(value(a), value(b)) || places.get(a) - places.get(b));
}

/** The files whose path has these words; a word after - must not be there. */
export function findFiles(files, text) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word && word !== "-");
  return files.filter(({ path }) => words.every((word) =>
    (word[0] === "-" ? !path.toLowerCase().includes(word.slice(1)) : path.toLowerCase().includes(word))));
}

/** The row of a file. */
export const fileRow = (file, columns) => make("tr", {}, ...columns.map(({ text, cell, isName }) =>
  make("td", { class: isName ? "name" : "" }, cell ? cell(file) : text(file))));

/** The headings of the lines of a file. */
export const lineHeads = (data) => [{ heading: "self %" }, { heading: "self" }]
  .concat(data.has_totals ? [{ heading: "total %" }, { heading: "total" }] : [])
  .concat(data.has_coverage ? [
    { heading: "executions", title: "of the line's most executed instruction" },
    { heading: "never run", title: "instructions of the line that never ran, of all" },
  ] : [])
  .concat([{ heading: "line" }, { heading: "source", isName: true }]);

/** Of a line: whether all, some or none of its instructions ran. */
function coverage({ instructions, run }, place) {
  const [all, part] = [Number(instructions[place]), Number(run[place])];
  return all === 0 ? "" : part === 0 ? "never" : part < all ? "part" : "whole";
}

function missed({ instructions, run }, place) {
  const [all, part] = [Number(instructions[place]), Number(run[place])];
  return part >= all ? "" : part === 0 ? `all ${all}` : `${all - part} of ${all}`;
}

function amounts({ share, text }, place, hottest) {
  const some = place !== undefined && share[place] > 0;
  const part = make("td", { class: some ? "heat" : "" }, some ? twoDigits(share[place]) : "");
  if (some) part.style.setProperty("--share", (0.7 * Math.min(1, share[place] / hottest)).toFixed(3));
  return [part, make("td", {}, some ? withUnit(text[place]) : "")];
}

/** The rows of the lines of a file; shades are of the hottest line of all. */
export function lineRows(data, { numbers, text }, hottest) {
  const row = (place, line, code) => {
    const known = place !== undefined;
    const hasCode = known && Number(numbers.instructions[place]) > 0;
    const tr = make("tr", { class: known ? coverage(numbers, place) : "" },
      ...amounts(numbers.own, place, hottest),
      ...(data.has_totals ? amounts(numbers.total, place, hottest) : []),
      ...(data.has_coverage ? [
        make("td", {}, hasCode ? separated(numbers.executions[place]) : ""),
        make("td", { class: "missed" }, hasCode ? missed(numbers, place) : ""),
      ] : []),
      make("td", { class: "line" }, line),
      // A tab is no character that hides others; all others are escaped already.
      make("td", { class: "code", textContent: code }));
    tr.dataset.line = line;
    return tr;
  };
  const places = new Map(numbers.line.map((line, place) => [line, place]));
  const rows = text.map((code, index) => row(places.get(index + 1), index + 1, code));
  const after = numbers.line.filter((line) => line > text.length).map((line) => row(places.get(line), line, "[after the end of the file]"));
  return [...rows, ...after];
}

/** What there is to say of a file, in a line. */
export function fileFact(data, file) {
  const [all, run] = file.lines;
  const covered = data.has_coverage ? `, ${separated(run)} of ${separated(all)} lines run (${twoDigits(ratio(run, all))} %)` : "";
  const odd = file.is_odd ? ". Not the source of these classes: lines with numbers are blank in it or after its end." : "";
  return `${file.path}: ${twoDigits(file.share)} % of ${data.metric}${covered}${odd}`;
}

/** The lines to go to: the hottest first. */
export function hotLines({ numbers }) {
  const { share } = numbers.own;
  return numbers.line.map((line, place) => ({ line, share: share[place] }))
    .filter((it) => it.share > 0)
    .sort((a, b) => b.share - a.share)
    .slice(0, 20)
    .map(({ line }) => line);
}

/** The first line of each place that did not run. */
export function missedLines({ numbers }) {
  const isMissed = (place) => ["never", "part"].includes(coverage(numbers, place));
  const known = Array.from(numbers.line.keys()).filter((place) => coverage(numbers, place) !== "");
  return known.filter((place, index) => isMissed(place) && (index === 0 || !isMissed(known[index - 1])))
    .map((place) => numbers.line[place]);
}

/** The meaning of colours and columns. */
export function lineLegend(data) {
  if (!data.has_coverage) return ["self: the line is on top of the stack. total: it is anywhere on the stack."];
  return [...Object.entries(COVERAGE).map(([kind, text]) => make("span", {}, make("i", { class: kind }), text)), " Lines without colour have no instructions."];
}
