// Runs the page's own bundle without a page: reads a list of calls from standard input, writes their results.
// [["answerAll", record, …], ["simulateAll", …], …]
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

runInThisContext(readFileSync(process.argv[2], "utf8"), { filename: "bundle.js" });
const calls = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(calls.map(([name, ...inputs]) => globalThis.trace2strips[name](...inputs))));
