// Theorem 2 in the page: what every model that fits the log agrees on. The same as Python's `Questions` and `Standing`
// (trace2strips.learners.windows.questions), and tested to say the same, word for word.

import { Naming, schemaKey } from "./naming";
import type { StartKey, SummaryRecord, Trace } from "./record";
import { Together } from "./together";
import { START } from "./world";

export type Answer = "works" | "refused" | "open";

export interface LogPlace {
  trace: number;
  attempt: number;
}

type Situation = Map<string, bigint>; // a reason's key → the window since
interface Reason {
  query: number;
  bit: number; // −1: the start
}
interface Kept {
  window: bigint;
  place: LogPlace;
}
interface Refusal {
  reasons: Situation;
  place: LogPlace;
}

export interface Attempted {
  action: string;
  schema: number;
  objects: string[];
  situation: Situation;
  live: Situation;
  apart: string[];
}

export interface Reply {
  action: string;
  answer: Answer;
  live: number;
  ruledOut: number;
  apart: string[]; // objects that were never tried together there, while only some ever are
}

export interface Explanation {
  reply: Reply;
  because: string[];
  places: LogPlace[];
}

const within = (small: bigint, large: bigint) => (small | large) === large;

function* permutations(n: number, r: number, chosen: number[] = []): Generator<number[]> {
  if (r === 0) {
    yield chosen;
    return;
  }
  for (let i = 0; i < n; i++) if (!chosen.includes(i)) yield* permutations(n, r - 1, [...chosen, i]);
}

function* combinations(n: number, r: number, first = 0, chosen: number[] = []): Generator<number[]> {
  if (r === 0) {
    yield chosen;
    return;
  }
  for (let i = first; i < n; i++) yield* combinations(n, r - 1, i + 1, [...chosen, i]);
}

const arityOf = (pattern: number[]) => Math.max(-1, ...pattern) + 1;

/** Text for a START that is equal for equal ones, whatever the order of what is told. */
function startText(start: StartKey): string {
  const [kind, ...rest] = start;
  const head = kind === "told-of" ? [kind, rest.shift()] : [kind];
  const literals = rest.map((part) => JSON.stringify(part));
  return JSON.stringify([...head, ...(kind === "start" || kind === "own" ? literals : literals.sort())]);
}

export class Certainty {
  readonly naming: Naming;
  readonly schemaNumber = new Map<string, number>();
  readonly tokens: [number, number[]][][] = []; // for each number of objects, in the order of bits
  readonly tokensOf: { r: number; positions: number[]; bit: number }[][] = []; // of each schema
  readonly queries: [number, number[]][] = [];
  readonly queriesOf: number[][] = [];
  readonly smallest = new Map<string, Kept[]>();
  readonly refusals = new Map<number, Refusal[]>();
  readonly inexplicable: LogPlace | null;
  readonly knownObjects: Set<string>[];
  private readonly rows = new Map<string, [string, number]>();
  private readonly lines = new Map<number, number>();

  constructor(readonly record: SummaryRecord) {
    this.naming = new Naming(record.naming);
    record.schemas.forEach(([name, pattern], i) => this.schemaNumber.set(schemaKey(name, pattern), i));
    record.schemas.forEach(() => this.tokensOf.push([]));
    for (let r = 0; r <= record.arity; r++) {
      const found: [number, number[]][] = [];
      record.schemas.forEach(([, pattern], number) => {
        for (const positions of permutations(arityOf(pattern), r)) {
          this.tokensOf[number]!.push({ r, positions, bit: found.length });
          found.push([number, positions]);
        }
      });
      this.tokens.push(found);
    }
    [...record.schemas, ...record.tests].forEach(([, pattern], number) => {
      this.queriesOf.push([]);
      for (let r = 0; r <= record.arity; r++) {
        for (const positions of combinations(arityOf(pattern), r)) {
          this.queriesOf[number]!.push(this.queries.length);
          this.queries.push([number, positions]);
        }
      }
    });
    const starts = record.starts.map(startText);
    const key = (query: number, by: number) => reasonKey(query, by >= 0 ? by : starts[-1 - by]!);
    for (const [query, by, kept] of record.windows) {
      this.smallest.set(
        key(query, by),
        kept.map(([window, trace, attempt]) => ({ window: BigInt(`0x${window}`), place: { trace, attempt } })),
      );
    }
    let inexplicable: LogPlace | null = null;
    for (const [schema, trace, attempt, reasons] of record.refusals) {
      const found: Situation = new Map(reasons.map(([query, by, window]) => [key(query, by), BigInt(`0x${window}`)]));
      if (found.size === 0) inexplicable ??= { trace, attempt };
      if (!this.refusals.has(schema)) this.refusals.set(schema, []);
      this.refusals.get(schema)!.push({ reasons: found, place: { trace, attempt } });
    }
    this.inexplicable = inexplicable;
    this.knownObjects = record.objects.map((names) => new Set(names));
    for (const [trace, attempt, file, line] of record.rows) this.rows.set(`${trace}/${attempt}`, [record.files[file]!, line]);
    for (const [trace, line] of record.lines) this.lines.set(trace, line);
  }

  where(place: LogPlace): string {
    const row = this.rows.get(`${place.trace}/${place.attempt}`);
    if (row) return `${row[0]}:${row[1]}, attempt ${place.attempt + 1}`;
    return `${this.whereIs(place.trace)}, attempt ${place.attempt + 1}`;
  }

  whereIs(trace: number): string {
    if (trace >= this.record.traces) return "this trace";
    const row = this.rows.get(`${trace}/0`);
    if (row) return `${row[0]}:${row[1]}`;
    let source: [string | null, number] = [null, 0];
    let best = -1;
    for (const found of this.record.sources) {
      if (found[1] <= trace && found[1] > best) [source, best] = [found, found[1]];
    }
    if (source[0] === null) return `trace ${trace + 1}`;
    const line = this.lines.get(trace);
    return line === undefined ? `${source[0]}, trace ${trace - source[1] + 1}` : `${source[0]}:${line}`;
  }
}

const reasonKey = (query: number, by: number | string) => `${query}/${by}`;

function reasonOf(key: string): Reason {
  const slash = key.indexOf("/");
  const by = key.slice(slash + 1);
  return { query: Number(key.slice(0, slash)), bit: by.startsWith("[") ? -1 : Number(by) };
}

/** Where things stand after a trace. What worked or was refused in the trace is evidence too. */
export class Standing {
  private readonly told: string[][];
  private readonly recent = new Map<string, number[]>(); // bits of tokens of each tuple, the latest last
  private readonly starts = new Map<string, string>();
  private readonly smallest = new Map<string, Kept[]>();
  private readonly refusals = new Map<number, Refusal[]>();
  contradiction: LogPlace | null;
  private steps = 0;
  private readonly together: Together;

  constructor(
    readonly certainty: Certainty,
    private readonly trace: Trace,
    together: Together,
  ) {
    this.together = together.copy();
    this.told = [...(trace.init ?? [])].map((atom) => certainty.naming.words(atom));
    for (const [schema, found] of certainty.refusals) this.refusals.set(schema, [...found]);
    this.contradiction = certainty.inexplicable;
    for (const [action, ok] of trace.steps) this.advance(action, ok);
  }

  advance(action: string, ok: boolean): void {
    const attempted = this.attempt(action);
    const place = { trace: this.certainty.record.traces, attempt: this.steps };
    if (!this.refusals.has(attempted.schema)) this.refusals.set(attempted.schema, []);
    const refusals = this.refusals.get(attempted.schema)!;
    if (this.contradiction === null) {
      if (this.decide(attempted)[0] === (ok ? "refused" : "works")) {
        this.contradiction = place;
      } else if (ok) {
        for (const [reason, window] of attempted.situation) this.keep(reason, window, place);
        refusals.forEach((refusal, i) => {
          refusals[i] = { ...refusal, reasons: leftBy(attempted.situation, refusal.reasons) };
        });
      } else if (attempted.apart.length === 0) {
        refusals.push({ reasons: attempted.live, place });
      }
    }
    if (ok) {
      const [{ name, pattern }, objects] = this.certainty.naming.schema(action);
      this.together.add(schemaKey(name, pattern), objects);
      this.apply(attempted);
    }
    this.steps += 1;
  }

  private apply(attempted: Attempted): void {
    for (const { positions, bit } of this.certainty.tokensOf[attempted.schema]!) {
      const about = JSON.stringify(positions.map((i) => attempted.objects[i]!));
      const seen = this.recent.get(about) ?? [];
      const at = seen.indexOf(bit);
      if (at >= 0) seen.splice(at, 1);
      seen.push(bit);
      this.recent.set(about, seen);
    }
  }

  private keep(reason: string, window: bigint, place: LogPlace): void {
    const kept = this.smallest.get(reason) ?? [];
    if (kept.some((other) => within(other.window, window))) return; // an equal one stands earlier in the trace
    this.smallest.set(reason, [...kept.filter((other) => !within(window, other.window)), { window, place }]);
  }

  private start(about: string[]): string {
    const key = JSON.stringify(about);
    let found = this.starts.get(key);
    if (found === undefined) {
      found = startText(this.startKey(about));
      this.starts.set(key, found);
    }
    return found;
  }

  private startKey(about: string[]): StartKey {
    const level = this.certainty.record.start;
    if (level === "own") return ["own", this.certainty.record.traces, ...about];
    if (this.trace.init === null) return ["start", this.trace.state ?? START, ...about];
    const literals = this.told
      .filter(([, ...words]) => words.every((word) => about.includes(word)))
      .map(([name, ...words]) => [name, ...words.map((word) => about.indexOf(word))]);
    return level === "objects" ? ["told-of", about, ...literals] : ["told", ...literals];
  }

  knows(action: string): boolean {
    const [schema] = this.certainty.naming.schema(action);
    return this.certainty.schemaNumber.has(schemaKey(schema.name, schema.pattern));
  }

  attempt(action: string): Attempted {
    const [{ name, pattern }, objects] = this.certainty.naming.schema(action);
    const schema = this.certainty.schemaNumber.get(schemaKey(name, pattern));
    if (schema === undefined) throw new Error(`unknown action ${action}`);
    const situation: Situation = new Map();
    const live: Situation = new Map();
    const enter = (reason: string, window: bigint) => {
      situation.set(reason, window);
      if (!this.isRuledOut(reason, window)) live.set(reason, window);
    };
    for (const query of this.certainty.queriesOf[schema]!) {
      const about = this.certainty.queries[query]![1].map((i) => objects[i]!);
      let window = 0n;
      const seen = this.recent.get(JSON.stringify(about)) ?? [];
      for (let i = seen.length - 1; i >= 0; i--) {
        enter(reasonKey(query, seen[i]!), window);
        window |= 1n << BigInt(seen[i]!);
      }
      enter(reasonKey(query, this.start(about)), window);
    }
    return { action, schema, objects, situation, live, apart: this.together.apart(schemaKey(name, pattern), objects) };
  }

  private isRuledOut(reason: string, window: bigint): boolean {
    const rules = (kept: Kept[] | undefined) => kept !== undefined && kept.some((other) => within(other.window, window));
    return rules(this.certainty.smallest.get(reason)) || rules(this.smallest.get(reason));
  }

  private witness(reason: string, window: bigint): LogPlace {
    const kept = [...(this.certainty.smallest.get(reason) ?? []), ...(this.smallest.get(reason) ?? [])];
    const places = kept.filter((other) => within(other.window, window)).map((other) => other.place);
    return places.reduce((a, b) => (a.trace < b.trace || (a.trace === b.trace && a.attempt <= b.attempt) ? a : b));
  }

  get nothingCertain(): boolean {
    return this.contradiction !== null || this.certainty.record.nothing_certain;
  }

  decide(attempted: Attempted): [Answer, Refusal | null] {
    if (this.nothingCertain) return ["open", null];
    if (attempted.live.size === 0) return [attempted.apart.length > 0 ? "open" : "works", null];
    for (const refusal of this.refusals.get(attempted.schema) ?? []) {
      if (isWithin(attempted.situation, refusal.reasons)) return ["refused", refusal];
    }
    return ["open", null];
  }

  reply(action: string): Reply {
    const attempted = this.attempt(action);
    return this.replyTo(attempted, this.decide(attempted)[0]);
  }

  private replyTo(attempted: Attempted, answer: Answer): Reply {
    const live = attempted.live.size;
    const { action, apart, situation } = attempted;
    return { action, answer, live, ruledOut: situation.size - live, apart };
  }

  /** The proof in words, with the places of the log that show it. */
  explain(action: string): Explanation {
    const attempted = this.attempt(action);
    const [answer, refusal] = this.decide(attempted);
    const reply = this.replyTo(attempted, answer);
    const { record } = this.certainty;
    if (record.wrong_labels > 0) {
      const count = record.wrong_labels.toLocaleString("en-US");
      return { reply, because: [`nothing is certain: ${count} labels of the log are probably wrong`], places: [] };
    }
    if (record.naming.constants.length > 0) {
      return { reply, because: ["nothing is certain: what actions are about was guessed from the log"], places: [] };
    }
    if (this.contradiction !== null) {
      const place = this.certainty.where(this.contradiction);
      const because = [`nothing is certain: no model explains the label at ${place}`];
      return { reply, because, places: [this.contradiction] };
    }
    if (refusal !== null) {
      const because = [
        `it was refused at ${this.certainty.where(refusal.place)}, and only one of these can be why:`,
        ...this.said(attempted, refusal.reasons, "  because of"),
        "each of them is here too, with no more since",
      ];
      return { reply, because, places: [refusal.place] };
    }
    const because: string[] = [];
    const places: LogPlace[] = [];
    for (const [reason, window] of attempted.situation) {
      if (attempted.live.has(reason)) continue;
      const place = this.witness(reason, window);
      const [said] = this.said(attempted, new Map([[reason, window]]), "not because of");
      because.push(`${said}: it worked so at ${this.certainty.where(place)}`);
      places.push(place);
    }
    if (attempted.apart.length > 0) {
      because.push(`perhaps because of something that nobody told: ${neverTogether(attempted.apart)}`);
    }
    return { reply, because: [...because, ...this.said(attempted, attempted.live, "perhaps because of")], places };
  }

  private said(attempted: Attempted, reasons: Situation, how: string): string[] {
    const lines: string[] = [];
    for (const [key, window] of reasons) {
      const { query, bit } = reasonOf(key);
      const positions = this.certainty.queries[query]![1];
      const name = (bit: number) => this.tokenName(positions, bit, attempted.objects);
      const since = bitsOf(window).map(name);
      const about = positions.map((i) => attempted.objects[i]!).join(", ");
      let what = bit < 0 ? "the start" : name(bit);
      if (bit < 0 && about !== "") what += ` of ${about}`;
      const between = since.length > 0 ? `with no more than ${since.join(", ")}` : "with nothing";
      lines.push(`${how} ${what}, ${between} since`);
    }
    return lines;
  }

  private tokenName(positions: number[], bit: number, objects: string[]): string {
    const [schema, places] = this.certainty.tokens[positions.length]![bit]!;
    const [name, pattern] = this.certainty.record.schemas[schema]!;
    const of = new Map(places.map((place, i) => [place, objects[positions[i]!]!]));
    return pattern.length > 0 ? `${name}(${pattern.map((argument) => of.get(argument) ?? "_").join(", ")})` : name;
  }
}

export function neverTogether(objects: string[]): string {
  return `${objects.join(" and ")} ${objects.length > 1 ? "were never tried together" : "was never tried"} there`;
}

function isWithin(situation: Situation, reasons: Situation): boolean {
  for (const [reason, window] of reasons) {
    const here = situation.get(reason);
    if (here === undefined || !within(here, window)) return false;
  }
  return true;
}

function leftBy(success: Situation, live: Situation): Situation {
  const left: Situation = new Map();
  for (const [reason, window] of live) {
    const here = success.get(reason);
    if (here === undefined || !within(here, window)) left.set(reason, window);
  }
  return left;
}

function bitsOf(window: bigint): number[] {
  const found: number[] = [];
  for (let bit = 0, left = window; left > 0n; bit++, left >>= 1n) if (left & 1n) found.push(bit);
  return found;
}
