// The Attention tab: which earlier step each head of a transformer reads.

import type { AttentionHead, AttentionTrace, Trace } from "../engine/record";
import { readTrace } from "../engine/reading";
import type { App } from "./app";
import { chart, Plot } from "./charts";
import { called, download, h, shown } from "./dom";

const WINDOW = 30; // positions at a time: what is drawn does not grow with the trace
let trace: number | null = null;
let head = ""; // by its name: another trace may have others
let hard = false;
let from = 0;

export function attentionView(app: App): HTMLElement {
  const attention = app.record.attention!;
  const own = ownTrace(app);
  const traces = own === null ? attention.traces : [...attention.traces, own];
  trace = Math.min(trace ?? (own !== null && app.trace.steps.length > 0 ? traces.length - 1 : 0), traces.length - 1);
  const shownTrace = traces[trace]!;
  const at = shownTrace.heads.findIndex((one) => one.name === head);
  const last = Math.max(0, shownTrace.tokens.length - WINDOW);
  from = Math.min(from, last);
  const chosen = shownTrace.heads[Math.max(0, at)] ?? { name: "", note: "No head reads anything in this trace.", soft: [], hard: [] };
  const picture = matrix(shownTrace, chosen);
  const pick = <T extends string>(id: string, label: string, options: T[], value: number, act: (i: number) => void) => {
    const select = h("select", { id, "data-key": id, onchange: () => { act(Number(select.value)); app.changed(); } },
      options.map((option, i) => h("option", { value: i, selected: i === value }, shown(option))));
    return h("label", { for: id }, `${label} `, select);
  };
  const slider = h("input", { type: "range", id: "from", "data-key": "from", min: 0, max: last, value: from, oninput: () => { from = Number(slider.value); app.changed(); } });
  return h("div", { class: "attention" },
    h("p", {}, attention.about),
    own === null ? h("p", { class: "hint" }, attention.weights
      ? "The network has no word for something in the trace of the World tab, or nothing is in it, so it is not shown here."
      : "Shown are traces of the log: this network is too large to be in the page, so what it reads in a trace of your own cannot be shown.") : null,
    h("div", { class: "controls" },
      pick("trace-choice", "Trace", traces.map((one) => one.title), trace, (i) => { trace = i; from = 0; }),
      pick("head-choice", "Head", shownTrace.heads.map((one) => one.name), Math.max(0, at), (i) => { head = shownTrace.heads[i]!.name; }),
      h("div", { class: "switch", role: "group", "aria-label": "Weights" },
        h("button", { type: "button", class: "plain", "data-key": "soft", "aria-pressed": String(!hard), onclick: () => { hard = false; app.changed(); } }, "soft, as trained"),
        h("button", { type: "button", class: "plain", "data-key": "hard", "aria-pressed": String(hard), onclick: () => { hard = true; app.changed(); } }, "hard")),
      last > 0 ? h("label", { for: "from" }, `Positions ${from + 1} to ${from + WINDOW} of ${shownTrace.tokens.length} `, slider) : null,
      h("button", {
        type: "button", class: "plain", "data-key": "svg",
        onclick: () => download("attention.svg", "image/svg+xml", exportSvg(picture)),
      }, "Save as SVG")),
    chosen.note ? h("p", { class: "hint" }, shown(chosen.note)) : null,
    h("figure", { class: "matrix scroll", tabindex: 0, role: "region", "aria-label": "Attention weights" }, picture),
    reading(shownTrace, chosen));
}

/** What the network reads in the trace of the World tab; kept, since the view is drawn anew with every click. */
let kept: { of: Trace; found: AttentionTrace | null } | null = null;
function ownTrace(app: App): AttentionTrace | null {
  const { weights, form } = app.record.attention!;
  if (!weights) return null;
  if (kept?.of !== app.trace) kept = { of: app.trace, found: readTrace(weights, form, app.trace, "the trace of the World tab") };
  return kept.found;
}

interface Cell {
  query: number;
  key: number;
  weight: number;
}

function cellsOf(one: AttentionHead): Cell[] {
  const rows = hard ? one.hard : one.soft;
  const to = from + WINDOW;
  return rows.flatMap((row, query) => (query < from || query >= to ? [] : row.filter(([key]) => key >= from).map(([key, weight]) => ({ query, key, weight }))));
}

function matrix(one: AttentionTrace, chosen: AttentionHead): SVGElement {
  const to = Math.min(one.tokens.length, from + WINDOW);
  const positions = Array.from({ length: to - from }, (_, i) => from + i);
  const cells = cellsOf(chosen);
  const name = (i: number) => `${i + 1} ${short(one.tokens[i]!)}${one.refused[i] ? " !" : ""}`;
  const longest = Math.min(26, Math.max(...positions.map((i) => name(i).length)));
  const size = 20, edge = longest * 7.4 + 24;
  const drawn = chart({
    width: edge + positions.length * size + 30, height: edge + positions.length * size + 10,
    marginLeft: edge, marginTop: edge, marginBottom: 10, marginRight: 20,
    x: { domain: positions, axis: "top", label: null, tickFormat: name, tickRotate: -90 },
    y: { domain: positions, label: null, tickFormat: name },
    color: { type: "linear", domain: [0, 1], range: ["var(--page)", "var(--yes)"], interpolate: mix },
    marks: [
      Plot.cell(positions.flatMap((query) => positions.filter((key) => key < query).map((key) => ({ query, key }))), { x: "key", y: "query", fill: "var(--panel)", inset: 0.5 }),
      Plot.cell(cells, { x: "key", y: "query", fill: "weight", inset: 0.5, title: (c: Cell) => `${shown(one.tokens[c.query]!)} reads ${shown(one.tokens[c.key]!)}: ${c.weight.toFixed(2)}` }),
    ],
  }, `Weights of ${shown(chosen.name)}: a row for each position, a column for each earlier one that it reads`);
  return (drawn instanceof SVGElement ? drawn : drawn.querySelector("svg")!) as SVGElement;
}

const mix = () => (share: number) => `color-mix(in oklab, var(--yes) ${Math.round(15 + 85 * share)}%, var(--panel))`;

function short(token: string): string {
  const text = shown(token);
  return text.length > 22 ? `${text.slice(0, 21)}…` : text;
}

/** The same in words, for those who cannot see the picture. */
function reading(one: AttentionTrace, chosen: AttentionHead): HTMLElement {
  const cells = cellsOf(chosen);
  const rows = Array.from({ length: Math.min(one.tokens.length, from + WINDOW) - from }, (_, i) => from + i).map((query) => {
    const best = cells.filter((cell) => cell.query === query).sort((a, b) => b.weight - a.weight).slice(0, 3);
    return h("tr", { class: one.refused[query] ? "no" : "" },
      h("td", { class: "number" }, String(query + 1)), h("th", { scope: "row" }, called(one.tokens[query]!)),
      h("td", { class: "wide" }, best.length === 0 ? "reads nothing here" : best.map((cell) => `${cell.key + 1} ${called(one.tokens[cell.key]!)} (${cell.weight.toFixed(2)})`).join(", ")),
      h("td", {}, one.said[query] ? "refused" : "works"));
  });
  return h("details", {}, h("summary", {}, "The same in words, with what the network says"),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What is read" },
      h("table", {}, h("thead", {}, h("tr", {}, ["", "step", "reads", "the network says"].map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows))));
}

/** The picture by itself: colours are written out, since another program does not know the page's. */
function exportSvg(picture: SVGElement): string {
  const copy = picture.cloneNode(true) as SVGElement;
  const originals = picture.querySelectorAll<SVGElement>("*");
  copy.querySelectorAll<SVGElement>("*").forEach((element, i) => {
    const style = getComputedStyle(originals[i]!);
    for (const name of ["fill", "stroke", "font-family", "font-size"]) element.setAttribute(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}
