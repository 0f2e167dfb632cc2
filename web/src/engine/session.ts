// A learned world that can be asked: what is true after a trace, what can be done there, and why.

import { Certainty, Standing, type Explanation, type Reply } from "./certainty";
import { schemaKey, schemaOf } from "./naming";
import type { PageRecord, Trace } from "./record";
import { Together } from "./together";
import { GroundWorld, LiftedWorld, State, withoutFree, type GroundedAction, type World } from "./world";

export const LEVELS = ["works", "likely", "open", "unlikely", "refused"] as const;
export type Level = (typeof LEVELS)[number];
export const MOST_ACTIONS = 5_000; // that are listed after one trace

export interface Judged {
  action: GroundedAction;
  level: Level;
  guess: boolean; // what the model says
  missing: string[]; // preconditions that are false
  reply: Reply | null; // null: nothing is known of certainty
}

export interface View {
  trace: Trace;
  state: State;
  sure: State; // by the model without free bits
  standing: Standing | null;
}

export class UnknownName extends Error {}

export class Session {
  readonly world: World | null;
  readonly certainty: Certainty | null;
  private readonly surely: World | null = null;
  private readonly tried: Set<string> | null;
  private readonly together: Together;
  private readonly known: Set<string>;
  private readonly relations = new Map<number, { places: number[]; tuples: Set<string> }[]>(); // by action

  constructor(readonly record: PageRecord) {
    const world = record.world;
    this.together = Together.of(world?.kind === "lifted" ? world : null);
    this.tried = record.tried === null ? null : new Set(record.tried);
    this.known = new Set(record.typing.objects.flat());
    this.certainty = record.summary === null ? null : new Certainty(record.summary);
    if (world === null) {
      this.world = null;
    } else if (world.kind === "ground") {
      this.world = new GroundWorld(world);
    } else {
      this.world = new LiftedWorld(world);
      for (const { tuples, uses } of world.relations) {
        const together = new Set(tuples.map((tuple) => JSON.stringify(tuple)));
        for (const [action, places] of uses) this.relations.set(action, [...(this.relations.get(action) ?? []), { places, tuples: together }]);
      }
      if (record.support.some((bit) => bit.level === "free")) {
        this.surely = new LiftedWorld(withoutFree(world, record.support.map((bit) => bit.level)));
      }
    }
  }

  need(): World {
    if (this.world === null) throw new Error("no model was learned");
    return this.world;
  }

  grounded(name: string): GroundedAction {
    const found = this.need().action(name);
    if (found === null) throw new UnknownName(name);
    return found;
  }

  look(trace: Trace): View {
    const world = this.need();
    const state = world.start(trace);
    const sure = this.surely?.start(trace) ?? state;
    for (const [name] of trace.steps) this.grounded(name); // all are known before anything happens
    const standing = this.certainty === null ? null : new Standing(this.certainty, trace, this.together);
    trace.steps.forEach(([name, ok], i) => {
      if (ok) {
        state.apply(this.grounded(name), i);
        if (this.surely) sure.apply(this.surely.action(name)!, i);
      }
    });
    return { trace, state, sure, standing };
  }

  judge(view: View, name: string): Judged {
    const action = this.grounded(name);
    const missing = action.pre.filter((atom) => !view.state.holds(atom));
    const guess = missing.length === 0;
    const reply = view.standing?.reply(name) ?? null;
    if (reply !== null && reply.answer !== "open") return { action, level: reply.answer, guess, missing, reply };
    if (reply !== null && reply.live === 0 && reply.apart.length > 0 && guess) return { action, level: "open", guess, missing, reply };
    const also = this.surely === null || this.surely.action(name)!.pre.every((atom) => view.sure.holds(atom)) === guess;
    const level = also ? (guess ? "likely" : "unlikely") : "open";
    return { action, level, guess, missing, reply };
  }

  /** Whether the log tries the action with these very objects; true where that is not known. */
  isTried(name: string): boolean {
    return this.tried === null || this.tried.has(name);
  }

  /** Whether the log has these objects together in the action; true of actions that it tries with any. Where it is false,
   * something that nobody told may forbid it. */
  isTogether(name: string): boolean {
    const world = this.world;
    if (!(world instanceof LiftedWorld)) return true;
    const [schema, objects] = world.naming.schema(name);
    return this.together.apart(schemaKey(schema.name, schema.pattern), objects).length === 0;
  }

  private fits(action: number, objects: readonly string[]): boolean {
    return (this.relations.get(action) ?? []).every(({ places, tuples }) => {
      const about = places.map((i) => objects[i]!);
      return about.some((name) => !this.known.has(name)) || tuples.has(JSON.stringify(about));
    });
  }

  explain(view: View, name: string): Explanation | null {
    return view.standing?.explain(name) ?? null;
  }

  /** All that can be attempted: over the objects, each in places of its types. `tried`: only objects that
   * the log has together, where it shows a relation that nobody told. */
  actions(trace: Trace, tried: boolean): { names: string[]; more: boolean } {
    const world = this.need();
    if (world instanceof GroundWorld) return { names: world.names(), more: false };
    const lifted = (world as LiftedWorld).record;
    const ofType = new Map<number, string[]>();
    const objects = this.objects(trace);
    for (const name of [...objects].sort()) {
      for (const kind of this.typesOf(name, trace)) ofType.set(kind, [...(ofType.get(kind) ?? []), name]);
    }
    const names: string[] = [];
    for (const [number, action] of lifted.actions.entries()) {
      const constants = world.naming.constantsOf(action.name);
      const own = action.pattern.slice(0, action.pattern.length - constants.length);
      const groups = action.types.map((kind) => ofType.get(kind) ?? []);
      action.pattern.slice(own.length).forEach((place, i) => (groups[place] = [constants[i]!]));
      for (const chosen of choices(groups)) {
        if (tried && !this.fits(number, chosen)) continue;
        if (names.length >= MOST_ACTIONS) return { names, more: true };
        names.push(world.naming.join([action.name, ...own.map((i) => chosen[i]!)]));
      }
    }
    return { names, more: false };
  }

  /** All that are known; where the trace names others, it is about another world of the same kind: those of the trace. */
  objects(trace: Trace): Set<string> {
    const naming = this.need().naming;
    const found = new Set<string>();
    for (const name of [...(trace.init ?? []), ...trace.steps.map(([action]) => action)]) {
      for (const word of naming.words(name).slice(1)) found.add(word);
    }
    return [...found].every((name) => this.known.has(name)) ? new Set(this.known) : found;
  }

  private typesOf(name: string, trace: Trace): number[] {
    const { objects, places } = this.record.typing;
    const known = objects.flatMap((names, kind) => (names.includes(name) ? [kind] : []));
    if (known.length > 0) return known;
    const world = this.need() as LiftedWorld;
    const found = new Set<number>();
    for (const [action] of trace.steps) {
      const [word, ...args] = world.naming.action(action);
      const [schema, different] = schemaOf(word!, args);
      const lifted = world.schemas.get(JSON.stringify([schema.name, schema.pattern]));
      const at = different.indexOf(name);
      if (lifted && at >= 0) found.add(lifted.types[at]!);
    }
    if (found.size === 0) {
      for (const atom of trace.init ?? []) {
        const [word, ...args] = world.naming.words(atom);
        args.forEach((other, i) => {
          const kinds = places.find(([predicate, place]) => predicate === word && place === i)?.[2] ?? [];
          if (other === name && kinds.length === 1) found.add(kinds[0]!);
        });
      }
    }
    return found.size > 0 ? [...found] : objects.map((_, kind) => kind);
  }

  /** The atoms that can be true, those of the trace's start first. */
  atoms(trace: Trace, actions: Iterable<string>): string[] {
    return this.need().atomsOf([...actions].map((name) => this.grounded(name)), trace);
  }
}

function* choices(groups: readonly (readonly string[])[]): Generator<string[]> {
  if (groups.length === 0) {
    yield [];
    return;
  }
  const last = groups[groups.length - 1]!;
  for (const chosen of choices(groups.slice(0, -1))) {
    for (const name of last) if (!chosen.includes(name)) yield [...chosen, name];
  }
}
