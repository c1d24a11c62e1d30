const firstColours = model.totalBefore ? "change" : "package";
if (model.totalBefore) by("colours").prepend(new Option("Colour: change", "change"));
const chart = new Chart(model, by("chart"), by("canvas"), by("spacer"));

// ---- words and numbers

const number = (value) => value.toLocaleString("en-US");
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
const percent = (part, whole) => `${(whole > 0 ? (100 * part) / whole : 0).toFixed(2)} %`;

/** What a value is, for headings. */
const whatIs = (value) =>
  ({
    allocated: "allocated bytes",
    live: "live bytes",
    objects: "allocated objects",
    live_objects: "live objects",
    wall: "wall-clock time",
    blocked: "time blocked",
    waited: "time waited",
  })[value] ?? value;

/** The noun of what is counted, null where numbers have a unit of their own; what the page shows. */
let noun, what;
function nameValue() {
  noun = { samples: "sample", calls: "call" }[value] ?? (part.unit === "count" ? value : null);
  what = whatIs(value);
}
nameValue();

/** A number of the page, as a person reads it: `1,000`, `12.5 ms`, `1.5 MiB`. */
function amount(count) {
  if (noun) return number(count);
  return part.unit === "nanoseconds" ? duration(count) : bytes(count);
}

/** As `amount`, with what is counted: `1,000 samples`. */
const amountOf = (count) => (!noun ? amount(count) : part.unit ? `${number(count)} ${what}` : counted(count, noun));

function duration(ns) {
  if (ns >= 1e9) return `${(ns / 1e9).toFixed(2)} s`;
  if (ns >= 1e6) return `${Number((ns / 1e6).toFixed(2))} ms`;
  return `${Number((ns / 1e3).toFixed(2))} µs`;
}

function bytes(value) {
  const unit = value >= 2 ** 20 ? ["MiB", 2 ** 20] : ["KiB", 2 ** 10];
  return `${(value / unit[1]).toFixed(1)} ${unit[0]}`;
}

/** A moment as the clock showed it where the profile was made. */
function date(unixMs, offset) {
  const local = new Date(unixMs + offset * 1000);
  if (Number.isNaN(local.getTime())) return "unknown";
  const minutes = Math.round(Math.abs(offset) / 60);
  const two = (value) => String(value).padStart(2, "0");
  const zone = `${offset < 0 ? "−" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  return `${local.toISOString().slice(0, 19).replace("T", " ")} UTC${zone}`;
}

function element(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

// ---- a frame in words

function nameWithSignature(node) {
  return model.name(node) + (node > 0 ? model.names[model.frame[node]].signature : "");
}

/** What a node was before, where profiles are compared. */
function before(node) {
  if (!model.totalBefore) return "";
  const points = 100 * model.change(node).points;
  const share = percent(model.totalBefore[node], model.totalBefore[0]);
  return `; before ${amount(model.totalBefore[node])} (${share}), ${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(2)} points`;
}

function describe(node) {
  const detail = by("detail");
  const [total, self] = [model.total[node], model.self[node]];
  const time = interval > 0 ? `, ${duration(total * interval)} CPU` : "";
  detail.classList.remove("hint");
  detail.textContent =
    `${nameWithSignature(node)} — ${amountOf(total)} (${percent(total, samples)}${time}), ` +
    `self ${amount(self)} (${percent(self, samples)})${before(node)}`;
}

function fillTip(node) {
  const tip = by("tip");
  const name = node === 0 ? null : model.names[model.frame[node]];
  const compared = model.totalBefore !== null;
  const rows = [
    ["total", model.total[node], model.totalBefore?.[node]],
    ["self", model.self[node], model.selfBefore?.[node]],
  ];
  const zoomed = chart.zoom !== 0;
  const table = document.createElement("table");
  const head = table.insertRow();
  for (const text of ["", what, "of all", zoomed && "of zoomed", interval > 0 && "CPU time", compared && "before", compared && "of all before"]) {
    if (text !== false) head.append(element("th", text));
  }
  for (const [text, count, old] of rows) {
    const row = table.insertRow();
    const cells = [
      text, amount(count), percent(count, samples),
      zoomed && percent(count, model.total[chart.zoom]), interval > 0 && duration(count * interval),
      compared && amount(old), compared && percent(old, model.totalBefore[0]),
    ];
    for (const cell of cells) if (cell !== false) row.insertCell().textContent = cell;
  }
  tip.replaceChildren();
  if (name?.className) tip.append(element("div", name.className, "class"));
  tip.append(element("div", name?.method ?? `all ${what}`, "method"));
  if (name?.signature) tip.append(element("div", name.signature, "signature"));
  if (name && sortOf(name) !== "program") tip.append(element("div", sortOf(name), "class"));
  tip.append(table);
}

function moveTip(x, y) {
  const tip = by("tip");
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = x + 14 + width > innerWidth - 8 ? x - 14 - width : x + 14;
  const top = y + 18 + height > innerHeight - 8 ? y - 12 - height : y + 18;
  tip.style.left = `${Math.max(8, Math.min(left, innerWidth - 8 - width))}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

function hover(node) {
  if (node === chart.hover) return;
  chart.hover = node;
  by("tip").hidden = node < 0;
  by("canvas").classList.toggle("over", node >= 0);
  if (node >= 0) fillTip(node);
  chart.schedule();
}

// ---- state: search and zoom, kept in the address so that a link shows the same

function setFocus(node) {
  chart.focus = node;
  chart.reveal(node);
  describe(node);
}

function setZoom(node) {
  hover(-1);
  chart.zoomTo(node);
  chart.focus = node;
  fillCrumbs();
  search();
  if (node === 0) hint();
  else describe(node);
}

function search() {
  const text = by("search").value;
  const found = by("found");
  const asRegex = by("regex").ariaPressed === "true";
  let test = null;
  let error = "";
  if (text !== "") {
    try {
      const pattern = asRegex ? text : text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      const regex = new RegExp(pattern, asRegex ? "" : "i");
      test = (name) => regex.test(name);
    } catch {
      error = "not a regular expression";
    }
  }
  by("search").ariaInvalid = String(error !== "");
  found.classList.toggle("bad", error !== "");
  chart.matched = test && Uint8Array.from(model.names, (name, frame) => (model.used[frame] && test(name.full) ? 1 : 0));
  found.textContent = error;
  if (chart.matched) {
    const count = model.matchedSamples(chart.matched, chart.zoom);
    const whole = model.total[chart.zoom];
    const methods = chart.matched.reduce((sum, match) => sum + match, 0);
    found.textContent =
      `${percent(count, whole)} · ${amount(count)} of ${amount(whole)}${noun ? ` ${what}` : ""}` +
      `${chart.zoom ? " in zoom" : ""} · ${counted(methods, "frame name")}`;
  }
  chart.schedule();
}

function link() {
  const state = new URLSearchParams();
  if (part !== data) state.set("v", value);
  if (by("search").value) state.set("s", by("search").value);
  if (by("regex").ariaPressed === "true") state.set("r", "1");
  if (chart.zoom !== 0) state.set("z", chart.zoom);
  if (by("colours").value !== firstColours) state.set("c", by("colours").value);
  if (chart.flame) state.set("f", "1");
  return `#${state}`;
}

const saveState = () => history.replaceState(null, "", link());

function zoomByUser(node) {
  setZoom(node);
  if (link() !== (location.hash || "#")) history.pushState(null, "", link());
}

/** Shows another value, zoomed to the same path as far as it has that. */
function show(index) {
  const frames = model.path(chart.zoom).slice(1).map((node) => model.frame[node]);
  const selected = globalThis.perkTimes?.leave();
  take(index);
  nameValue();
  by("values").value = index;
  chart.use(model);
  recolour();
  fillAccount();
  setZoom(model.follow(frames));
  globalThis.perkTimes?.use(part.times, selected);
}

function loadState() {
  const state = new URLSearchParams(location.hash.slice(1));
  const named = parts.findIndex((it) => it.value === state.get("v"));
  const index = Math.max(0, named);
  if (parts[index] !== part) show(index);
  by("search").value = state.get("s") ?? "";
  by("regex").ariaPressed = String(state.get("r") === "1");
  const colours = state.get("c");
  by("colours").value = ["package", "kind", firstColours].includes(colours) ? colours : firstColours;
  chart.flame = state.get("f") === "1";
  by("flip").ariaPressed = String(chart.flame);
  recolour();
  const zoom = Number(state.get("z"));
  setZoom(Number.isInteger(zoom) && zoom > 0 && zoom < model.count ? zoom : 0);
}

function reset() {
  by("search").value = "";
  zoomByUser(0);
}

// ---- parts of the page

function hint() {
  by("detail").classList.add("hint");
  if (samples === 0) by("detail").textContent = `This profile has no ${what}.`;
  else by("detail").textContent = matchMedia("(pointer: coarse)").matches
    ? "Tap a frame to zoom, the path above to go back."
    : "Click or Enter zooms, arrow keys move, / searches, ? explains.";
}

function fillCrumbs() {
  const path = model.path(chart.zoom);
  const shown = path.length > 5 ? [0, -1, ...path.slice(-3)] : path;
  const label = (node) => (node === 0 ? "all" : model.names[model.frame[node]].labels.at(-2) ?? model.name(node));
  by("crumbs").replaceChildren(
    ...shown.flatMap((node, index) => {
      const step = index > 0 ? [element("span", "›")] : [];
      if (node < 0) return [...step, element("span", "\u00a0…\u00a0")];
      const last = node === chart.zoom;
      const crumb = element(last ? "span" : "button", label(node));
      crumb.title = model.name(node);
      if (last) crumb.ariaCurrent = "true";
      else crumb.addEventListener("click", () => zoomByUser(node));
      return [...step, crumb];
    }),
  );
}

function recolour() {
  chart.colourBy(by("colours").value);
  fillLegend();
}

function fillLegend() {
  by("legend").replaceChildren(
    ...chart.legend.map(({ group, count, colour }) => {
      const item = element("li", "");
      const chip = element("i", "");
      chip.style.background = chart.palette.bright[colour];
      item.append(chip, count === null ? group : `${group} ${percent(count, samples)}`);
      return item;
    }),
  );
}

function fillAccount() {
  const text = (field) => account?.get(field) ?? "";
  const figure = (field) => Number(text(field));
  let lost = 0;
  for (let node = 1; node < model.count; node++) {
    if (isLost(model.names[model.frame[node]])) lost += model.self[node];
  }
  const cost = figure("perk_cpu_ns");
  const process = figure("process_cpu_ns");
  const summary = [
    noun ? amountOf(samples) : `${amount(samples)} (${what})`,
    interval > 0 && `one per ${duration(interval)} of CPU time`,
    `${amount(lost)} without a stack (${percent(lost, samples)})`,
    account ? process > 0 && `profiler's own cost ${percent(cost, process)} of CPU` : "profiler's cost and losses not recorded",
    text("jvm"),
  ];
  by("summary").textContent = summary.filter(Boolean).join(" · ");
  const figures = [
    data.before !== undefined && ["Compared with", data.before, "wide"],
    model.totalBefore && [`Before: ${what}`, amount(model.totalBefore[0])],
    [noun === "sample" ? "Samples shown" : `Shown: ${what}`, amount(samples)],
    ["Shown without a stack", `${amount(lost)} (${percent(lost, samples)})`],
    data.depth !== null && ["Stacks recorded to", counted(data.depth, "frame")],
    data.created !== null && ["Begun", date(...data.created)],
  ];
  if (account) {
    const taken = [
      ["Samples recorded", number(figure("sample_count"))],
      ["CPU time per sample", interval > 0 ? duration(interval) : "unknown"],
      ["Unattributed samples", number(figure("unattributed_count"))],
      ["Stacks walked", number(figure("walk_count"))],
      ["Walks that gave no stack", number(figure("failed_walk_count"))],
      ["Samples with inner frames cut", number(figure("folded_count"))],
      ["Samples on virtual threads", number(figure("virtual_sample_count"))],
    ];
    const counts = [
      ["Calls counted", number(figure("call_count"))],
      ["Calls counted without their path", number(figure("folded_call_count"))],
      ["Clock of call times", text("clock") || "none"],
      ["Objects without a known site", number(figure("unsited_object_count"))],
    ];
    figures.push(
      ...(value === "samples" ? taken : counts),
      ["Java threads", number(figure("thread_count"))],
      ["Wall time", duration(figure("wall_ns"))],
      ["CPU time, Java threads", duration(figure("java_cpu_ns"))],
      ["CPU time, process", duration(process)],
      ["CPU time, profiler", process > 0 ? `${duration(cost)} (${percent(cost, process)})` : duration(cost)],
      ["Profiler's peak memory", bytes(figure("perk_peak_bytes"))],
      ["Profiler's faults", number(figure("fault_count"))],
      ["Engine", text("engine") || "unknown"],
      ["Process id", text("pid")],
      ["JVM", text("jvm") || "unknown", "wide"],
      ["Program", text("program") || "unknown", "wide"],
    );
  }
  for (const note of data.notes) figures.push(["Note", note, "wide"]);
  by("figures").replaceChildren(
    ...figures.filter(Boolean).map(([name, shown, className]) => {
      const entry = element("div", "", className);
      entry.append(element("dt", name), element("dd", shown));
      return entry;
    }),
  );
}

// ---- what the user does

function move(key) {
  const node = chart.focus;
  if (key === "Home") return setFocus(chart.zoom);
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const step = key === "ArrowLeft" ? -1 : 1;
    const level = model.level[node];
    let place = model.firstAfter(level, model.start[node]) + step;
    for (; place >= model.rowBegin[level] && place < model.rowBegin[level + 1]; place += step) {
      const other = model.rowNodes[place];
      if (chart.shown(other)) return setFocus(other);
    }
    return undefined;
  }
  const outward = (key === "ArrowUp") !== chart.flame;
  const other = outward ? model.parent[node] : model.widestChild(node);
  if (other >= 0 && chart.shown(other)) setFocus(other);
  return undefined;
}

by("chart").addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" || event.key === " ") zoomByUser(chart.focus);
  else if (event.key.startsWith("Arrow") || event.key === "Home") move(event.key);
  else return;
  event.preventDefault();
});
for (const kind of ["focus", "blur"]) by("chart").addEventListener(kind, () => chart.schedule());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || by("help").open) return;
  const typing = event.target === by("search");
  if (event.key === "Escape") {
    reset();
    if (typing) by("chart").focus();
  } else if (event.key === "/" && !typing) {
    by("search").focus();
    by("search").select();
  } else if (event.key === "?" && !typing) {
    by("help").showModal();
  } else {
    return;
  }
  event.preventDefault();
});

const nodeAt = (event) => {
  const box = by("canvas").getBoundingClientRect();
  return chart.hit(event.clientX - box.left, event.clientY - box.top);
};
by("canvas").addEventListener("pointermove", (event) => {
  if (event.pointerType !== "mouse") return;
  hover(nodeAt(event));
  if (chart.hover >= 0) moveTip(event.clientX, event.clientY);
});
by("canvas").addEventListener("pointerleave", () => hover(-1));
by("chart").addEventListener("scroll", () => hover(-1));
by("canvas").addEventListener("click", (event) => {
  const node = nodeAt(event);
  if (node >= 0) zoomByUser(node);
});

by("search").addEventListener("input", () => {
  search();
  saveState();
});
by("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") by("chart").focus();
});
by("regex").addEventListener("click", () => {
  by("regex").ariaPressed = String(by("regex").ariaPressed !== "true");
  search();
  saveState();
});
by("colours").addEventListener("change", () => {
  recolour();
  saveState();
});
if (parts.length > 1) {
  const values = document.createElement("select");
  values.id = "values";
  values.append(...parts.map((it, index) => new Option(`Show: ${whatIs(printable(it.value ?? "samples"))}`, index)));
  const label = element("label", "Value", "unseen");
  label.htmlFor = values.id;
  by("colours").parentElement.prepend(label, values);
  const keys = element("td", "select what is shown; the zoom stays as far as its path is there");
  by("help").querySelector("table").insertRow().append(element("td", "Show"), keys);
  values.addEventListener("change", () => {
    show(Number(values.value));
    history.pushState(null, "", link());
  });
}
by("flip").addEventListener("click", () => {
  chart.flame = !chart.flame;
  by("flip").ariaPressed = String(chart.flame);
  chart.zoomTo(chart.zoom);
  saveState();
});
by("reset").addEventListener("click", reset);
by("explain").addEventListener("click", () => by("help").showModal());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", fillLegend);
addEventListener("popstate", loadState);

fillAccount();
loadState();

/** For scripts and tests that drive the page. */
window.perk = Object.freeze({
  get model() {
    return model;
  },
  chart,
  /** The first node of a full name, or -1. */
  find: (name) => model.frame.findIndex((frame) => frame >= 0 && model.names[frame].full === name),
  /** Draws anew and waits until the picture is there; milliseconds. */
  redraw() {
    const begin = performance.now();
    chart.draw();
    chart.context.getImageData(0, 0, 1, 1);
    return performance.now() - begin;
  },
});
