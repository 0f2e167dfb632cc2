// The page: a head, six tabs, one panel.

import type { PageRecord } from "./engine/record";
import { App, TABS, type Tab } from "./views/app";
import { attentionView } from "./views/attention";
import { called, h, showLists, shown } from "./views/dom";
import { logView } from "./views/log";
import { modelView } from "./views/model";
import { planView } from "./views/plan";
import { trainingView } from "./views/training";
import { worldView } from "./views/world";

const TITLES: Record<Tab, string> = {
  world: "World", model: "Model", attention: "Attention", log: "Log", plan: "Plan", training: "Training",
};
const VIEWS: Record<Tab, (app: App) => HTMLElement> = {
  world: worldView, model: modelView, attention: attentionView, log: logView, plan: planView, training: trainingView,
};

export function mount(): void {
  const root = document.getElementById("explorer")!;
  const record = JSON.parse(document.getElementById("data")!.textContent!) as PageRecord;
  const app = new App(record);
  if (record.world?.naming.form === "json") showLists((name) => app.session.need().naming.words(name));
  const live = h("p", { class: "sr", role: "status", "aria-live": "polite" });
  const panel = h("div", { role: "tabpanel", id: "panel", "aria-labelledby": `tab-${app.tab}`, class: "panel-host" });
  const tabs = h("div", { role: "tablist", "aria-label": "Views", class: "tabs" });
  for (const tab of TABS) {
    tabs.append(
      h("button", {
        role: "tab", id: `tab-${tab}`, "aria-controls": "panel", type: "button",
        class: tab in record.empty ? "empty" : "", onclick: () => app.show(tab),
      }, TITLES[tab]),
    );
  }
  tabs.addEventListener("keydown", (event) => {
    const at = TABS.indexOf(app.tab);
    const moves: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    app.show(TABS[(to + TABS.length) % TABS.length]!);
    document.getElementById(`tab-${app.tab}`)!.focus();
  });
  root.replaceChildren(
    h("a", { class: "skip", href: "#", onclick: (event: Event) => (event.preventDefault(), panel.focus()) }, "Skip to the view"),
    h("header", {},
      h("div", { class: "headline" },
        h("p", { class: "project" }, "trace2strips · world explorer"),
        h("h1", {}, shown(record.title)),
        h("p", { class: "lead" }, shown(record.lead)),
      ),
      record.links.length > 0 &&
        h("p", { class: "links" }, record.links.map(([title, address]) => h("a", { href: address }, title))),
      tabs,
    ),
    h("main", {}, panel, live),
    h("footer", {},
      h("p", {}, "Written by trace2strips explore. It needs no network and sends nothing. "),
      record.limits.map((limit) => h("p", {}, limit)),
    ),
  );
  panel.tabIndex = -1;
  let drawn: Tab | null = null;
  const draw = () => {
    for (const tab of TABS) {
      const button = document.getElementById(`tab-${tab}`)!;
      button.setAttribute("aria-selected", String(tab === app.tab));
      button.tabIndex = tab === app.tab ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `tab-${app.tab}`);
    const kept = focusKey();
    const scrolled = drawn === app.tab ? keepScroll(panel) : [];
    const why = record.empty[app.tab];
    panel.replaceChildren(why === undefined ? VIEWS[app.tab](app) : h("p", { class: "nothing" }, shown(why)));
    drawn = app.tab;
    for (const [selector, top] of scrolled) panel.querySelector(selector)?.scrollTo({ top });
    restoreFocus(kept);
    live.textContent = shown(app.message.replace(/\["[^\]]*\]/g, called));
  };
  app.onChange(draw);
  addEventListener("hashchange", () => {
    if (location.hash === app.fragment) return;
    app.read(location.hash);
    draw();
  });
  addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
    if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
    event.preventDefault();
    if (event.shiftKey) app.redo();
    else app.undo();
  });
  requestAnimationFrame(() => setTimeout(draw, 0)); // head and tabs are painted before a long trace is looked at
}

/** Views are drawn anew when something changes; who was using the keyboard stays where he was. */
function focusKey(): string | null {
  const active = document.activeElement;
  return active instanceof HTMLElement ? (active.dataset["key"] ?? null) : null;
}

function restoreFocus(key: string | null): void {
  if (key === null) return;
  for (const element of document.querySelectorAll<HTMLElement>("[data-key]")) {
    if (element.dataset["key"] === key) {
      element.focus({ preventScroll: true });
      return;
    }
  }
}

function keepScroll(panel: HTMLElement): [string, number][] {
  return [...panel.querySelectorAll<HTMLElement>("[data-scroll]")].map((element) => [
    `[data-scroll="${element.dataset["scroll"]}"]`, element.scrollTop,
  ]);
}
