// What Python tells the page: one JSON, written by `trace2strips.explorer.contents`.

export type Place = [number, number[]]; // a predicate's number, and which objects of the action it is over

export interface NamingRecord {
  form: string;
  separator: string;
  constants: string[][];
}

export interface LiftedPredicate {
  name: string;
  types: number[];
  start: string; // "false", "true" or "told"
  true_at: string[][];
  told: string;
  same: number[];
}

export interface LiftedAction {
  name: string;
  pattern: number[];
  types: number[];
  pre: Place[];
  add: Place[];
  delete: Place[];
}

export interface Relation {
  name: string;
  types: number[];
  tuples: string[][];
  uses: [number, number[]][];
}

export interface LiftedRecord {
  kind: "lifted";
  naming: NamingRecord;
  predicates: LiftedPredicate[];
  actions: LiftedAction[];
  tests: LiftedAction[];
  relations: Relation[];
  example: string[] | null;
}

export interface GroundAction {
  name: string;
  pre: string[];
  add: string[];
  delete: string[];
}

export interface GroundRecord {
  kind: "ground";
  naming: NamingRecord; // how names look, for the drawing and for lists; nothing else rests on it
  atoms: string[];
  actions: GroundAction[];
  states: Record<string, string[]>;
  always: string[];
  meaning: Record<string, string[]>;
}

export type StartKey = unknown[]; // ["told", literals…], ["told-of", [objects…], literals…] or ["start", name, objects…]

export interface SummaryRecord {
  start: "same" | "objects" | "own";
  arity: number;
  traces: number;
  wrong_labels: number;
  naming: NamingRecord;
  schemas: [string, number[]][];
  tests: [string, number[]][];
  types: number[][];
  objects: string[][];
  sources: [string | null, number][];
  lines: [number, number][];
  files: string[];
  rows: [number, number, number, number][];
  starts: StartKey[];
  windows: [number, number, [string, number, number][]][];
  refusals: [number, number, number, [number, number, string][]][];
  nothing_certain: boolean;
}

export interface Support {
  action: string;
  part: string;
  atom: string;
  level: string;
  labels: number;
  places: string[];
}

export interface Rule {
  action: string;
  part: string;
  atom: string;
  predicate: string;
  seen: string;
  level: string;
  places: string[];
}

export interface AtomRecord {
  name: string;
  shown: string;
  starts: string;
  told: boolean;
  meaning: string;
}

export interface KeptTrace {
  number: number;
  place: string; // in the log, for people
  init: number[] | null; // numbers of names, from 1 on
  state: string | null;
  steps: number[]; // below zero: refused
}

export interface Suspect {
  trace: number;
  attempt: number;
  action: string;
  worked: boolean;
  place: string;
}

export interface Inexplicable {
  action: string;
  place: string;
  ruled_out: { since: string; between: string[]; worked: string }[];
}

export interface Suggestion {
  after: string | null;
  number: number | null;
  action: string;
  guess: string;
  decided_if_works: number;
  decided_if_refused: number;
}

export interface AttentionHead {
  name: string;
  note: string;
  soft: [number, number][][]; // for each position: earlier positions and their weights
  hard: [number, number][][];
}

export interface AttentionTrace {
  title: string;
  tokens: string[];
  refused: boolean[];
  said: boolean[]; // what the network says of each position
  heads: AttentionHead[];
}

/** A STRIPS Transformer: of each token the heads that it touches, with query, key and value in thousandths. */
export interface HeadWeights {
  tokens: [number, string][]; // a kind, and what it is about
  heads: [string, string][];
  rows: [number, number, number, number][][];
}

export interface HiddenRow {
  action: string;
  needs: string[];
  adds: string[];
  deletes: string[];
}

export interface Start {
  label: string;
  init: string[] | null;
  state: string | null;
}

export interface PageRecord {
  format: string;
  title: string;
  learner: string;
  lead: string;
  key_figures: [string, string][];
  warnings: string[];
  assumptions: string[];
  domain: string | null;
  world: LiftedRecord | GroundRecord | null;
  tried: string[] | null; // actions of the log; null: not told, or of no interest where nothing is lifted
  init_states: string[];
  tells_atoms: boolean;
  starts: Start[];
  summary: SummaryRecord | null;
  typing: { objects: string[][]; places: [string, number, number[]][] }; // objects of each type; types at places of told atoms
  support: Support[];
  rules: { actions: string[]; atoms: AtomRecord[]; rules: Rule[] } | null;
  hidden: { name: string; rows: HiddenRow[] } | null;
  pddl: [string, string][];
  log: {
    names: string[];
    traces: KeptTrace[];
    of: number;
    suspects: Suspect[];
    all_suspects: number;
    inexplicable: Inexplicable[];
    more: string;
  };
  suggestions: Suggestion[];
  training: { rows: { stage: string; attempt: number; step: number; loss: number | null; accuracy: number }[] };
  lengths: { of: string; rows: { from: number; to: number; right: number; traces: number }[] };
  attention: { form: string; about: string; traces: AttentionTrace[]; weights: HeadWeights | null } | null;
  empty: Record<string, string>; // why a tab has no content, a sentence
  limits: string[]; // what was left out of the page, a sentence each
  links: [string, string][];
  serve: { planners: string[] } | null;
}

export interface Trace {
  init: string[] | null;
  state: string | null;
  steps: [string, boolean][];
}

/** A trace of the log with its names. */
export function readKept(record: PageRecord, kept: KeptTrace): Trace {
  const name = (number: number) => record.log.names[Math.abs(number) - 1]!;
  return {
    init: kept.init === null ? null : kept.init.map(name),
    state: kept.state,
    steps: kept.steps.map((number) => [name(number), number > 0]),
  };
}
