// A trace as people write it, the same as trace2strips.traces.one_trace: `atoms | a; b!`, and links that hold one.

import { strip } from "./naming";
import type { Trace } from "./record";

export class MalformedTrace extends Error {}

/** One step a line, or `;` between them; `!` marks what was refused. Before a `|` stand initial atoms or @name. */
export function parseTrace(text: string, otherwise: Trace): Trace {
  const bar = text.lastIndexOf("|");
  const before = bar < 0 ? "" : text.slice(0, bar);
  if (before.includes("|")) throw new MalformedTrace("more than one “|”: initial atoms | actions");
  const told = parts(before);
  const steps = parts(text.slice(bar + 1)).map((part): [string, boolean] => {
    const ok = !part.startsWith("!") && !part.endsWith("!");
    const name = strip(part.replace(/^!+|!+$/g, ""));
    if (name === "") throw new MalformedTrace("“!” without a name");
    return [name, ok];
  });
  if (bar < 0) return { init: otherwise.init, state: otherwise.state, steps };
  if (told.length === 1 && told[0]!.startsWith("@")) return { init: null, state: told[0]!.slice(1), steps };
  return { init: told, state: null, steps };
}

function parts(text: string): string[] {
  return text.split(/[;\n]/u).map(strip).filter((part) => part !== "");
}

export function formatTrace(trace: Trace): string {
  return trace.steps.map(([name, ok]) => (ok ? name : `${name}!`)).join("\n");
}

/** A trace as the fragment of an address. */
export function toFragment(tab: string, trace: Trace): string {
  const steps = trace.steps.map(([name, ok]) => [name, ok ? 1 : 0]);
  return `#${tab}/${encodeURIComponent(wellFormed(JSON.stringify([trace.init, trace.state, steps])))}`;
}

/** JSON escapes lone surrogates, which no address can hold, by itself. */
function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

export function fromFragment(fragment: string): { tab: string; trace: Trace | null } {
  const [tab = "", text = ""] = fragment.replace(/^#/, "").split("/", 2);
  if (text === "") return { tab, trace: null };
  try {
    const [init, state, steps] = JSON.parse(decodeURIComponent(text)) as [unknown, unknown, unknown];
    const isText = (x: unknown): x is string => typeof x === "string";
    if (!(init === null || (Array.isArray(init) && init.every(isText)))) return { tab, trace: null };
    if (!(state === null || isText(state)) || !Array.isArray(steps)) return { tab, trace: null };
    const found = steps.map((step): [string, boolean] => {
      const [name, ok] = step as [unknown, unknown];
      if (!isText(name)) throw new Error("no name");
      return [name, ok === 1];
    });
    return { tab, trace: { init: init as string[] | null, state: state as string | null, steps: found } };
  } catch {
    return { tab, trace: null };
  }
}
