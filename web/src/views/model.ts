// The Model tab: what each action needs and changes, how sure that is, as a table, a graph and PDDL.

import { lineNumbers, EditorView } from "@codemirror/view";
import { EditorState } from "@codemirror/state";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import cytoscape from "cytoscape";
import dagre from "cytoscape-dagre";
import type { Rule } from "../engine/record";
import type { App } from "./app";
import { copy, count, h, shown } from "./dom";
import { sureness } from "./marks";

const LARGEST_ZOOM = 1.15; // letters of a small graph are no larger than those around it
const MOST_NODES = 90; // of a graph that can be read
const PARTS: [string, string][] = [["needs", "needs"], ["adds", "makes true"], ["deletes", "makes false"]];
let registered = false;
let chosenFile = 0;
let chosenRule: Rule | null = null;
let chosenAction = "";

export function modelView(app: App): HTMLElement {
  return h("div", { class: "model" },
    figures(app),
    h("section", { "aria-labelledby": "table-title" }, h("h2", { id: "table-title" }, "What each action needs and changes"), table(app)),
    h("section", { "aria-labelledby": "words-title" }, h("h2", { id: "words-title" }, "What the words mean"), words(app)),
    h("section", { "aria-labelledby": "graph-title" }, h("h2", { id: "graph-title" }, "Predicates and actions"), graph(app)),
    h("section", { "aria-labelledby": "pddl-title" }, h("h2", { id: "pddl-title" }, "PDDL"), pddl(app)),
  );
}

function figures(app: App): HTMLElement {
  return h("div", {},
    h("dl", { class: "key" }, app.record.key_figures.map(([what, value]) => h("div", {}, h("dt", {}, shown(what)), h("dd", {}, shown(value))))),
    app.record.warnings.map((text) => h("p", { class: "warning" }, shown(text))));
}

function table(app: App): HTMLElement {
  const { rules, hidden, support } = app.record;
  if (rules === null) return h("p", { class: "hint" }, "There is no model.");
  const theirs = new Map((hidden?.rows ?? []).map((row) => [row.action, row]));
  const evidence = h("p", { class: "evidence-line", role: "status" });
  const tell = (rule: Rule) => {
    chosenRule = rule;
    const shownBy = rule.places.length > 0 ? ` Shown by ${rule.places.map(shown).join("; ")}.` : "";
    const said: Record<string, string> = {
      certain: "certain: every model that fits the log has it.",
      likely: "likely: without it the model would be wrong on labels of the log.",
      free: "free: the log says neither yes nor no.",
    };
    evidence.replaceChildren(h("b", {}, `${shown(rule.action)} ${rule.part} ${shown(rule.atom)}`), ` is ${said[rule.level] ?? "what was learned."}${shownBy}`);
  };
  const byAction = new Map<string, Rule[]>();
  for (const rule of rules.rules) byAction.set(rule.action, [...(byAction.get(rule.action) ?? []), rule]);
  const together = (action: string) => {
    const world = app.record.world;
    if (world?.kind !== "lifted") return null;
    const schema = action.replace(/\(.*$/s, ""), names = /\((.*)\)$/s.exec(action)?.[1]!.split(", ") ?? [];
    const uses = world.relations.flatMap((one) => one.uses).filter(([number]) => world.actions[number]!.name === schema);
    if (uses.length === 0) return null;
    return h("span", { class: "together" }, `only as the log has them: ${uses.map(([, places]) => `(${places.map((i) => shown(names[i] ?? "?")).join(", ")})`).join(", ")}`);
  };
  const cell = (action: string, part: string) => {
    const mine = (byAction.get(action) ?? []).filter((rule) => rule.part === part);
    return h("td", {}, mine.length === 0 ? h("span", { class: "hint" }, "–") : mine.map((rule) =>
      h("button", {
        type: "button", class: `bit ${rule.level}`, "data-key": `bit-${rule.action}-${part}-${rule.atom}`, onclick: () => tell(rule),
        "aria-label": `${shown(rule.atom)}${rule.level ? `, ${rule.level}` : ""}`,
      }, sureness(rule.level), shown(rule.atom))), part === "needs" ? together(action) : null);
  };
  const row = (action: string) => {
    const other = theirs.get(action);
    const first = h("tr", {}, h("th", { scope: "row", rowspan: other ? 2 : 1 }, shown(action)),
      hidden && h("td", { class: "whose" }, "learned"), PARTS.map(([part]) => cell(action, part)));
    if (!other) return [first];
    const said = (atoms: string[]) => h("td", { class: "theirs" }, atoms.length > 0 ? atoms.map(shown).join(", ") : "–");
    return [first, h("tr", { class: "hidden-row" }, h("td", { class: "whose" }, "hidden"), said(other.needs), said(other.adds), said(other.deletes))];
  };
  if (chosenRule !== null && rules.rules.includes(chosenRule)) tell(chosenRule);
  return h("div", {},
    h("p", { class: "hint" },
      "An action works where all that it needs is true. x, y, z stand for any objects. ",
      support.length > 0 ? h("span", {}, sureness("certain"), " certain ", sureness("likely"), " likely ", sureness("free"), " free; choose one for its evidence.") : "",
      hidden ? ` The hidden model is ${hidden.name}.` : ""),
    evidence,
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of actions" },
      h("table", { id: "model-table" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "action"), hidden && h("th", { scope: "col" }, "whose"), PARTS.map(([, title]) => h("th", { scope: "col" }, title)))),
        h("tbody", {}, rules.actions.slice(0, 400).flatMap(row)))),
    rules.actions.length > 400 ? h("p", { class: "hint" }, `${count(rules.actions.length - 400, "more action")} in the PDDL below.`) : null);
}

function words(app: App): HTMLElement {
  const atoms = app.record.rules?.atoms ?? [];
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of atoms" },
    h("table", {},
      h("thead", {}, h("tr", {}, ["atom", "seems to mean", "at the start", ""].map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, atoms.slice(0, 200).map((atom) =>
        h("tr", {}, h("th", { scope: "row" }, shown(atom.shown)), h("td", { class: "wide" }, shown(atom.meaning)), h("td", {}, shown(atom.starts)),
          h("td", { class: "hint" }, atom.told ? "named by the log" : "invented"))))));
}

function graph(app: App): HTMLElement {
  const rules = app.record.rules!;
  const nodes = new Set(rules.rules.flatMap((rule) => [`a ${rule.action}`, `p ${rule.predicate}`]));
  const large = nodes.size > MOST_NODES;
  const host = h("div", { class: "graph", role: "img", "aria-label": "Graph of predicates and actions; the table above says the same" });
  const make = () => {
    const chosen = large ? rules.rules.filter((rule) => rule.action === chosenAction) : rules.rules;
    if (host.isConnected) drawGraph(host, chosen, new Map(rules.atoms.map((atom) => [atom.name, atom.shown])));
  };
  setTimeout(make, 0); // the box must have its size first
  const select = large
    ? h("label", {}, `It has ${nodes.size} nodes; show `, h("select", {
        onchange: (event: Event) => { chosenAction = (event.target as HTMLSelectElement).value; make(); },
      }, rules.actions.map((action) => h("option", { selected: action === chosenAction }, shown(action)))))
    : null;
  if (large && chosenAction === "") chosenAction = rules.actions[0] ?? "";
  return h("div", {}, select,
    h("p", { class: "hint graph-key" }, h("span", { class: "needs-key" }), "needs", h("span", { class: "adds-key" }), "makes true", h("span", { class: "deletes-key" }), "makes false"), host);
}

function drawGraph(host: HTMLElement, rules: Rule[], names: Map<string, string>): void {
  if (!registered) cytoscape.use(dagre);
  registered = true;
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const nodes = new Map<string, { group: "nodes"; data: { id: string; label: string; width: number }; classes: string }>();
  const named = (id: string, text: string) => ({ id, label: shown(text), width: 7.4 * Math.min(40, shown(text).length) + 28 });
  const edges = rules.map((rule, i) => {
    const action = `a ${rule.action}`, atom = `p ${rule.predicate}`;
    nodes.set(action, { group: "nodes", data: named(action, rule.action), classes: "action" });
    nodes.set(atom, { group: "nodes", data: named(atom, names.get(rule.predicate) ?? rule.predicate), classes: "atom" });
    const [source, target] = rule.part === "needs" ? [atom, action] : [action, atom];
    return { group: "edges" as const, data: { id: `e${i}`, source, target }, classes: `${rule.part} ${rule.level}` };
  });
  const drawn = cytoscape({
    container: host,
    elements: [...nodes.values(), ...edges],
    userZoomingEnabled: false,
    autounselectify: true,
    style: [
      { selector: "node", style: { label: "data(label)", "text-valign": "center", "text-wrap": "ellipsis", "text-max-width": 300, "text-halign": "center", "font-size": 13, "font-family": "system-ui, sans-serif", color: colour("--ink"), width: "data(width)", height: 32, "border-width": 1, "background-color": colour("--page"), "border-color": colour("--soft") } as never },
      { selector: "node.action", style: { shape: "round-rectangle", "background-color": colour("--panel"), "font-weight": "bold" } as never },
      { selector: "node.atom", style: { shape: "ellipse" } },
      { selector: "edge", style: { width: 1.6, "curve-style": "bezier", "target-arrow-shape": "triangle", "line-color": colour("--soft"), "target-arrow-color": colour("--soft"), "arrow-scale": 0.9 } },
      { selector: "edge.adds", style: { "line-color": colour("--yes"), "target-arrow-color": colour("--yes") } },
      { selector: "edge.deletes", style: { "line-color": colour("--no"), "target-arrow-color": colour("--no"), "line-style": "dashed", "target-arrow-shape": "tee" } },
    ],
    layout: { name: "preset" },
  });
  fit(drawn, host);
  drawn.on("tap", "node", (event) => {
    drawn.elements().removeClass("dim");
    const near = event.target.closedNeighborhood();
    drawn.elements().difference(near).forEach((element) => { element.style("opacity", 0.2); });
    near.forEach((element: cytoscape.SingularElementArgument) => { element.style("opacity", 1); });
  });
  drawn.on("tap", (event) => {
    if (event.target === drawn) drawn.elements().forEach((element) => { element.style("opacity", 1); });
  });
}

/** From left to right or from top to bottom, whichever leaves larger letters; the box is as high as the graph. */
function fit(drawn: cytoscape.Core, host: HTMLElement): void {
  const edge = 18, width = host.clientWidth - 2 * edge;
  const lay = (rankDir: string) => {
    drawn.layout({ name: "dagre", rankDir, nodeSep: 34, rankSep: rankDir === "LR" ? 96 : 64, fit: false, animate: false } as never).run();
    const box = drawn.elements().boundingBox();
    return { rankDir, box, zoom: Math.min(LARGEST_ZOOM, width / box.w, (0.9 * innerHeight - 2 * edge) / box.h) };
  };
  const across = lay("LR"), down = lay("TB");
  const chosen = across.zoom >= down.zoom ? lay("LR") : down;
  host.style.height = `${Math.ceil(Math.max(150, chosen.box.h * chosen.zoom + 2 * edge))}px`;
  drawn.resize();
  drawn.zoom(chosen.zoom);
  drawn.center();
}

const PDDL = StreamLanguage.define<{ first: boolean }>({
  name: "pddl",
  startState: () => ({ first: false }),
  token(stream, state) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^;.*/)) return "comment";
    if (stream.eat("(")) {
      state.first = true;
      return "bracket";
    }
    if (stream.eat(")")) return "bracket";
    const wasFirst = state.first;
    state.first = false;
    if (stream.match(/^:[^\s()]+/)) return "keyword";
    if (stream.match(/^\?[^\s()]+/)) return "variableName";
    stream.match(/^[^\s()]+/);
    return /^(define|domain|problem|and|not)$/.test(stream.current()) ? "keyword" : wasFirst ? "propertyName" : null;
  },
});

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--link)" }, { tag: tags.variableName, color: "var(--no)" },
  { tag: tags.propertyName, fontWeight: "600" }, { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
]);
const LOOKS = EditorView.theme({
  "&": { fontSize: "0.86rem", color: "var(--ink)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", maxHeight: "34rem" },
  "@media print": { ".cm-scroller": { maxHeight: "none" } },
  ".cm-content": { padding: "0.7rem 0" },
  ".cm-gutters": { background: "var(--panel)", color: "var(--soft)", borderRight: "1px solid var(--rule)" },
});

function pddl(app: App): HTMLElement {
  const files = app.record.pddl;
  if (files.length === 0) return h("p", { class: "hint" }, "The PDDL is too large for this page; it is in the run folder.");
  chosenFile = Math.min(chosenFile, files.length - 1);
  const [name, text] = files[chosenFile]!;
  const host = h("div", { class: "code" });
  const root = host.attachShadow({ mode: "open" }); // there CodeMirror's styles need no <style>, which the policy refuses
  const editor = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorState.readOnly.of(true), EditorView.editable.of(false), lineNumbers(), PDDL, LOOKS, syntaxHighlighting(COLOURS),
        EditorView.contentAttributes.of({ "aria-label": name, tabindex: "0", role: "textbox", "aria-readonly": "true", "aria-multiline": "true" }),
      ],
    }),
  });
  setTimeout(() => editor.requestMeasure(), 0); // lines have no height before they are on the page
  const button = h("button", {
    type: "button", class: "plain", "data-key": "copy-pddl", onclick: async () => {
      button.textContent = (await copy(text)) ? "Copied" : "Select the text to copy it";
    },
  }, "Copy");
  return h("div", {},
    h("p", { class: "buttons" }, files.map(([title], i) => h("button", {
      type: "button", class: "plain", "aria-pressed": String(i === chosenFile), "data-key": `file-${title}`,
      onclick: () => { chosenFile = i; app.changed(); },
    }, title)), button), host);
}
