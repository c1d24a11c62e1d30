// The foot of the page: how the numbers were taken.

import { isLost } from "./names.js";
import { account, by, data, interval, names, source, value } from "./data.js";
import { bytes, duration } from "./units.js";
import { amount, amountOf, counted, date, element, noun, number, percent, what } from "./words.js";
import { samples } from "./page.js";

/** Fills the foot of the page: how the numbers were taken, and what is not among them. */
export function fillAccount() {
  const text = (field) => account?.get(field) ?? "";
  const figure = (field) => Number(text(field));
  const samples = source.total[0];
  const lost = source.selfByFrame(0).reduce((sum, count, frame) => sum + (count > 0 && isLost(names[frame]) ? count : 0), 0);
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
    source.totalBefore && [`Before: ${what}`, amount(source.totalBefore[0])],
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
