// Elements without HTML: whatever is text stays text.

type Child = Node | string | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: never) => void);

const SVG = "http://www.w3.org/2000/svg";

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, properties: Record<string, Value> = {}, ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, properties);
  add(element, children);
  return element;
}

export function s(tag: string, properties: Record<string, Value> = {}, ...children: (Child | Child[])[]): SVGElement {
  const element = document.createElementNS(SVG, tag) as SVGElement;
  set(element, properties);
  add(element, children);
  return element;
}

function set(element: Element, properties: Record<string, Value>): void {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value as EventListener);
    else if (name === "value" && element instanceof HTMLTextAreaElement) element.value = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function add(element: Element, children: (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child);
  }
}

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** A stranger's text for people: control characters, marks that turn text around and lone surrogates are spelled out. */
export function shown(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.codePointAt(0)!;
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });
}

let read: ((name: string) => string[]) | null = null;

/** Names that are JSON lists are shown as calls: `open(doc0)` for `["open", "doc0"]`. */
export function showLists(words: (name: string) => string[]): void {
  read = words;
}

/** The name of an action or atom for people. */
export function called(name: string): string {
  if (read === null || !name.startsWith("[")) return shown(name);
  const [word, ...args] = read(name);
  return shown(args.length > 0 ? `${word}(${args.join(", ")})` : word!);
}

export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}

export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // not allowed where the page is shown inside another one
  }
}
