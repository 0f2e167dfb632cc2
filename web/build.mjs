// Builds the page's script and style into the Python package, and gathers the licences of what the script contains.
// `node build.mjs FOLDER` builds elsewhere: a test compares that with what is checked in.
import { build } from "esbuild";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const into = process.argv[2] ?? join(here, "..", "src", "trace2strips", "explorer");
const options = { bundle: true, minify: true, target: "es2022", charset: "ascii", legalComments: "none", absWorkingDir: here };
const script = await build({
  ...options, entryPoints: ["src/main.ts"], outfile: join(into, "bundle.js"), format: "iife", metafile: true,
  define: { "process.env.NODE_ENV": '"production"' },
});
await build({ ...options, entryPoints: ["src/style.css"], outfile: join(into, "bundle.css") });

const packages = new Set(
  Object.keys(script.metafile.inputs)
    .map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
    .filter((name) => name !== undefined),
);
const parts = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((path) => /^licen[cs]e/i.test(path));
  const text = file ? readFileSync(join(folder, file), "utf8").trim().replace(/\r\n/g, "\n") : "";
  return `${name} ${version} (${license})\n\n${text}\n`;
});
const rule = `\n${"-".repeat(80)}\n\n`;
writeFileSync(join(into, "LICENSES.txt"), `What bundle.js contains besides trace2strips, and under which licences.\n${rule}${parts.join(rule)}`);
