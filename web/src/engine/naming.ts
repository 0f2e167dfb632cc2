// An action's name as a schema with arguments: the same as trace2strips.traces.names, to the character.

import type { NamingRecord } from "./record";

const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]"; // Python's
const OTHER = SPACE.replace("[", "[^").replace("]", "(),]");
const CALL = new RegExp(
  `^${SPACE}*(${OTHER}+|${OTHER}[^(),]*${OTHER}(?=\\())${SPACE}*\\(([^()]*)\\)${SPACE}*$`,
  "su",
);
const LISP = new RegExp(`^${SPACE}*\\(${SPACE}*(${SPACE.replace("[", "[^").replace("]", "()]")}[^()]*?)${SPACE}*\\)${SPACE}*$`, "su");
const EDGES = new RegExp(`^${SPACE}+|${SPACE}+$`, "gu");
const BETWEEN = new RegExp(`${SPACE}+`, "u");
const LIST = /^[ \t\n\r]*\[((?:[ \t\n\r]*(?:"(?:[^"\\]|\\.)*"|-?(?:0|[1-9][0-9]*))[ \t\n\r]*(?:,(?![ \t\n\r]*\])|(?=\])))+)\][ \t\n\r]*$/su;
const ITEM = /"(?:[^"\\]|\\.)*"|-?[0-9]+/gsu;

export type Schema = { name: string; pattern: number[] };

export function strip(text: string): string {
  return text.replace(EDGES, "");
}

function splitWords(text: string): string[] {
  return strip(text).split(BETWEEN).filter((word) => word !== "");
}

export function callWords(name: string): string[] {
  const found = CALL.exec(name);
  if (found === null) return [strip(name)];
  const inside = strip(found[2]!);
  return inside === "" ? [found[1]!] : [found[1]!, ...inside.split(",").map(strip)];
}

function listWords(name: string): string[] | null {
  const found = LIST.exec(name);
  if (found === null) return null;
  try {
    return (found[1]!.match(ITEM) ?? []).map((item) =>
      item.startsWith('"') ? (JSON.parse(item) as string) : BigInt(item).toString(),
    );
  } catch {
    return null;
  }
}

export class Naming {
  constructor(private readonly record: NamingRecord) {}

  get form(): string {
    return this.record.form;
  }

  words(name: string): string[] {
    switch (this.record.form) {
      case "call":
        return callWords(name);
      case "lisp": {
        const found = LISP.exec(name);
        return found === null ? [strip(name)] : splitWords(found[1]!);
      }
      case "json":
        return listWords(name) ?? callWords(name);
      case "words": {
        const found = splitWords(name);
        return found.length > 0 ? found : [name];
      }
      case "separator":
        return name.split(this.record.separator);
    }
    return [name];
  }

  action(name: string): string[] {
    const words = this.words(name);
    return [...words, ...this.constantsOf(words[0]!)];
  }

  constantsOf(schema: string): string[] {
    return this.record.constants.filter((row) => row[0] === schema).flatMap((row) => row.slice(1));
  }

  schema(name: string): [Schema, string[]] {
    const [word, ...args] = this.action(name);
    return schemaOf(word!, args);
  }

  join(words: readonly string[]): string {
    switch (this.record.form) {
      case "lisp":
        return `(${words.join(" ")})`;
      case "json":
        return `[${words.map((word) => JSON.stringify(word)).join(", ")}]`;
      case "words":
        return words.join(" ");
      case "separator":
        return words.join(this.record.separator);
    }
    return words.length > 1 ? `${words[0]}(${words.slice(1).join(this.record.separator || ", ")})` : words[0]!;
  }
}

/** (move, a, a, b) → (move, (0, 0, 1)) with the different objects (a, b). */
export function schemaOf(name: string, args: readonly string[]): [Schema, string[]] {
  const objects = [...new Set(args)];
  return [{ name, pattern: args.map((word) => objects.indexOf(word)) }, objects];
}

export function schemaKey(name: string, pattern: readonly number[]): string {
  return JSON.stringify([name, pattern]);
}
