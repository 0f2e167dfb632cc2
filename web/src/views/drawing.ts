// Pictures of the five families. Any other world is shown as cards.

import type { Trace } from "../engine/record";
import type { Session } from "../engine/session";
import { LiftedWorld } from "../engine/world";
import { s, shown } from "./dom";

type Words = string[][];
const PALETTE = 8; // colours of blocks, cars, tiles, packages: style.css has them

/** A picture of what is true, or null where none is known. */
export function draw(words: Words, session: Session, trace: Trace, actions: string[]): SVGElement | null {
  const has = predicates(words, session);
  const objects = [...session.objects(trace)].sort(natural);
  if (has("on", 2) && (has("ontable", 1) || has("on-table", 1))) return drawBlocks(words, objects);
  if (has("at-ferry", 1) && has("at", 2)) return drawFerry(words, session, actions);
  if (has("truck-at", 2) && has("plane-at", 2) && has("at", 2)) return drawCities(words, session, actions);
  if (has("at", 2) && has("empty", 1)) return drawTiles(words, objects);
  const told = new Set((trace.init ?? []).map((atom) => session.need().naming.words(atom)[0]));
  if (has("at", 1) && (has("free", 1) || told.has("free"))) return drawMaze(words, objects, session, trace);
  return null;
}

function predicates(words: Words, session: Session): (name: string, arity: number) => boolean {
  const world = session.world;
  const known = new Set<string>();
  if (world instanceof LiftedWorld) for (const p of world.record.predicates) known.add(`${p.name}/${p.types.length}`);
  for (const [name, ...args] of words) known.add(`${name}/${args.length}`);
  return (name, arity) => known.has(`${name}/${arity}`);
}

const natural = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });

function of(words: Words, name: string): string[][] {
  return words.filter(([word]) => word === name).map(([, ...args]) => args);
}

function label(x: number, y: number, text: string, more: Record<string, string | number> = {}): SVGElement {
  const short = text.length > 9 ? `${text.slice(0, 8)}…` : text;
  return s("text", { x, y, "text-anchor": "middle", "dominant-baseline": "central", ...more }, shown(short));
}

function canvas(width: number, height: number, title: string, ...children: SVGElement[]): SVGElement {
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": shown(title), class: "picture", width, height }, children);
}

function box(x: number, y: number, w: number, height: number, name: string, colour: number): SVGElement[] {
  return [s("rect", { x, y, width: w, height, rx: 5, class: `thing c${colour % PALETTE}` }), label(x + w / 2, y + height / 2 + 1, name, { class: "on-thing" })];
}

function drawBlocks(words: Words, blocks: string[]): SVGElement {
  const below = new Map(of(words, "on").map(([x, y]) => [x!, y!]));
  const above = new Map([...below].map(([x, y]) => [y, x]));
  const table = new Set([...of(words, "ontable"), ...of(words, "on-table")].map(([x]) => x!));
  const held = blocks.filter((b) => !below.has(b) && !table.has(b));
  const towers = blocks.filter((b) => table.has(b)).map((bottom) => {
    const tower = [bottom];
    for (let at = above.get(bottom); at !== undefined && !tower.includes(at); at = above.get(at)) tower.push(at);
    return tower;
  });
  const size = 46, gap = 16;
  const columns = Math.max(towers.length, held.length, 3);
  const tallest = Math.max(2, ...towers.map((tower) => tower.length));
  const width = columns * (size + gap) + gap;
  const ground = 78 + tallest * (size + 2);
  const parts: SVGElement[] = [s("path", { d: `M4 ${ground + 1}H${width - 4}`, class: "ground" })];
  towers.forEach((tower, i) => tower.forEach((block, k) => {
    parts.push(...box(gap + i * (size + gap), ground - (k + 1) * (size + 2), size, size, block, blocks.indexOf(block)));
  }));
  const hand = gap + Math.max(0, (columns - Math.max(1, held.length)) / 2) * (size + gap);
  const middle = hand + size / 2;
  parts.push(s("path", { d: `M${middle} 2V12M${middle - 20} 22V12H${middle + 20}V22`, class: "hand" }));
  held.forEach((block, i) => parts.push(...box(hand + i * (size + gap), 20, size, size, block, blocks.indexOf(block))));
  const said = `${towers.map((tower) => tower.join(" below ")).join("; ")}; the hand ${held.length > 0 ? `holds ${held.join(", ")}` : "is empty"}`;
  return canvas(width, ground + 6, `Blocks, each tower from the table up: ${said}`, ...parts);
}

/** The objects that stand in a place of some action or atom. */
function objectsAt(session: Session, actions: string[], schema: string, place: number): string[] {
  const naming = session.need().naming;
  const found = new Set<string>();
  for (const action of actions) {
    const words = naming.words(action);
    if (words[0] === schema && words[place + 1] !== undefined) found.add(words[place + 1]!);
  }
  return [...found].sort(natural);
}

function drawFerry(words: Words, session: Session, actions: string[]): SVGElement {
  const at = new Map(of(words, "at").map(([car, port]) => [car!, port!]));
  const ferry = of(words, "at-ferry").map(([port]) => port!);
  const ports = [...new Set([...objectsAt(session, actions, "sail", 0), ...objectsAt(session, actions, "board", 1), ...at.values(), ...ferry])].sort(natural);
  const cars = [...new Set([...objectsAt(session, actions, "board", 0), ...at.keys()])].sort(natural);
  const aboard = cars.filter((car) => !at.has(car));
  const w = 76, carH = 22;
  const most = Math.max(2, ...ports.map((port) => cars.filter((car) => at.get(car) === port).length));
  const quay = 26 + most * (carH + 4);
  const parts: SVGElement[] = [s("rect", { x: 0, y: quay + 12, width: ports.length * w, height: 58, class: "water" })];
  ports.forEach((port, i) => {
    parts.push(s("rect", { x: i * w + 4, y: quay, width: w - 8, height: 12, rx: 2, class: "quay" }), label(i * w + w / 2, 10, port, { class: "name" }));
    cars.filter((car) => at.get(car) === port).forEach((car, k) => parts.push(...box(i * w + 14, quay - (k + 1) * (carH + 4), w - 28, carH, car, cars.indexOf(car))));
  });
  ferry.forEach((port) => {
    const x = ports.indexOf(port) * w;
    aboard.forEach((car, k) => parts.push(...box(x + 18, quay + 20 - k * 6, w - 36, carH, car, cars.indexOf(car))));
    parts.push(s("path", { d: `M${x + 6} ${quay + 44}H${x + w - 6}L${x + w - 16} ${quay + 60}H${x + 16}Z`, class: "boat" }), label(x + w / 2, quay + 52, "ferry", { class: "small on-boat" }));
  });
  const said = ports.map((port) => `${port}: ${cars.filter((car) => at.get(car) === port).join(", ") || "no car"}`).join("; ");
  return canvas(ports.length * w, quay + 70, `Ports. ${said}. The ferry is at ${ferry.join(", ")}, on it ${aboard.join(", ") || "no car"}`, ...parts);
}

interface Grid {
  rows: string[];
  columns: string[];
  cell(name: string): [number, number] | null;
}

/** Cells are called row-column, c2-3; others stand in one row. */
function gridOf(cells: string[]): Grid {
  const read = (name: string) => /^(.*?)(\d+)[-_,.x](\d+)$/.exec(name);
  if (cells.length > 0 && cells.every((name) => read(name) !== null)) {
    const part = (i: number) => [...new Set(cells.map((name) => read(name)![i]!))].sort(natural);
    const [rows, columns] = [part(2), part(3)];
    return { rows, columns, cell: (name) => { const found = read(name); return found ? [rows.indexOf(found[2]!), columns.indexOf(found[3]!)] : null; } };
  }
  return { rows: [""], columns: cells, cell: (name) => (cells.includes(name) ? [0, cells.indexOf(name)] : null) };
}

function drawTiles(words: Words, objects: string[]): SVGElement {
  const at = of(words, "at");
  const empty = new Set(of(words, "empty").map(([cell]) => cell!));
  const cells = [...new Set([...at.map(([, cell]) => cell!), ...empty])].sort(natural);
  const tiles = objects.filter((name) => !cells.includes(name));
  const grid = gridOf(cells);
  const size = 62;
  const parts: SVGElement[] = [];
  for (const cell of cells) {
    const place = grid.cell(cell);
    if (place) parts.push(s("rect", { x: place[1] * size + 3, y: place[0] * size + 3, width: size - 6, height: size - 6, rx: 6, class: empty.has(cell) ? "hole" : "slot" }));
    if (place && empty.has(cell)) parts.push(label((place[1] + 0.5) * size, (place[0] + 1) * size - 14, cell, { class: "cell" }));
  }
  for (const [tile, cell] of at) {
    const place = grid.cell(cell!);
    if (place) parts.push(...box(place[1] * size + 5, place[0] * size + 5, size - 10, size - 10, tile!, tiles.indexOf(tile!)), label((place[1] + 0.5) * size, (place[0] + 1) * size - 14, cell!, { class: "cell on-thing" }));
  }
  return canvas(grid.columns.length * size, grid.rows.length * size, `Tiles: ${at.map(([tile, cell]) => `${tile} at ${cell}`).join(", ")}; empty: ${[...empty].join(", ")}`, ...parts);
}

function drawMaze(words: Words, objects: string[], session: Session, trace: Trace): SVGElement {
  const naming = session.need().naming;
  const told = (trace.init ?? []).map((atom) => naming.words(atom)).filter(([word]) => word === "free").map(([, cell]) => cell!);
  const free = new Set([...of(words, "free").map(([cell]) => cell!), ...told]);
  const agent = of(words, "at").map(([cell]) => cell!);
  const known = session.record.typing.objects.flat();
  const cells = [...new Set([...objects, ...free, ...agent, ...known])];
  const grid = gridOf(cells);
  const size = Math.max(22, Math.min(52, 330 / Math.max(1, grid.columns.length)));
  const parts: SVGElement[] = [s("rect", { x: 0, y: 0, width: grid.columns.length * size, height: grid.rows.length * size, class: "wall" })];
  for (const cell of cells) {
    const place = grid.cell(cell);
    if (place && free.has(cell)) parts.push(s("rect", { x: place[1] * size + 1, y: place[0] * size + 1, width: size - 2, height: size - 2, rx: 2, class: "floor" }));
    if (place && size >= 40) parts.push(label((place[1] + 0.5) * size, (place[0] + 1) * size - 8, cell, { class: free.has(cell) ? "cell" : "cell on-wall" }));
  }
  for (const cell of agent) {
    const place = grid.cell(cell);
    if (place) parts.push(s("circle", { cx: (place[1] + 0.5) * size, cy: (place[0] + (size >= 40 ? 0.4 : 0.5)) * size, r: size * (size >= 40 ? 0.25 : 0.3), class: "agent" }));
  }
  return canvas(grid.columns.length * size, grid.rows.length * size, `A maze of ${grid.rows.length} by ${grid.columns.length} cells, ${free.size} of them free; the agent is at ${agent.join(", ")}`, ...parts);
}

function drawCities(words: Words, session: Session, actions: string[]): SVGElement {
  const naming = session.need().naming;
  const trucks = new Map(of(words, "truck-at").map(([truck, place]) => [truck!, place!]));
  const planes = new Map(of(words, "plane-at").map(([plane, place]) => [plane!, place!]));
  const packages = new Map(of(words, "at").map(([name, place]) => [name!, place!]));
  const drives = actions.map((action) => naming.words(action)).filter((words) => words[0] === "drive" && words.length === 5);
  const tried = drives.filter((words) => session.isTried(naming.join(words))); // another city's name makes an action that nobody tries
  const cityOf = new Map<string, string>();
  for (const [, , from, to, city] of tried.length > 0 ? tried : drives) cityOf.set(from!, city!).set(to!, city!);
  const all = [...new Set([...objectsAt(session, actions, "load-truck", 0), ...packages.keys()])].sort(natural);
  const vehicles = [...new Set([...trucks.keys(), ...planes.keys()])];
  const inside = new Map<string, string>();
  for (const [, ...args] of words.filter(([word]) => !["at", "truck-at", "plane-at"].includes(word!))) {
    const box = args.find((name) => all.includes(name)), vehicle = args.find((name) => vehicles.includes(name));
    if (box && vehicle && !packages.has(box)) inside.set(box, vehicle);
  }
  const places = [...new Set([...cityOf.keys(), ...trucks.values(), ...planes.values(), ...packages.values()])].sort(natural);
  const group = (place: string) => cityOf.get(place) ?? place.replace(/^\D+/, "");
  const cities = [...new Set(places.map(group))].sort(natural);
  const w = 96, rowH = 84, unit = 20;
  const rows = Math.max(1, ...cities.map((city) => places.filter((place) => group(place) === city).length));
  const parts: SVGElement[] = [];
  cities.forEach((city, i) => {
    parts.push(s("rect", { x: i * w + 3, y: 18, width: w - 6, height: rows * rowH + 4, rx: 8, class: "city" }), label(i * w + w / 2, 9, city, { class: "name" }));
    places.filter((place) => group(place) === city).forEach((place, k) => {
      const y = 22 + k * rowH;
      parts.push(s("rect", { x: i * w + 8, y, width: w - 16, height: rowH - 6, rx: 5, class: "slot" }), label(i * w + 20, y + 10, place, { class: "small" }));
      let at = 0;
      for (const vehicle of vehicles.filter((name) => (trucks.get(name) ?? planes.get(name)) === place)) {
        const x = i * w + 12, top = y + 20 + at * 26;
        const load = all.filter((name) => inside.get(name) === vehicle);
        parts.push(planes.has(vehicle)
          ? s("path", { d: `M${x} ${top + 11}l10 -9h54l8 9l-8 9h-54z`, class: "plane" })
          : s("rect", { x, y: top, width: 72, height: 22, rx: 4, class: "truck" }));
        parts.push(label(x + 18, top + 11, vehicle, { class: "small on-boat" }));
        load.forEach((name, n) => parts.push(...box(x + 36 + n * 18, top + 2, 17, 18, name, all.indexOf(name))));
        at += 1;
      }
      all.filter((name) => packages.get(name) === place).forEach((name, n) =>
        parts.push(...box(i * w + w - 32 - (n % 3) * 22, y + 3 + Math.floor(n / 3) * 20, unit, 17, name, all.indexOf(name))));
    });
  });
  const said = places.map((place) => `${place}: ${[...all.filter((x) => packages.get(x) === place), ...vehicles.filter((x) => (trucks.get(x) ?? planes.get(x)) === place)].join(", ") || "nothing"}`).join("; ");
  return canvas(cities.length * w, 26 + rows * rowH, `Cities. ${said}; loaded: ${[...inside].map(([x, y]) => `${x} in ${y}`).join(", ") || "nothing"}`, ...parts);
}
