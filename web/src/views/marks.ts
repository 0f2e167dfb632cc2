// How sure something is, by shape and word as well as by colour.

import type { Level } from "../engine/session";
import { h, s } from "./dom";

export const WORDS: Record<Level, string> = {
  works: "works for certain",
  likely: "likely works",
  open: "open",
  unlikely: "likely refused",
  refused: "refused for certain",
};

export const SENTENCES: Record<Level, string> = {
  works: "It works in every model that fits the log.",
  likely: "The log does not prove it, but the model says that it works.",
  open: "The log leaves it open, and what the model says hangs on something that the log says nothing about.",
  unlikely: "The log does not prove it, but the model says that it is refused.",
  refused: "It is refused in every model that fits the log.",
};

const SHAPES: Record<Level, () => SVGElement[]> = {
  works: () => [s("circle", { cx: 8, cy: 8, r: 7, class: "full" }), s("path", { d: "M4.6 8.2 7 10.6 11.4 5.8", class: "cut" })],
  likely: () => [s("circle", { cx: 8, cy: 8, r: 6, class: "line" }), s("circle", { cx: 8, cy: 8, r: 2, class: "full" })],
  open: () => [s("path", { d: "M8 1.5 14.5 8 8 14.5 1.5 8Z", class: "line dashed" })],
  unlikely: () => [s("rect", { x: 2.2, y: 2.2, width: 11.6, height: 11.6, rx: 1.5, class: "line" }), s("path", { d: "M5.4 8H10.6", class: "stroke" })],
  refused: () => [s("rect", { x: 1.2, y: 1.2, width: 13.6, height: 13.6, rx: 2, class: "full" }), s("path", { d: "M5 5 11 11M11 5 5 11", class: "cut" })],
};

export function mark(level: Level): SVGElement {
  return s("svg", { viewBox: "0 0 16 16", class: `mark ${level}`, "aria-hidden": "true" }, SHAPES[level]());
}

const SURE: Record<string, string> = { certain: "works", likely: "likely", free: "open" };

/** Of a precondition or an effect: certain, likely or free. */
export function sureness(level: string): Node {
  if (!(level in SURE)) return document.createTextNode("");
  return h("span", { class: `sure ${level}`, title: level }, mark(SURE[level] as Level), h("span", { class: "sr" }, ` (${level})`));
}
