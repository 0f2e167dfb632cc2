// A small search in the page, for when no planner is at hand: breadth first, then greedy by h_add.

import type { GroundedAction, State } from "./world";

export interface Goal {
  true: string[];
  false: string[];
}

export interface Found {
  plan: string[] | null;
  states: number; // that were looked at
  complete: boolean; // null and complete: there is no plan
  shortest: boolean;
}

const BREADTH = 20_000; // states; more are left to the greedy search
const GREEDY = 20_000;
const PATIENCE = 4_000; // milliseconds for both: a page that does not answer is of no use

interface Compiled {
  name: string;
  pre: number[];
  add: number[];
  del: number[];
}

interface Node {
  bits: Uint8Array;
  parent: Node | null;
  action: number;
}

export function search(start: State, goal: Goal, actions: readonly GroundedAction[]): Found {
  const numbers = new Map<string, number>();
  const first: number[] = [];
  const number = (atom: string): number => {
    let found = numbers.get(atom);
    if (found === undefined) {
      numbers.set(atom, (found = numbers.size));
      first.push(start.holds(atom) ? 1 : 0);
    }
    return found;
  };
  const wanted = goal.true.map(number);
  const unwanted = goal.false.map(number);
  const all: Compiled[] = actions.map((action) => {
    const add = action.add.map(number);
    return { name: action.name, pre: action.pre.map(number), add, del: action.delete.map(number).filter((x) => !add.includes(x)) };
  });
  const reached = (bits: Uint8Array) => wanted.every((i) => bits[i]) && unwanted.every((i) => !bits[i]);
  const root: Node = { bits: Uint8Array.from(first), parent: null, action: -1 };
  const seen = new Set([keyOf(root.bits)]);
  if (reached(root.bits)) return { plan: [], states: 1, complete: true, shortest: true };
  const deadline = performance.now() + PATIENCE;
  let layer = [root];
  while (layer.length > 0 && seen.size < BREADTH && performance.now() < deadline - PATIENCE / 2) {
    const next: Node[] = [];
    for (const node of layer) {
      for (const child of children(node, all, seen)) {
        if (reached(child.bits)) return { plan: planOf(child, all), states: seen.size, complete: true, shortest: true };
        next.push(child);
      }
      if (seen.size >= BREADTH || performance.now() >= deadline - PATIENCE / 2) {
        next.push(node); // not all was looked at
        break;
      }
    }
    layer = next;
  }
  if (layer.length === 0) return { plan: null, states: seen.size, complete: true, shortest: true };
  return greedy(root, all, wanted, unwanted, reached, seen.size, deadline);
}

function greedy(
  root: Node, all: Compiled[], wanted: number[], unwanted: number[], reached: (bits: Uint8Array) => boolean, before: number,
  deadline: number,
): Found {
  const seen = new Set([keyOf(root.bits)]);
  const needing: number[][] = [...root.bits].map(() => []);
  all.forEach((action, i) => action.pre.forEach((atom) => needing[atom]!.push(i)));
  const buckets: Node[][] = [];
  const push = (node: Node) => {
    const cost = Math.min(10_000, addedCost(node.bits, all, needing, wanted) + unwanted.filter((i) => node.bits[i]).length);
    (buckets[cost] ??= []).push(node);
  };
  push(root);
  let looked = 0;
  while (looked < GREEDY && performance.now() < deadline) {
    const bucket = buckets.find((nodes) => nodes !== undefined && nodes.length > 0);
    if (bucket === undefined) return { plan: null, states: before + seen.size, complete: true, shortest: false };
    const node = bucket.shift()!;
    looked += 1;
    for (const child of children(node, all, seen)) {
      if (reached(child.bits)) return { plan: planOf(child, all), states: before + seen.size, complete: true, shortest: false };
      push(child);
    }
  }
  return { plan: null, states: before + seen.size, complete: false, shortest: false };
}

/** h_add: the sum of what each goal costs if nothing is ever deleted. */
function addedCost(bits: Uint8Array, all: Compiled[], needing: number[][], wanted: number[]): number {
  const cost = Array.from(bits, (bit) => (bit ? 0 : Infinity));
  const left = all.map((action) => action.pre.length);
  const sum = all.map(() => 0);
  let queue: number[] = [];
  cost.forEach((value, atom) => value === 0 && queue.push(atom));
  const fire = (i: number, next: number[]) => {
    for (const atom of all[i]!.add) {
      if (sum[i]! + 1 < cost[atom]!) {
        const isNew = cost[atom] === Infinity;
        cost[atom] = sum[i]! + 1;
        if (isNew) next.push(atom);
      }
    }
  };
  const begin: number[] = [];
  all.forEach((action, i) => action.pre.length === 0 && fire(i, begin));
  queue.push(...begin);
  while (queue.length > 0) {
    const next: number[] = [];
    for (const atom of queue) {
      for (const i of needing[atom]!) {
        sum[i]! += cost[atom]!;
        left[i]! -= 1;
        if (left[i] === 0) fire(i, next);
      }
    }
    queue = next;
  }
  const total = wanted.reduce((whole, atom) => whole + cost[atom]!, 0);
  return total === Infinity ? 10_000 : total;
}

function* children(node: Node, all: Compiled[], seen: Set<string>): Generator<Node> {
  for (let i = 0; i < all.length; i++) {
    const action = all[i]!;
    if (!action.pre.every((atom) => node.bits[atom])) continue;
    const bits = node.bits.slice();
    for (const atom of action.del) bits[atom] = 0;
    for (const atom of action.add) bits[atom] = 1;
    const key = keyOf(bits);
    if (seen.has(key)) continue;
    seen.add(key);
    yield { bits, parent: node, action: i };
  }
}

function keyOf(bits: Uint8Array): string {
  let key = "";
  for (let i = 0; i < bits.length; i += 15) {
    let code = 0;
    for (let j = 0; j < 15 && i + j < bits.length; j++) code |= bits[i + j]! << j;
    key += String.fromCharCode(code);
  }
  return key;
}

function planOf(node: Node, all: Compiled[]): string[] {
  const found: string[] = [];
  for (let at: Node | null = node; at !== null && at.action >= 0; at = at.parent) found.push(all[at.action]!.name);
  return found.reverse();
}
