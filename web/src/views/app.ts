// What all tabs share: the record, the trace that is looked at, and who is told when it changes.

import type { PageRecord, Trace } from "../engine/record";
import { Session, UnknownName } from "../engine/session";
import { fromFragment, toFragment } from "../engine/trace_text";

export const TABS = ["world", "model", "attention", "log", "plan", "training"] as const;
export type Tab = (typeof TABS)[number];

export class App {
  readonly session: Session;
  trace: Trace;
  tab: Tab = "world";
  selected: { action: string; at: number } | null = null; // an action, and before which step it is asked about
  shownTrace: { number: number; attempt: number } | null = null; // in the log
  message = "";
  hasAddress = true; // inside a notebook there is none to write to
  private past: Trace[] = [];
  private future: Trace[] = [];
  private readonly listeners: (() => void)[] = [];

  constructor(readonly record: PageRecord) {
    this.session = new Session(record);
    this.trace = this.beginning(0);
    this.read(location.hash);
  }

  beginning(index: number): Trace {
    const start = this.record.starts[index]!;
    return { init: start.init, state: start.state, steps: [] };
  }

  /** Take tab and trace from an address; a trace with unknown names is left out. */
  read(fragment: string): void {
    const { tab, trace } = fromFragment(fragment);
    if ((TABS as readonly string[]).includes(tab)) this.tab = tab as Tab;
    if (trace !== null && this.session.world !== null) {
      try {
        this.session.look(trace);
        this.trace = trace;
      } catch (error) {
        this.message = error instanceof UnknownName ? "The trace of this link has an action that is not known here." : String(error);
      }
    }
  }

  get fragment(): string {
    return toFragment(this.tab, this.trace);
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  changed(): void {
    try {
      history.replaceState(null, "", this.fragment);
    } catch {
      this.hasAddress = false;
    }
    for (const listener of this.listeners) listener();
  }

  show(tab: Tab): void {
    this.tab = tab;
    this.changed();
  }

  setTrace(trace: Trace, message = ""): void {
    this.past.push(this.trace);
    this.future = [];
    this.trace = trace;
    this.message = message;
    this.changed();
  }

  step(action: string, ok: boolean): void {
    const trace = { ...this.trace, steps: [...this.trace.steps, [action, ok] as [string, boolean]] };
    this.selected = { action, at: trace.steps.length - 1 };
    this.setTrace(trace, `${action} ${ok ? "applied" : "noted as refused"}: step ${trace.steps.length}`);
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  undo(): void {
    const before = this.past.pop();
    if (before === undefined) return;
    this.future.push(this.trace);
    this.trace = before;
    this.selected = null;
    this.message = `undone: ${before.steps.length} steps`;
    this.changed();
  }

  redo(): void {
    const after = this.future.pop();
    if (after === undefined) return;
    this.past.push(this.trace);
    this.trace = after;
    this.selected = null;
    this.message = `done again: ${after.steps.length} steps`;
    this.changed();
  }
}
