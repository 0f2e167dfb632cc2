// The Log tab: what was learned from, what is odd in it, and what to try next.

import { readKept, type KeptTrace, type Trace } from "../engine/record";
import type { App } from "./app";
import { called, count, h, shown } from "./dom";

const MOST_ROWS = 500;
let page = 0;
const PAGE = 40; // traces of the list

export function logView(app: App): HTMLElement {
  const { log, suggestions } = app.record;
  const odd = new Map<string, string>();
  for (const one of log.suspects) odd.set(`${one.trace - 1}/${one.attempt - 1}`, one.worked ? "worked, probably refused" : "refused, probably worked");
  return h("div", { class: "log" },
    h("p", { class: "hint" }, `${count(log.traces.length, "trace")} of ${log.of.toLocaleString("en-US")} ${log.of === 1 ? "is" : "are"} kept and shown here. ${log.more}`),
    surprises(app),
    suggestions.length > 0 ? next(app)
      : app.session.certainty !== null && app.record.summary?.nothing_certain === false
        ? h("section", { "aria-labelledby": "next-title" }, h("h2", { id: "next-title" }, "What to try next"), h("p", {}, "After the first traces of the log no open attempt was found."))
        : null,
    traces(app, odd),
  );
}

function surprises(app: App): HTMLElement {
  const { suspects, all_suspects, inexplicable } = app.record.log;
  const nothing = suspects.length === 0 && inexplicable.length === 0;
  return h("section", { "aria-labelledby": "odd-title" },
    h("h2", { id: "odd-title" }, "Surprises"),
    nothing ? h("p", {}, "No label looks wrong, and every refusal can be explained.") : null,
    suspects.length > 0
      ? h("div", {}, h("h3", {}, `${count(all_suspects, "label")} ${all_suspects === 1 ? "is" : "are"} probably wrong`),
          h("ul", { class: "odd" }, suspects.map((one) =>
            h("li", {}, goTo(app, one.trace - 1, one.attempt - 1, one.place), " ", h("b", {}, called(one.action)),
              one.worked ? " is written as worked, and was probably refused" : " is written as refused, and probably worked"))))
      : null,
    inexplicable.length > 0
      ? h("div", {}, h("h3", {}, "Refusals that no model explains, with the proof"),
          inexplicable.map((one) =>
            h("details", { class: "odd" }, h("summary", {}, h("b", {}, called(one.action)), ` was refused at ${shown(one.place)}`),
              h("ul", {}, one.ruled_out.map((out) =>
                h("li", {}, `not because of ${shown(out.since)}: it worked at ${shown(out.worked)}, with ${out.between.length > 0 ? `no more than ${out.between.map(shown).join(", ")}` : "nothing"} since`))))))
      : null);
}

function goTo(app: App, number: number, attempt: number, place: string): HTMLElement {
  const kept = app.record.log.traces.some((trace) => trace.number === number);
  if (!kept) return h("span", { class: "place" }, shown(place));
  return h("button", { type: "button", class: "place", onclick: () => { app.shownTrace = { number, attempt }; app.changed(); scrollToTrace(); } }, shown(place));
}

function scrollToTrace(): void {
  document.getElementById("one-trace")?.scrollIntoView({ behavior: "smooth", block: "start" });
}

function next(app: App): HTMLElement {
  return h("section", { "aria-labelledby": "next-title" },
    h("h2", { id: "next-title" }, "What to try next"),
    h("p", { class: "hint" }, "Attempts that the log leaves open, and whose answers would decide most."),
    h("ul", { class: "odd" }, app.record.suggestions.map((one) => {
      const kept = app.record.log.traces.find((trace) => trace.number === one.number);
      return h("li", {}, h("b", {}, called(one.action)), one.after === null ? "" : ` after ${shown(one.after)}`,
        `: ${count(one.decided_if_works, "more answer")} certain if it works, ${one.decided_if_refused} if it is refused; the model says ${one.guess}. `,
        kept ? h("button", { type: "button", class: "plain small", onclick: () => openIn(app, kept, null, one.action) }, "Look at it") : null);
    })));
}

/** A trace of the log, up to an attempt, in the World tab. */
function openIn(app: App, kept: KeptTrace, attempt: number | null, action: string): void {
  const whole = readKept(app.record, kept);
  const trace: Trace = { ...whole, steps: attempt === null ? whole.steps : whole.steps.slice(0, attempt) };
  app.tab = "world";
  app.selected = { action, at: trace.steps.length };
  app.setTrace(trace, "a trace of the log");
}

function traces(app: App, odd: Map<string, string>): HTMLElement {
  const all = app.record.log.traces;
  const chosen = all.find((trace) => trace.number === app.shownTrace?.number) ?? all[0];
  if (chosen === undefined) return h("p", { class: "hint" }, "No trace is kept.");
  page = Math.min(page, Math.floor((all.length - 1) / PAGE));
  const at = all.indexOf(chosen);
  if (app.shownTrace !== null && Math.floor(at / PAGE) !== page) page = Math.floor(at / PAGE);
  const oddTraces = new Set([...odd.keys()].map((key) => Number(key.split("/")[0])));
  return h("section", { "aria-labelledby": "traces-title", id: "one-trace" },
    h("h2", { id: "traces-title" }, "Traces"),
    h("div", { class: "two" },
      h("div", {},
        h("ul", { class: "trace-list", "data-scroll": "traces" }, all.slice(page * PAGE, (page + 1) * PAGE).map((trace) =>
          h("li", {}, h("button", {
            type: "button", class: "row", "aria-pressed": String(trace === chosen), "data-key": `trace-${trace.number}`,
            onclick: () => { app.shownTrace = { number: trace.number, attempt: -1 }; app.changed(); },
          }, h("span", {}, shown(trace.place)), h("span", { class: "hint" }, `${count(trace.steps.length, "attempt")}${oddTraces.has(trace.number) ? ", odd" : ""}`))))),
        all.length > PAGE ? h("p", { class: "buttons" },
          h("button", { type: "button", class: "plain", disabled: page === 0, "data-key": "earlier", onclick: () => { page -= 1; app.shownTrace = null; app.changed(); } }, "Earlier"),
          h("button", { type: "button", class: "plain", disabled: (page + 1) * PAGE >= all.length, "data-key": "later", onclick: () => { page += 1; app.shownTrace = null; app.changed(); } }, "Later")) : null),
      oneTrace(app, chosen, odd)));
}

function oneTrace(app: App, kept: KeptTrace, odd: Map<string, string>): HTMLElement {
  const trace = readKept(app.record, kept);
  const rows = trace.steps.slice(0, MOST_ROWS).map(([name, ok], i) => {
    const strange = odd.get(`${kept.number}/${i}`);
    const here = app.shownTrace?.number === kept.number && app.shownTrace.attempt === i;
    return h("tr", { class: `${ok ? "" : "no"} ${strange ? "strange" : ""} ${here ? "here" : ""}`, "aria-current": here ? "true" : null },
      h("td", { class: "number" }, String(i + 1)), h("th", { scope: "row" }, called(name)),
      h("td", {}, ok ? "worked" : "refused", strange ? h("b", {}, ` (${strange})`) : ""),
      h("td", {}, h("button", { type: "button", class: "plain small", "aria-label": `look at attempt ${i + 1} in the world`, onclick: () => openIn(app, kept, i, name) }, "look")));
  });
  return h("div", { class: "one-trace" },
    h("p", {}, h("b", {}, shown(kept.place)), trace.init === null ? (trace.state === null ? ", tells nothing of its start" : `, begins at ${shown(trace.state)}`) : `, begins with ${trace.init.map(called).join(", ") || "nothing true"}`),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Attempts of the trace" },
      h("table", {}, h("thead", {}, h("tr", {}, ["", "attempt", "label", ""].map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows))),
    trace.steps.length > MOST_ROWS ? h("p", { class: "hint" }, `${count(trace.steps.length - MOST_ROWS, "more attempt")}.`) : null);
}
