// Which objects a log tries together in an action, where only some are (Python's `Together`): of others nobody knows
// whether something that was never told forbids it.

import { schemaKey } from "./naming";
import type { LiftedRecord } from "./record";

export class Together {
  private constructor(
    private readonly uses: ReadonlyMap<string, { places: number[]; number: number }[]>, // by schema
    private readonly tuples: Set<string>[],
  ) {}

  static of(world: LiftedRecord | null): Together {
    const uses = new Map<string, { places: number[]; number: number }[]>();
    const relations = world?.relations ?? [];
    relations.forEach((relation, number) => {
      for (const [action, places] of relation.uses) {
        const { name, pattern } = world!.actions[action]!;
        const key = schemaKey(name, pattern);
        uses.set(key, [...(uses.get(key) ?? []), { places, number }]);
      }
    });
    return new Together(uses, relations.map(({ tuples }) => new Set(tuples.map((tuple) => JSON.stringify(tuple)))));
  }

  /** Another one that learns by itself. */
  copy(): Together {
    return new Together(this.uses, this.tuples.map((tuples) => new Set(tuples)));
  }

  add(schema: string, objects: readonly string[]): void {
    for (const { places, number } of this.uses.get(schema) ?? []) {
      this.tuples[number]!.add(JSON.stringify(places.map((i) => objects[i])));
    }
  }

  /** Objects of an attempt that were never tried together there; none: all were, or any may be. */
  apart(schema: string, objects: readonly string[]): string[] {
    for (const { places, number } of this.uses.get(schema) ?? []) {
      const about = places.map((i) => objects[i]!);
      if (!this.tuples[number]!.has(JSON.stringify(about))) return about;
    }
    return [];
  }
}
