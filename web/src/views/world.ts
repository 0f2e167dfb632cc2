// The World tab: the state, what can be done in it, and why.

import type { LogPlace } from "../engine/certainty";
import type { Place, Support } from "../engine/record";
import { LEVELS, type Judged, type Level, type View } from "../engine/session";
import { formatTrace, parseTrace } from "../engine/trace_text";
import { LiftedWorld, type GroundedAction } from "../engine/world";
import type { App } from "./app";
import { called, copy, count, h, shown } from "./dom";
import { draw } from "./drawing";
import { mark, SENTENCES, sureness, WORDS } from "./marks";

const MOST_ROWS = 250; // of the list of actions, before more are asked for
const MOST_CHIPS = 400;
const FEW_LINES = 3; // of a proof: more of what is ruled out are folded
const IF_AT_ALL = "if it can be tried at all";
const READING = "“_” is any object. “The start of b” is all that was so of b before the first step; “with nothing since”: no step about it came after.";

interface Choices {
  filter: string;
  hidden: Set<Level>;
  tried: boolean;
  rows: number;
  editing: boolean;
  falseToo: boolean;
}
const choices: Choices = { filter: "", hidden: new Set(), tried: true, rows: MOST_ROWS, editing: false, falseToo: false };

export function worldView(app: App): HTMLElement {
  const view = app.session.look(app.trace);
  const { names, more } = app.session.actions(app.trace, choices.tried);
  const judged = names.map((name) => app.session.judge(view, name));
  return h("div", { class: "world" },
    traceBar(app, view),
    h("div", { class: "columns" },
      h("section", { class: "box state", "aria-labelledby": "state-title" },
        h("h2", { id: "state-title" }, "State"), stateView(app, view, names)),
      h("section", { class: "box actions", "aria-labelledby": "actions-title" },
        h("h2", { id: "actions-title" }, "Actions"), actionList(app, judged, more)),
      h("section", { class: "box why", "aria-labelledby": "why-title", id: "why" },
        h("h2", { id: "why-title" }, "Why"), whyView(app, view)),
    ),
  );
}

// --- the trace -------------------------------------------------------------------------------------------------------

function traceBar(app: App, view: View): HTMLElement {
  const { record, trace } = app;
  const startOf = JSON.stringify([trace.init, trace.state]);
  const known = record.starts.findIndex((start) => JSON.stringify([start.init, start.state]) === startOf);
  const select = h("select", {
    id: "start", "data-key": "start",
    onchange: () => {
      app.selected = null;
      app.setTrace({ ...app.beginning(Number(select.value)) }, "a new start");
    },
  }, record.starts.map((start, i) => h("option", { value: i, selected: i === known }, shown(start.label))),
  known < 0 && h("option", { value: -1, selected: true, disabled: true }, "a start of your own"));
  const button = (label: string, key: string, act: () => void, disabled = false, more: Record<string, string> = {}) =>
    h("button", { type: "button", class: "plain", "data-key": key, disabled, onclick: act, ...more }, label);
  const share = button("Copy link", "share", async () => {
    const address = location.href.replace(/#.*$/, "") + app.fragment;
    if (await copy(address)) share.textContent = "Copied";
    else share.textContent = app.hasAddress ? "It is in the address bar" : "Cannot be copied here";
  });
  const first = Math.max(0, trace.steps.length - MOST_CHIPS);
  return h("section", { class: "trace", "aria-labelledby": "trace-title" },
    h("div", { class: "trace-head" },
      h("h2", { id: "trace-title" }, "Trace"),
      h("label", { for: "start", class: "start-label" }, "begins ", select),
      h("div", { class: "trace-buttons" },
        button("Undo", "undo", () => app.undo(), !app.canUndo, { title: "Ctrl+Z" }),
        button("Redo", "redo", () => app.redo(), !app.canRedo, { title: "Ctrl+Shift+Z" }),
        button("Clear", "clear", () => {
          app.selected = null;
          app.setTrace({ ...trace, steps: [] }, "no steps");
        }, trace.steps.length === 0),
        button(choices.editing ? "Close the editor" : "Edit or paste", "edit", () => {
          choices.editing = !choices.editing;
          app.changed();
          if (choices.editing) document.getElementById("trace-text")?.focus();
        }, false, { "aria-expanded": String(choices.editing) }),
        share,
      ),
    ),
    choices.editing ? editor(app) : null,
    trace.steps.length === 0
      ? h("p", { class: "hint" }, "No step yet: click an action that works.")
      : h("ol", { class: "steps", start: first + 1, "data-scroll": "steps" },
          first > 0 && h("li", { class: "hint" }, `${count(first, "earlier step")} …`),
          trace.steps.slice(first).map(([name, ok], i) => stepChip(app, name, ok, first + i))),
    view.standing?.contradiction
      ? h("p", { class: "warning" }, `Nothing is certain here: no model explains the label at ${shown(view.standing.certainty.where(view.standing.contradiction))}.`)
      : null,
  );
}

function stepChip(app: App, name: string, ok: boolean, index: number): HTMLElement {
  const chosen = app.selected?.at === index;
  return h("li", {},
    h("button", {
      type: "button", class: `step ${ok ? "" : "no"}`, "data-key": `step-${index}`, "aria-pressed": String(chosen),
      "aria-label": `step ${index + 1}: ${called(name)}, ${ok ? "worked" : "was refused"}`,
      onclick: () => {
        app.selected = { action: name, at: index };
        app.changed();
      },
    }, h("span", { class: "number" }, String(index + 1)), called(name), ok ? null : h("span", { class: "bang" }, " refused")),
  );
}

function editor(app: App): HTMLElement {
  const problem = h("p", { class: "warning", role: "alert" });
  const text = h("textarea", {
    id: "trace-text", rows: 6, spellcheck: "false", value: formatTrace(app.trace), "aria-describedby": "trace-help",
  });
  const apply = () => {
    try {
      const trace = parseTrace(text.value, app.trace);
      for (const [name] of trace.steps) app.session.grounded(name);
      app.session.look(trace);
      choices.editing = false;
      app.selected = null;
      app.setTrace(trace, `the trace has ${count(trace.steps.length, "step")}`);
    } catch (error) {
      const said = (error as Error).message;
      problem.textContent = (error as Error).constructor.name === "UnknownName" || /^unknown/.test(said) ? "" : shown(said);
      const unknown = unknownName(app, text.value);
      if (unknown !== null) problem.textContent = `“${called(unknown)}” is no action that is known here.`;
    }
  };
  return h("div", { class: "editor" },
    h("label", { for: "trace-text" }, "Steps, one a line"),
    text,
    h("p", { id: "trace-help", class: "hint" },
      "“!” behind a step: it was refused. “atoms; of; the start | steps” begins somewhere else, “@name | steps” at a named start."),
    problem,
    h("button", { type: "button", class: "primary", "data-key": "apply-text", onclick: apply }, "Take this trace"),
  );
}

function unknownName(app: App, text: string): string | null {
  try {
    for (const [name] of parseTrace(text, app.trace).steps) if (app.session.world?.action(name) === null) return name;
  } catch {
    return null;
  }
  return null;
}

// --- the state -------------------------------------------------------------------------------------------------------

function stateView(app: App, view: View, names: string[]): HTMLElement {
  const world = app.session.need();
  const atoms = app.session.atoms(app.trace, names);
  const isTrue = atoms.filter((atom) => view.state.holds(atom));
  const words = isTrue.map((atom) => world.atomWords(atom));
  const picture = draw(words, app.session, app.trace, names);
  const last = app.trace.steps.length - 1;
  const fresh = new Set(atoms.filter((atom) => last >= 0 && view.state.since.get(atom) === last));
  const chip = (atom: string, holds: boolean) =>
    h("li", { class: `atom ${holds ? "" : "false"} ${fresh.has(atom) ? "fresh" : ""} ${meaningOf(app, atom) ? "invented" : ""}`, title: meaningOf(app, atom) },
      called(atom), holds ? null : h("span", { class: "sr" }, " is false"), fresh.has(atom) ? h("span", { class: "sr" }, ", just changed") : null);
  const sorted = (list: string[]) => [...list].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const rest = sorted(atoms.filter((atom) => !view.state.holds(atom)));
  const inside: (Node | null)[] = [];
  if (picture !== null) inside.push(h("figure", { class: "drawing" }, picture));
  else if (words.some((found) => found.length > 1)) inside.push(cards(app, words));
  inside.push(
    h("h3", {}, picture !== null ? "True now" : words.some((found) => found.length > 1) ? "All that is true" : "True now"),
    isTrue.length > 0 ? h("ul", { class: "atoms" }, sorted(isTrue).map((atom) => chip(atom, true))) : h("p", { class: "hint" }, "No atom is true."),
    isTrue.some((atom) => meaningOf(app, atom))
      ? h("p", { class: "hint words" }, "In italics: atoms that the learner invented. ",
          h("button", { type: "button", class: "link", "data-key": "meanings", onclick: () => app.show("model") }, "What they mean"))
      : null,
    rest.length > 0
      ? h("details", {
          open: choices.falseToo,
          ontoggle: (event: Event) => (choices.falseToo = (event.target as HTMLDetailsElement).open),
        }, h("summary", {}, `${count(rest.length, "atom")} ${rest.length === 1 ? "is" : "are"} false`),
        h("ul", { class: "atoms" }, rest.slice(0, 300).map((atom) => chip(atom, false))))
      : null,
  );
  return h("div", {}, inside);
}

/** Any world: a card for each object, with what holds of it. */
function cards(app: App, words: string[][]): HTMLElement {
  const about = new Map<string, string[][]>();
  for (const name of [...app.session.objects(app.trace)].sort((a, b) => a.localeCompare(b, "en", { numeric: true }))) about.set(name, []);
  for (const found of words) for (const name of new Set(found.slice(1))) about.get(name)?.push(found);
  const shownCards = [...about].filter(([, held]) => held.length > 0).slice(0, 60);
  return h("ul", { class: "cards" }, shownCards.map(([name, held]) =>
    h("li", { class: "card" }, h("b", {}, called(name)),
      h("ul", {}, held.slice(0, 8).map(([predicate, ...args]) =>
        h("li", {}, shown(args.length === 1 ? predicate! : `${predicate} ${args.map((x) => (x === name ? "·" : x)).join(" ")}`)))))));
}

// --- what can be done ------------------------------------------------------------------------------------------------

function actionList(app: App, judged: Judged[], more: boolean): HTMLElement {
  const counts = new Map<Level, number>(LEVELS.map((level) => [level, 0]));
  for (const one of judged) counts.set(one.level, counts.get(one.level)! + 1);
  const list = h("div", { class: "list", "data-scroll": "actions" });
  const knows = app.session.certainty !== null;
  const fill = () => {
    const words = choices.filter.toLowerCase();
    const order = (one: Judged) => LEVELS.indexOf(one.level);
    const chosen = judged
      .filter((one) => !choices.hidden.has(one.level) && one.action.name.toLowerCase().includes(words))
      .sort((a, b) => order(a) - order(b) || a.action.name.localeCompare(b.action.name, "en", { numeric: true }));
    const groups = new Map<string, Judged[]>();
    for (const one of chosen.slice(0, choices.rows)) groups.set(one.action.schema, [...(groups.get(one.action.schema) ?? []), one]);
    const flat = [...groups.values()].every((group) => group.length === 1);
    list.replaceChildren(
      ...(flat
        ? [h("ul", {}, chosen.slice(0, choices.rows).map((one) => actionRow(app, one)))]
        : [...groups].map(([schema, group]) => h("div", { class: "group" }, h("h3", {}, shown(schema)), h("ul", {}, group.map((one) => actionRow(app, one)))))),
      ...(chosen.length > choices.rows
        ? [h("button", { type: "button", class: "plain", onclick: () => { choices.rows += 1000; fill(); } }, `Show ${(chosen.length - choices.rows).toLocaleString("en-US")} more`)]
        : []),
      ...(chosen.length === 0 ? [h("p", { class: "hint" }, "No action fits.")] : []),
      ...(more ? [h("p", { class: "hint" }, "There are more actions than the page lists; ask for one in the trace editor.")] : []),
    );
  };
  const legend = LEVELS.filter((level) => knows || (level !== "works" && level !== "refused" && level !== "open")).map((level) =>
    h("button", {
      type: "button", class: `level ${level}`, "aria-pressed": String(!choices.hidden.has(level)), "data-key": `level-${level}`,
      title: SENTENCES[level],
      onclick: () => {
        if (choices.hidden.has(level)) choices.hidden.delete(level);
        else choices.hidden.add(level);
        app.changed();
      },
    }, mark(level), h("span", {}, WORDS[level]), h("span", { class: "count" }, String(counts.get(level)))),
  );
  const lifted = app.session.world instanceof LiftedWorld && app.session.world.record.relations.length > 0;
  const filter = h("input", {
    type: "search", placeholder: "Filter", "aria-label": "Filter actions", "data-key": "filter", value: choices.filter,
    oninput: () => { choices.filter = filter.value; fill(); },
  });
  fill();
  list.addEventListener("keydown", moveFocus);
  return h("div", { class: "action-box" },
    h("div", { class: "legend", role: "group", "aria-label": "Show actions that" }, legend),
    knows ? null : h("p", { class: "hint" }, app.record.limits[0] ?? `The learner ${app.record.learner} does not know what is certain; all of this is its model's word.`),
    h("div", { class: "filters" }, filter,
      lifted && h("label", {}, h("input", {
        type: "checkbox", checked: choices.tried, "data-key": "tried",
        onchange: () => { choices.tried = !choices.tried; app.changed(); },
      }), " only objects that the log tries together")),
    list,
  );
}

function actionRow(app: App, one: Judged): HTMLElement {
  const name = one.action.name;
  const selected = app.selected?.action === name && app.selected.at === app.trace.steps.length;
  const together = app.session.isTogether(name);
  return h("li", {},
    h("button", {
      type: "button", class: `action ${one.level}${together ? "" : " apart"}`, "data-key": `action-${name}`, "data-action": name, "data-level": one.level,
      "aria-pressed": String(selected),
      "aria-label": `${called(name)}: ${WORDS[one.level]}${together ? "" : `, ${IF_AT_ALL}`}`, title: together ? null : apart(one.action.schema),
      onclick: () => {
        if (together && (one.level === "works" || one.level === "likely")) app.step(name, true);
        else {
          app.selected = { action: name, at: app.trace.steps.length };
          app.message = `${name}: ${WORDS[one.level]}`;
          app.changed();
          if (matchMedia("(max-width: 60rem)").matches) document.getElementById("why")?.scrollIntoView({ behavior: "smooth" });
        }
      },
    }, mark(one.level), h("span", { class: "name" }, called(name)),
      h("span", { class: "word" }, WORDS[one.level], together ? null : h("span", { class: "if" }, IF_AT_ALL))),
    h("button", {
      type: "button", class: "ask", "data-key": `why-${name}`, "data-why": name, "aria-label": `why ${called(name)}`, title: "Why?",
      onclick: () => {
        app.selected = { action: name, at: app.trace.steps.length };
        app.changed();
        if (matchMedia("(max-width: 60rem)").matches) document.getElementById("why")?.scrollIntoView({ behavior: "smooth" });
      },
    }, "?"),
  );
}

/** What “for certain” does not cover: it takes the told atoms of a start for all that matters. */
function apart(schema: string): string {
  return `The log tries ${shown(schema)} with some objects together only, and never with these. If something decides that of`
    + " which no trace tells, such as a street between two cells, it cannot be done at all. So nothing is certain here.";
}

/** Up and down go from action to action. */
function moveFocus(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const list = event.currentTarget as HTMLElement;
  const buttons = [...list.querySelectorAll<HTMLElement>("button.action")];
  const at = buttons.indexOf(document.activeElement as HTMLElement);
  const to = buttons[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  to.focus();
}

// --- why -------------------------------------------------------------------------------------------------------------

function whyView(app: App, now: View): HTMLElement {
  const { selected } = app;
  if (selected === null || app.session.world?.action(selected.action) == null) {
    return h("p", { class: "hint" }, "Choose an action or a step of the trace: here is what it needs, what made that false, and the lines of the log that prove it.");
  }
  const steps = app.trace.steps;
  const isStep = selected.at < steps.length;
  const view = isStep ? app.session.look({ ...app.trace, steps: steps.slice(0, selected.at) }) : now;
  const judged = app.session.judge(view, selected.action);
  const { action, level } = judged;
  const together = app.session.isTogether(action.name);
  const happened = isStep ? steps[selected.at]![1] : null;
  return h("div", { class: `reason ${level}`, "data-why-level": level },
    h("p", { class: "about" }, isStep ? `Step ${selected.at + 1}` : steps.length > 0 ? `After ${count(steps.length, "step")}` : "At the start"),
    h("p", { class: "verdict" }, mark(level), h("span", {}, h("b", {}, called(action.name)), h("span", { class: "word" }, ` ${WORDS[level]}${together ? "" : `, ${IF_AT_ALL}`}`))),
    h("p", {}, SENTENCES[level],
      happened === null ? "" : happened ? " In this trace it worked." : " In this trace it was refused."),
    together ? null : h("p", { class: "apart-note" }, apart(action.schema)),
    !together || app.session.isTried(action.name) ? null
      : h("p", { class: "hint untried" }, "The log never tries this with these objects. What is said here assumes that it can be tried at all."),
    buttons(app, action, level, isStep ? selected.at : null),
    needs(app, view, action),
    proof(app, view, action),
    effects(action),
    app.record.assumptions.length > 0 && app.session.certainty !== null
      ? h("details", {}, h("summary", {}, "What “for certain” assumes"),
          h("ul", {}, app.record.assumptions.map((text) => h("li", {}, shown(text))),
            h("li", {}, "the steps of this trace happened as it says")))
      : null,
  );
}

function buttons(app: App, action: GroundedAction, level: Level, at: number | null): HTMLElement {
  const { trace } = app;
  if (at === null) {
    const works = (level === "works" || level === "likely") && app.session.isTogether(action.name);
    return h("p", { class: "buttons" },
      h("button", { type: "button", class: works ? "primary" : "plain", "data-key": "apply", onclick: () => app.step(action.name, true) }, works ? "Apply it" : "Suppose it works"),
      h("button", { type: "button", class: "plain", "data-key": "refuse", onclick: () => app.step(action.name, false) }, "Suppose it is refused"));
  }
  const change = (steps: [string, boolean][], message: string) => {
    app.selected = null;
    app.setTrace({ ...trace, steps }, message);
  };
  return h("p", { class: "buttons" },
    h("button", { type: "button", class: "plain", "data-key": "back", onclick: () => change(trace.steps.slice(0, at), `back to step ${at}`) }, "Go back to before it"),
    h("button", { type: "button", class: "plain", "data-key": "drop", onclick: () => change(trace.steps.filter((_, i) => i !== at), "step taken out") }, "Take it out"),
    h("button", { type: "button", class: "plain", "data-key": "flip", onclick: () => change(trace.steps.map(([name, ok], i) => [name, i === at ? !ok : ok]), "label turned") },
      trace.steps[at]![1] ? "It was refused" : "It worked"));
}

function needs(app: App, view: View, action: GroundedAction): HTMLElement {
  const evidence = evidenceOf(app, action.name);
  if (action.pre.length === 0) return h("p", { class: "hint" }, "In the model it needs nothing.");
  return h("div", {},
    h("h3", {}, "In the model it needs"),
    h("ul", { class: "needs" }, action.pre.map((atom, k) => {
      const holds = view.state.holds(atom);
      const since = view.state.since.get(atom);
      const step = since === undefined ? null : view.trace.steps[since]!;
      const support = evidence?.pre[k];
      return h("li", { class: holds ? "holds" : "fails" },
        h("span", { class: "tick", "aria-hidden": "true" }, holds ? "✓" : "✗"),
        h("span", {},
          h("b", {}, called(atom)), holds ? " is true" : " is false",
          step !== null ? `, since step ${since! + 1}: ${called(step[0])}` : ", since the start",
          meaningOf(app, atom) ? h("span", { class: "evidence" }, meaningOf(app, atom)) : null,
          support ? h("span", { class: "evidence" }, sureness(support.level), ` that it is needed: ${support.level}`, placesOf(support)) : null));
    })));
}

/** What an invented atom seems to mean, or nothing: names that the log knows speak for themselves. */
function meaningOf(app: App, atom: string): string | null {
  const predicate = app.session.need() instanceof LiftedWorld ? app.session.need().atomWords(atom)[0] : atom;
  const found = app.record.rules?.atoms.find((one) => one.name === predicate && !one.told);
  if (!found) return null;
  const said = found.meaning.split("; ").filter((part) => !/ needs? it$/.test(part)).join("; ");
  return said === "" ? null : shown(`${found.shown}: ${said}`);
}

function placesOf(support: Support): string {
  return support.places.length > 0 ? ` (${support.places.map(shown).join("; ")})` : "";
}

export interface Evidence {
  pre: Support[];
  add: Support[];
  delete: Support[];
}

/** How sure the parts of an action are; the page has them in the order of the lifted actions. */
export function evidenceOf(app: App, name: string): Evidence | null {
  const world = app.session.world;
  if (!(world instanceof LiftedWorld) || app.record.support.length === 0) return null;
  const [schema] = world.naming.schema(name);
  let at = 0;
  const take = (places: Place[]) => app.record.support.slice(at, (at += places.length));
  for (const action of world.record.actions) {
    const found = { pre: take(action.pre), add: take(action.add), delete: take(action.delete) };
    if (action.name === schema.name && action.pattern.join() === schema.pattern.join()) return found;
  }
  return null;
}

function proof(app: App, view: View, action: GroundedAction): HTMLElement | null {
  const found = app.session.explain(view, action.name);
  if (found === null) return null;
  const { reply } = found;
  const of = reply.live + reply.ruledOut;
  const title = reply.answer === "open" && reply.live === 0 && reply.apart.length > 0 ? "Open: never tried with these objects" : reply.answer === "open" ? `Open: ${reply.live} of ${count(of, "reason")} to refuse it ${reply.live === 1 ? "is" : "are"} left` : "What the log proves";
  const unique = new Map(found.places.map((place) => [`${place.trace}/${place.attempt}`, place]));
  const lines = (texts: string[]) => h("ul", {}, texts.map((line) => h("li", { class: line.startsWith("  ") ? "deeper" : "" }, shown(line.trim()))));
  const left = found.because.filter((line) => line.startsWith("perhaps ")); // of an open one: these come first
  const out = found.because.filter((line) => !left.includes(line));
  const fold = left.length > 0 && out.length > FEW_LINES;
  return h("div", { class: "proof" },
    h("h3", {}, title),
    left.length > 0 ? lines(left) : null,
    out.length === 0 ? null : fold ? h("details", { class: "ruled-out" }, h("summary", {}, `${count(out.length, "reason")} that the log rules out`), lines(out)) : lines(out),
    h("p", { class: "hint reading" }, READING),
    unique.size > 0
      ? h("p", { class: "lines" }, "Log lines: ", [...unique.values()].slice(0, 30).map((place) => placeLink(app, place)))
      : null);
}

function placeLink(app: App, place: LogPlace): HTMLElement {
  const text = shown(app.session.certainty!.where(place));
  const kept = app.record.log.traces.some((trace) => trace.number === place.trace);
  if (!kept) return h("span", { class: "place" }, text);
  return h("button", {
    type: "button", class: "place", onclick: () => {
      app.shownTrace = { number: place.trace, attempt: place.attempt };
      app.show("log");
    },
  }, text);
}

function effects(action: GroundedAction): HTMLElement {
  const part = (title: string, atoms: string[]) =>
    h("div", {}, h("dt", {}, title), h("dd", {}, atoms.length > 0 ? atoms.map(called).join(", ") : "nothing"));
  return h("dl", { class: "effects" }, part("makes true", action.add), part("makes false", action.delete));
}
