// Times and sizes, as perk's reports show them: see `perk_profile::units`.

/** A number with this number of decimals. Of two that are equally near it is the one with an even last digit. */
function rounded(value, decimals) {
  const scaled = value * 10 ** decimals;
  const below = Math.floor(scaled);
  // Multiplied by a power of two a number stays exact.
  const isTie = scaled - below === 0.5 && Number.isInteger(value * 2 ** (decimals + 1));
  return (isTie && below % 2 === 0 ? below / 10 ** decimals : value).toFixed(decimals);
}

/** A number with one decimal, unless it is a zero. */
const short = (value) => rounded(value, 1).replace(/\.0$/, "");

/** A duration: `85 us`, `12.3 ms`, `1.23 s`, `2 min 5 s`, `3 h 2 min`. */
export function duration(ns) {
  if (ns <= 0) return "0 s";
  if (ns < 1e3) return `${ns} ns`;
  if (ns < 1e6) return `${short(ns / 1e3)} us`;
  if (ns < 1e9) return `${short(ns / 1e6)} ms`;
  if (ns < 60e9) return `${rounded(ns / 1e9, 2)} s`;
  if (ns < 3600e9) return `${Math.floor(ns / 60e9)} min ${Math.floor(ns / 1e9) % 60} s`;
  return `${Math.floor(ns / 3600e9)} h ${Math.floor(ns / 60e9) % 60} min`;
}

/** A size: `512 B`, `12.3 kB`, `4 MB`. */
export function bytes(size) {
  if (size < 1e3) return `${size} B`;
  if (size < 1e6) return `${short(size / 1e3)} kB`;
  if (size < 1e9) return `${short(size / 1e6)} MB`;
  return `${short(size / 1e9)} GB`;
}

/** The counted calls of a method and, of those, the ones by a caller: a count, and whether it is an estimate. */
export function callWords(count, { count: byCaller = 0, isEstimate = false } = {}) {
  const number = (value) => value.toLocaleString("en-US");
  const by = byCaller > 0 ? `, ${isEstimate ? "about " : ""}${number(byCaller)} of them by the caller` : "";
  return `${number(count)} ${count === 1 ? "call" : "calls"} counted${by}`;
}
