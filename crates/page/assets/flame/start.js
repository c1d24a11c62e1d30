// The page begins.

import { names, parts } from "./data.js";
import { showPanel } from "./panel.js";
import { chart, loadState, model, upper } from "./page.js";
import { TimeStrip } from "./times.js";
import "./input.js";

if (parts.some((it) => it.times)) {
  /** For scripts and tests that drive the page, too. */
  window.perkTimes = new TimeStrip();
}
showPanel(innerWidth >= 1000);
loadState();

/** For scripts and tests that drive the page. */
window.perk = Object.freeze({
  get model() {
    return model;
  },
  chart,
  upper,
  /** The first node of a full name, or -1. */
  find: (name) => model.frame.findIndex((frame) => frame >= 0 && names[frame].full === name),
  /** Draws anew and waits until the picture is there; milliseconds. */
  redraw() {
    const begin = performance.now();
    chart.draw();
    chart.context.getImageData(0, 0, 1, 1);
    return performance.now() - begin;
  },
});
