// The page's answers without a page: what tests ask, in the bundle that the page runs.

import { Naming } from "./naming";
import { readTrace } from "./reading";
import type { NamingRecord, PageRecord, Trace } from "./record";
import { search, type Goal } from "./search";
import { Session } from "./session";

interface Question {
  trace: Trace;
  ask: string[];
}

/** For each question and each action: answer, guess, live, ruled out, level and the sentences of the proof. */
export function answerAll(record: PageRecord, questions: Question[]) {
  const session = new Session(record);
  return questions.map(({ trace, ask }) => {
    const view = session.look(trace);
    return ask.map((name) => {
      const judged = session.judge(view, name);
      const because = session.explain(view, name)?.because ?? null;
      const { reply } = judged;
      return [reply?.answer ?? null, judged.guess, reply?.live ?? null, reply?.ruledOut ?? null, judged.level, because];
    });
  });
}

/** For each trace of attempts, without labels: what the page's simulator says of each, and what is true at the end. */
export function simulateAll(record: PageRecord, traces: Trace[], atoms: string[]) {
  const session = new Session(record);
  const world = session.need();
  return traces.map((trace) => {
    const state = world.start(trace);
    const worked = trace.steps.map(([name], i) => {
      const action = session.grounded(name);
      const ok = action.pre.every((atom) => state.holds(atom));
      if (ok) state.apply(action, i);
      return ok;
    });
    return { worked, holds: atoms.filter((atom) => state.holds(atom)) };
  });
}

export function listActions(record: PageRecord, trace: Trace, tried: boolean): string[] {
  return new Session(record).actions(trace, tried).names;
}

export function findPlan(record: PageRecord, trace: Trace, goal: Goal) {
  const session = new Session(record);
  const view = session.look(trace);
  const actions = session.actions(trace, true).names.map((name) => session.grounded(name));
  return search(view.state, goal, actions);
}

/** What the heads of a STRIPS Transformer read in a trace. */
export function readHeads(record: PageRecord, trace: Trace) {
  const { weights, form } = record.attention!;
  return readTrace(weights!, form, trace, "");
}

/** Each name's words, and these joined again. */
export function readNames(record: NamingRecord, names: string[]) {
  const naming = new Naming(record);
  return names.map((name) => [naming.words(name), naming.join(naming.words(name))]);
}
