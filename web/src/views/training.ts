// The Training tab: how the loss fell, how accuracy rose, and how it depends on the length of traces.

import type { App } from "./app";
import { chart, Plot } from "./charts";
import { count, h, shown } from "./dom";

export function trainingView(app: App): HTMLElement {
  const { training, lengths } = app.record;
  const width = Math.min(620, Math.max(300, document.documentElement.clientWidth - 60));
  const rows = training.rows.map((row) => ({ ...row, attempt: `attempt ${row.attempt}` }));
  const several = new Set(rows.map((row) => row.attempt)).size > 1;
  const lines = (y: "loss" | "accuracy", title: string) => {
    const there = rows.filter((row) => row[y] !== null && row[y] !== undefined);
    return h("figure", {}, h("figcaption", {}, title),
      chart({
        width, height: 260, marginLeft: 60, grid: true, x: { label: "steps", ticks: 5, tickFormat: (d: number) => d.toLocaleString("en-US") },
        y: { label: null, ...(y === "accuracy" ? { domain: [0, 100], percent: true, tickFormat: (d: number) => `${d} %` } : { zero: true }) },
        color: { legend: several, scheme: "Dark2" } as Plot.ScaleOptions,
        marks: [Plot.ruleY([0]), Plot.lineY(there, { x: "step", y, stroke: several ? "attempt" : "var(--yes)", strokeWidth: 2 }), ...(there.length === 1 ? [Plot.dot(there, { x: "step", y, fill: "var(--yes)" })] : [])],
      }, title));
  };
  const bars = lengths.rows.map((row) => ({ ...row, share: row.right / row.traces, title: row.from === row.to ? `${row.from}` : `${row.from}–${row.to}` }));
  const traces = lengths.rows.reduce((sum, row) => sum + row.traces, 0);
  return h("div", { class: "training" },
    rows.length === 0 ? h("p", { class: "hint" }, `The learner ${app.record.learner} is not trained in steps: there are no curves.`)
      : h("div", { class: "plots" }, lines("loss", "Loss"), lines("accuracy", "Traces without an error, of those looked at")),
    bars.length === 0 ? h("p", { class: "hint" }, "No trace is kept to show accuracy by length.")
      : h("figure", {}, h("figcaption", {}, `Traces predicted without an error, by number of attempts: ${count(traces, "trace")} (${shown(lengths.of)})`),
          chart({
            width: Math.min(900, document.documentElement.clientWidth - 60), height: 280, marginLeft: 52, marginBottom: 42,
            x: { label: "attempts", type: "band", domain: bars.map((bar) => bar.title) }, y: { domain: [0, 100], percent: true, grid: true, label: null, tickFormat: (d: number) => `${d} %` },
            marks: [Plot.barY(bars, { x: "title", y: "share", fill: "var(--yes)", title: (bar: { right: number; traces: number }) => `${bar.right} of ${bar.traces}` }), Plot.text(bars, { x: "title", y: "share", text: (bar: { traces: number }) => String(bar.traces), dy: 12, fill: "var(--page)" }), Plot.ruleY([0])],
          }, "Accuracy by trace length"),
          h("p", { class: "hint" }, "The number in a bar is how many traces there are.")));
}
