// What the heads of a STRIPS Transformer read in any trace: stick-breaking over its queries and keys, as in Python's
// `trace2strips.learners.transformer.exploring`, and tested to say the same.

import type { AttentionHead, AttentionTrace, HeadWeights, Trace } from "./record";
import { START } from "./world";

const LEAST = 0.05; // a weight below is not seen
const MOST_READ = 4;
const MOST_POSITIONS = 1_000; // what is computed grows with the square
const KINDS = { initFalse: 0, initAtom: 1, initState: 2, action: 3 };
const PREFIX = ["init-", "init-", "init-", "", "test-"];

/** The trace in the network's tokens; null where it has no word for something. */
function tokensOf(weights: HeadWeights, trace: Trace): { tokens: number[]; refused: boolean[] } | null {
  const number = new Map(weights.tokens.map(([kind, subject], i) => [`${kind} ${subject}`, i]));
  const init: (number | undefined)[] = [];
  if (trace.init !== null) {
    const atoms = trace.init.map((atom) => number.get(`${KINDS.initAtom} ${atom}`));
    init.push(number.get(`${KINDS.initFalse} `), ...atoms.sort((a, b) => a! - b!));
  }
  if (trace.init === null || trace.state !== null) init.push(number.get(`${KINDS.initState} ${trace.state ?? START}`));
  const tokens = [...init, ...trace.steps.map(([name]) => number.get(`${KINDS.action} ${name}`))];
  if (tokens.length > MOST_POSITIONS || tokens.some((token) => token === undefined)) return null;
  return { tokens: tokens as number[], refused: [...init.map(() => false), ...trace.steps.map(([, ok]) => !ok)] };
}

/** Of each position the weights of earlier ones; where `outside`, the query stands outside the stick (the factored form). */
function stick(query: Float64Array, key: Float64Array, outside: boolean, visit: (i: number, j: number, weight: number) => void): void {
  for (let i = 0; i < query.length; i++) {
    const q = query[i]!;
    let left = 1;
    for (let j = i - 1; j >= 0 && q > 0 && left > 0; j--) {
      const score = outside ? key[j]! : q * key[j]!;
      if (score === 0) continue;
      visit(i, j, outside ? q * score * left : score * left);
      left *= 1 - score;
    }
  }
}

function readHead(weights: HeadWeights, tokens: number[], refused: boolean[], outside: boolean, head: number, hard: boolean) {
  const n = tokens.length;
  const [query, key, value] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
  tokens.forEach((token, i) => {
    const found = weights.rows[token]!.find(([at]) => at === head);
    if (!found) return;
    const [q, k, v] = found.slice(1).map((x) => (hard ? Number(x >= 500) : x / 1000)) as [number, number, number];
    query[i] = q;
    key[i] = refused[i] ? 0 : k;
    value[i] = v;
  });
  const rows: [number, number][][] = tokens.map(() => []);
  const output = new Float64Array(n);
  stick(query, key, outside, (i, j, weight) => {
    output[i]! += weight * value[j]!;
    if (weight >= LEAST) rows[i]!.push([j, weight]);
  });
  const few = rows.map((row) => row.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, MOST_READ).sort((a, b) => a[0] - b[0]));
  const rounded = few.map((row) => row.map(([j, weight]): [number, number] => [j, Math.round(100 * weight) / 100]));
  return { rows: rounded, output };
}

/** Null where the network has no word for something in the trace. */
export function readTrace(weights: HeadWeights, form: string, trace: Trace, title: string): AttentionTrace | null {
  const found = tokensOf(weights, trace);
  if (found === null || found.tokens.length < 2) return null;
  const { tokens, refused } = found;
  const keep = tokens.map(() => 1);
  const heads: AttentionHead[] = [];
  weights.heads.forEach(([name, note], head) => {
    const [soft, hard] = [false, true].map((h) => readHead(weights, tokens, refused, form === "factored", head, h));
    soft!.output.forEach((y, i) => (keep[i]! *= 1 - y));
    if ([...soft!.rows, ...hard!.rows].some((row) => row.length > 0)) heads.push({ name, note, soft: soft!.rows, hard: hard!.rows });
  });
  const total = (head: AttentionHead) => head.soft.flat().reduce((sum, [, weight]) => sum + weight, 0);
  return {
    title, refused, heads: heads.sort((a, b) => total(b) - total(a)), said: keep.map((x) => 1 - x >= 0.5),
    tokens: tokens.map((token) => {
      const [kind, subject] = weights.tokens[token]!;
      return kind === KINDS.initFalse ? "init-false" : PREFIX[kind]! + subject;
    }),
  };
}
