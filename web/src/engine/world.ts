// The page's simulator: what the small model says, for a lifted world over any objects and for a ground one.

import { Naming, schemaKey } from "./naming";
import type { GroundRecord, LiftedAction, LiftedPredicate, LiftedRecord, Place, Trace } from "./record";

export const START = "start"; // the initial state of traces that do not tell theirs
const EVERYWHERE = "";

export interface GroundedAction {
  name: string;
  schema: string;
  objects: string[]; // the different ones
  pre: string[];
  add: string[];
  delete: string[];
}

/** A state: what is true, and for each atom that changed the step that did it. */
export class State {
  readonly changed = new Map<string, boolean>();
  readonly since = new Map<string, number>();

  constructor(private readonly first: (atom: string) => boolean) {}

  holds(atom: string): boolean {
    return this.changed.get(atom) ?? this.first(atom);
  }

  apply(action: GroundedAction, step: number): void {
    const added = new Set(action.add);
    for (const atom of action.delete) if (!added.has(atom)) this.set(atom, false, step);
    for (const atom of action.add) this.set(atom, true, step);
  }

  private set(atom: string, value: boolean, step: number): void {
    if (this.holds(atom) !== value) this.since.set(atom, step);
    this.changed.set(atom, value);
  }
}

export interface World {
  readonly naming: Naming;
  /** The action by its name; null if nothing is known of it. */
  action(name: string): GroundedAction | null;
  /** The state at the start of a trace. */
  start(trace: Trace): State;
  /** The words of an atom: predicate and objects. */
  atomWords(atom: string): string[];
  /** Atoms that may be true where these actions are all that can happen. */
  atomsOf(actions: Iterable<GroundedAction>, trace: Trace): string[];
}

export class GroundWorld implements World {
  readonly naming: Naming;
  private readonly actions = new Map<string, GroundedAction>();

  constructor(private readonly record: GroundRecord) {
    this.naming = new Naming(record.naming);
    for (const action of record.actions) {
      const [schema, ...objects] = this.naming.words(action.name);
      this.actions.set(action.name, { ...action, schema: schema!, objects });
    }
  }

  action(name: string): GroundedAction | null {
    return this.actions.get(name) ?? null;
  }

  names(): string[] {
    return [...this.actions.keys()];
  }

  start(trace: Trace): State {
    const told = new Set<string>();
    if (trace.init === null) {
      for (const atom of lookUp(this.record.states, trace.state ?? START) ?? []) told.add(atom);
    } else {
      for (const atom of this.record.always) told.add(atom);
      for (const atom of trace.init) for (const other of lookUp(this.record.meaning, atom) ?? [atom]) told.add(other);
    }
    return new State((atom) => told.has(atom));
  }

  atomWords(atom: string): string[] {
    return this.naming.words(atom);
  }

  atomsOf(): string[] {
    return this.record.atoms;
  }
}

/** Records come from JSON, so a name such as `constructor` must not be found where nobody put it. */
function lookUp<T>(table: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

export class LiftedWorld implements World {
  readonly naming: Naming;
  readonly schemas = new Map<string, LiftedAction>();
  private readonly words = new Map<string, string[]>();
  private readonly named = new Map<string, [number, string[]]>(); // an atom's predicate and objects
  private readonly grounded = new Map<string, GroundedAction | null>();
  private readonly trueAt: Set<string>[];

  constructor(readonly record: LiftedRecord) {
    this.naming = new Naming(record.naming);
    for (const action of record.actions) this.schemas.set(schemaKey(action.name, action.pattern), action);
    this.trueAt = record.predicates.map((predicate) => new Set(predicate.true_at.map((row) => JSON.stringify(row))));
  }

  action(name: string): GroundedAction | null {
    const known = this.grounded.get(name);
    if (known !== undefined) return known;
    const [schema, objects] = this.naming.schema(name);
    const lifted = this.schemas.get(schemaKey(schema.name, schema.pattern));
    const ground = (places: Place[]) => places.map(([number, at]) => this.atom(number, at.map((i) => objects[i]!)));
    const found = lifted
      ? { name, schema: schema.name, objects, pre: ground(lifted.pre), add: ground(lifted.add), delete: ground(lifted.delete) }
      : null;
    this.grounded.set(name, found);
    return found;
  }

  atom(number: number, objects: string[]): string {
    const words = [this.record.predicates[number]!.name, ...objects];
    const name = this.naming.join(words);
    if (!this.named.has(name)) {
      this.named.set(name, [number, objects]);
      this.words.set(name, words);
    }
    return name;
  }

  /** The predicate and the objects of an atom, also of one that no action has named so far. */
  private about(atom: string): [number, string[]] | undefined {
    const known = this.named.get(atom);
    if (known !== undefined) return known;
    const [word, ...objects] = this.naming.words(atom);
    const number = this.record.predicates.findIndex((p) => p.name === word && p.types.length === objects.length);
    if (number < 0) return undefined;
    this.named.set(atom, [number, objects]);
    return [number, objects];
  }

  start(trace: Trace): State {
    if (trace.init === null) {
      const name = trace.state ?? START;
      return new State((atom) => {
        const found = this.about(atom);
        return found !== undefined && this.isTrueAt(found[0], [name, EVERYWHERE], found[1]);
      });
    }
    const told = new Set(trace.init.map((atom) => JSON.stringify(this.naming.words(atom))));
    return new State((atom) => {
      const found = this.about(atom);
      if (found === undefined) return false;
      const [number, objects] = found;
      const predicate = this.record.predicates[number]!;
      return (
        predicate.start === "true" ||
        this.isTrueAt(number, [EVERYWHERE], objects) ||
        (predicate.start === "told" && told.has(JSON.stringify(toldOf(predicate, objects))))
      );
    });
  }

  private isTrueAt(number: number, starts: string[], objects: string[]): boolean {
    return starts.some((start) => this.trueAt[number]!.has(JSON.stringify([start, ...objects])));
  }

  atomWords(atom: string): string[] {
    return this.words.get(atom) ?? this.naming.words(atom);
  }

  atomsOf(actions: Iterable<GroundedAction>, trace: Trace): string[] {
    const found = new Set<string>();
    for (const action of actions) {
      for (const atoms of [action.pre, action.add, action.delete]) for (const atom of atoms) found.add(atom);
    }
    this.record.predicates.forEach((predicate, number) => {
      if (predicate.start !== "told") return;
      for (const atom of trace.init ?? []) {
        const [word, ...args] = this.naming.words(atom);
        const objects = [...new Set(args)];
        const pattern = predicate.same.length > 0 ? predicate.same : predicate.types.map((_, i) => i);
        if (word === predicate.told && args.map((x) => objects.indexOf(x)).join() === pattern.join()) {
          found.add(this.atom(number, objects));
        }
      }
    });
    return [...found];
  }
}

function toldOf(predicate: LiftedPredicate, objects: string[]): string[] {
  const pattern = predicate.same.length > 0 ? predicate.same : predicate.types.map((_, i) => i);
  return [predicate.told, ...pattern.map((i) => objects[i]!)];
}

/** The same world without the bits that the log leaves free: what the model says may hang on one of them. */
export function withoutFree(record: LiftedRecord, levels: string[]): LiftedRecord {
  let next = 0;
  const kept = (places: Place[]) => places.filter(() => levels[next++] !== "free");
  const actions = record.actions.map((action) => ({
    ...action,
    pre: kept(action.pre),
    add: kept(action.add),
    delete: kept(action.delete),
  }));
  return { ...record, actions };
}
