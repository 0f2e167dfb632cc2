// The Plan tab: what is wanted, a plan for it, and how sure each step is.

import { search } from "../engine/search";
import type { Trace } from "../engine/record";
import type { Level } from "../engine/session";
import type { App } from "./app";
import { called, count, h, shown } from "./dom";
import { mark, WORDS } from "./marks";

interface Wanted {
  true: Set<string>;
  false: Set<string>;
  enable: string;
}
const wanted: Wanted = { true: new Set(), false: new Set(), enable: "" };
let found: { from: Trace; plan: string[]; levels: Level[]; said: string } | null = null;
let said = "";
let at = 0;
let asking = false;

export function planView(app: App): HTMLElement {
  const view = app.session.look(app.trace);
  const { names } = app.session.actions(app.trace, true);
  const atoms = app.session.atoms(app.trace, names).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return h("div", { class: "plan" },
    h("p", { class: "hint" }, `The plan begins where the trace of the World tab ends: after ${count(app.trace.steps.length, "step")}.`),
    h("div", { class: "two" },
      h("section", { class: "box", "aria-labelledby": "goal-title" }, h("h2", { id: "goal-title" }, "Goal"), goal(app, atoms, names, (atom) => view.state.holds(atom))),
      h("section", { class: "box", "aria-labelledby": "plan-title" }, h("h2", { id: "plan-title" }, "Plan"), result(app)),
    ));
}

function goal(app: App, atoms: string[], names: string[], holds: (atom: string) => boolean): HTMLElement {
  for (const kept of [wanted.true, wanted.false]) for (const atom of kept) if (!atoms.includes(atom)) kept.delete(atom);
  const list = h("datalist", { id: "atoms" }, atoms.map((atom) => h("option", { value: atom })));
  const problem = h("p", { class: "warning", role: "alert" });
  const input = h("input", { list: "atoms", id: "goal-atom", "data-key": "goal-atom", placeholder: atoms[0] ? called(atoms[0]) : "", autocomplete: "off" });
  const put = (into: Set<string>, other: Set<string>) => {
    const atom = input.value.trim();
    if (!atoms.includes(atom)) {
      problem.textContent = `“${called(atom)}” is no atom here: choose one of the list.`;
      return;
    }
    other.delete(atom);
    into.add(atom);
    said = "";
    found = null;
    app.changed();
  };
  const chips = (kept: Set<string>, text: string) => [...kept].map((atom) =>
    h("li", {}, h("button", { type: "button", class: "chip", title: "Take it out", "aria-label": `${called(atom)} ${text}: take it out`, onclick: () => { kept.delete(atom); found = null; app.changed(); } },
      called(atom), ` ${text}`, h("span", { class: "hint" }, holds(atom) === (text === "true") ? " (so already)" : ""), " ×")));
  const enable = h("select", { id: "enable", "data-key": "enable", onchange: () => { wanted.enable = enable.value; found = null; } },
    h("option", { value: "" }, "no action"), names.slice(0, 2000).map((name) => h("option", { value: name, selected: name === wanted.enable }, called(name))));
  const serve = app.record.serve;
  return h("div", {},
    h("label", { for: "goal-atom" }, "Atom"), input, list,
    h("p", { class: "buttons" },
      h("button", { type: "button", class: "plain", "data-key": "want-true", onclick: () => put(wanted.true, wanted.false) }, "must be true"),
      h("button", { type: "button", class: "plain", "data-key": "want-false", onclick: () => put(wanted.false, wanted.true) }, "must be false")),
    problem,
    wanted.true.size + wanted.false.size > 0 ? h("ul", { class: "chips" }, chips(wanted.true, "true"), chips(wanted.false, "false")) : null,
    h("label", { for: "enable" }, "Make this action possible"), enable,
    h("p", { class: "buttons" },
      h("button", { type: "button", class: "primary", "data-key": "find", disabled: asking, onclick: () => findHere(app, names) }, "Find a plan"),
      serve ? serve.planners.map((planner) => h("button", { type: "button", class: "plain", "data-key": `ask-${planner}`, disabled: asking, onclick: () => askServer(app, planner) }, `Ask ${planner}`)) : null),
    serve
      ? h("p", { class: "hint" }, "“Find a plan” searches in this page; the planner runs on your machine.")
      : h("p", { class: "hint" }, "A small search in this page; ", h("code", {}, "trace2strips explore RUN --serve"), " offers real planners."));
}

function aims(app: App): { true: string[]; false: string[] } | null {
  const needs = wanted.enable === "" ? [] : app.session.grounded(wanted.enable).pre;
  const all = [...new Set([...wanted.true, ...needs])];
  if (all.length + wanted.false.size > 0 || wanted.enable !== "") return { true: all, false: [...wanted.false] };
  said = "Choose what is to be true or false, or an action.";
  return null;
}

function findHere(app: App, names: string[]): void {
  found = null;
  at = 0;
  const goal = aims(app);
  if (goal !== null) {
    const clash = goal.true.find((atom) => goal.false.includes(atom));
    const view = app.session.look(app.trace);
    const result = clash === undefined ? search(view.state, goal, names.map((name) => app.session.grounded(name))) : null;
    if (result === null) said = `${shown(clash!)} cannot be true and false.`;
    else if (result.plan === null) said = result.complete ? "There is no plan in the model: all states that can be reached were looked at." : `No plan was found in ${result.states.toLocaleString("en-US")} states; there may be one.`;
    else show(app, result.plan, `${result.shortest ? "A shortest plan" : "A plan"}, found here; ${count(result.states, "state")} looked at.`);
  }
  app.changed();
}

function show(app: App, plan: string[], text: string): void {
  const from = app.trace;
  const levels: Level[] = [];
  plan.forEach((name, i) => {
    const before: Trace = { ...from, steps: [...from.steps, ...plan.slice(0, i).map((step): [string, boolean] => [step, true])] };
    levels.push(app.session.judge(app.session.look(before), name).level);
  });
  said = "";
  found = { from, plan, levels, said: text };
}

async function askServer(app: App, planner: string): Promise<void> {
  found = null;
  at = 0;
  const goal = aims(app);
  if (goal === null) return app.changed();
  asking = true;
  said = `${planner} is searching …`;
  app.changed();
  try {
    const reply = await fetch("plan", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ planner, trace: app.trace, ...goal }) });
    const answer = (await reply.json()) as { plan?: string[] | null; status?: string; error?: string };
    if (answer.error !== undefined) said = answer.error;
    else if (answer.plan) show(app, answer.plan, `A plan by ${planner}.`);
    else said = `${planner}: ${answer.status ?? "no plan"}.`;
  } catch {
    said = "The server does not answer; is `trace2strips explore --serve` still running?";
  }
  asking = false;
  app.changed();
}

function result(app: App): HTMLElement {
  if (found === null) return h("p", { class: said === "" ? "hint" : "", role: "status" }, said === "" ? "No plan yet." : shown(said));
  const { plan, levels, from } = found;
  if (plan.length === 0) return h("p", {}, "Nothing has to be done: it is so already.");
  const sure = levels.filter((level) => level === "works").length;
  const go = (to: number) => {
    at = to;
    app.selected = null;
    app.setTrace({ ...from, steps: [...from.steps, ...plan.slice(0, to).map((name): [string, boolean] => [name, true])] }, `step ${to} of the plan`);
  };
  return h("div", {},
    h("p", {}, found.said, ` ${count(plan.length, "step")}`,
      app.session.certainty === null ? "." : sure === plan.length ? ", all of them certain: it works in every model that fits the log." : `, ${sure} of them certain.`),
    h("ol", { class: "plan-steps" }, plan.map((name, i) =>
      h("li", { class: i < at ? "done" : "", "aria-current": i === at - 1 ? "step" : null },
        h("button", { type: "button", class: `action ${levels[i]}`, "data-level": levels[i], "data-key": `plan-${i}`, "aria-label": `step ${i + 1}: ${called(name)}, ${WORDS[levels[i]!]}`, onclick: () => go(i + 1) },
          mark(levels[i]!), h("span", { class: "name" }, called(name)), h("span", { class: "word" }, WORDS[levels[i]!]))))),
    h("p", { class: "buttons" },
      h("button", { type: "button", class: "plain", "data-key": "plan-back", disabled: at === 0, onclick: () => go(at - 1) }, "Back"),
      h("button", { type: "button", class: "primary", "data-key": "plan-next", disabled: at === plan.length, onclick: () => go(at + 1) }, at === 0 ? "Step through" : "Next"),
      h("button", { type: "button", class: "plain", "data-key": "plan-world", onclick: () => app.show("world") }, "See it in the world")),
    at > 0 ? h("p", { class: "hint" }, `${at} of ${plan.length} steps are done in the World tab.`) : null);
}
