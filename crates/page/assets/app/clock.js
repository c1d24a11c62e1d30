// Times: those of a recording are since its begin, those of a service of a store are of the clock.

import { uPlot } from "../vendor/uplot.js";
import { state } from "./state.js";

/** Whether what is shown is a service of a store. */
export const isService = () => state.kind === "service";

/** The seconds of a text of the address: `1.5s`, `20ms`, `2m`; of a time of the clock those since 1970. */
export function secondsOf(text) {
  const ms = /^\d{4}-\d\d-\d\dT/.test(text ?? "") ? Date.parse(text) : NaN;
  if (!Number.isNaN(ms)) return ms / 1000;
  const [, number, unit] = /^([\d.]+)(us|ms|s|m|h)$/.exec(text ?? "") ?? [];
  return number === undefined ? null : Number(number) * { us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 }[unit];
}

/** A time of the clock for the address, to the second. */
export const isoOf = (seconds) => new Date(Math.round(seconds) * 1000).toISOString().replace(".000Z", "Z");

/** A time for the address. */
export const addressTime = (seconds) => (isService() ? isoOf(seconds) : `${Math.max(0, seconds).toFixed(2)}s`);

/** A time for people. */
export const timeText = (seconds) => (isService() ? `${isoOf(seconds).slice(0, 19).replace("T", " ")} UTC` : `${seconds.toFixed(2)} s`);

/** The time at which the numbers of an answer begin, in seconds. */
export const beginOf = (answer) => (isService() ? (answer.begun_unix_ms ?? 0) / 1000 : 0);

/** What a plot needs for its times. */
export const ofPlot = () => (isService() ? { tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC") } : {});

/** The shortest axis of the clock without seconds. */
const MINUTES_FROM = 600;

/** The texts of an axis of times: of the clock hours and minutes, first and at midnight with the date. */
function axisTexts(splits) {
  if (!isService()) return splits.map((it) => `${it} s`);
  const length = splits.at(-1) - splits[0] < MINUTES_FROM ? 19 : 16;
  return splits.map((it, place) => {
    const [date, time] = isoOf(it).slice(0, length).split("T");
    // The last one has no room.
    if (place > 0 && place === splits.length - 1) return "";
    return place === 0 || time === "00:00" ? `${date.slice(5)} ${time}` : time;
  });
}

/** What the axis of a plot needs for its times. */
export const ofAxis = () => ({ values: (_, splits) => axisTexts(splits), ...(isService() ? { align: 1 } : {}) });
