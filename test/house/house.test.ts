// The rules of the code base hold: layers, imports, names, types, merged modules and documents.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { STAND_ALONE } from "./stand-alone.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** What may import what, by folder below src/. Nothing here may point upwards. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contracts: [],
  lib: ["contracts"],
  plan: ["contracts", "lib"],
  mirror: ["contracts", "lib"],
  domains: ["contracts", "lib"],
  jobs: ["contracts", "lib"],
  queue: ["contracts", "lib"],
  security: ["contracts", "lib"],
  inventory: ["contracts", "lib"],
  reports: ["contracts", "lib"],
  // A web address has its identity by rules, which are pure.
  sources: ["contracts", "lib", "plan"],
  ledger: ["contracts", "lib"],
  extract: ["contracts", "lib"],
  index: ["contracts", "lib"],
  // The embedded backend is the wire protocol served from the index; the remote one touches neither.
  backends: ["contracts", "lib", "index"],
  sandbox: ["contracts", "lib"],
  engine: ["contracts", "lib", "plan", "mirror", "domains"],
  app: ["contracts", "lib", "plan", "mirror", "domains", "jobs", "reports", "security", "inventory", "engine"],
  http: ["contracts", "lib", "domains", "jobs", "reports", "security", "inventory", "engine", "app"],
  cli: ["contracts", "lib", "domains", "jobs", "reports", "security", "engine", "app", "http", "sandbox"],
};
/** The one place that names concrete parts: compose, and what it opens them with. */
const COMPOSE: readonly string[] = [
  "app/compose.ts",
  "app/open-backend.ts",
  "app/open-folder-roots.ts",
  "app/open-sharepoint.ts",
  "app/open-web.ts",
  "app/source-kinds.ts",
];
/**
 * Kinds of sources do not import each other: what two of them need lies in lib/ or plan/, and in tree/ what places full of files
 * have in common. Single files are the exception:
 * they are read like those of folders and containers, and noted like addresses.
 */
const SOURCE_MAY_IMPORT: Readonly<Record<string, readonly string[]>> = { files: ["folder", "blob", "web"] };
const CONCRETE_PARTS = ["sources", "ledger", "extract", "index", "backends", "queue"];

const sources = filesBelow("src").filter((file) => file.endsWith(".ts"));
const tests = ["test", "bench", "soak", "eval"].flatMap(filesBelow).filter((file) => file.endsWith(".ts"));

test("imports point one way: faces, app, verbs, rules, contracts", () => {
  const wrong: string[] = [];
  for (const file of sources) {
    const room = roomOf(file);
    for (const target of importsOf(file)) {
      const other = roomOf(target);
      if (other === room) continue;
      const allowed = MAY_IMPORT[room] ?? assert.fail(`src/${room} is not in the plan of the house`);
      const composed = COMPOSE.includes(inSrc(file)) && CONCRETE_PARTS.includes(other);
      if (!allowed.includes(other) && !composed) wrong.push(`${file} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("a kind of source leaves the others alone", () => {
  const kindOf = (file: string): string => inSrc(file).split("/")[1] ?? "";
  const wrong: string[] = [];
  for (const file of sources.filter((one) => roomOf(one) === "sources")) {
    const allowed = [kindOf(file), "tree", ...(SOURCE_MAY_IMPORT[kindOf(file)] ?? [])];
    for (const target of importsOf(file)) {
      if (roomOf(target) === "sources" && !allowed.includes(kindOf(target))) wrong.push(`${file} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("a module whose only importer is beside it is listed with a reason, or merged", () => {
  const users = new Map<string, Set<string>>(sources.map((file) => [file, new Set()]));
  for (const file of sources) for (const { to } of staticImportsOf(file)) users.get(to)?.add(file);
  const single = sources.filter((file) => {
    const [only, ...others] = users.get(file) ?? [];
    return roomOf(file) !== "sandbox" && only && others.length === 0 && dirname(only) === dirname(file);
  });
  const listed = Object.values(STAND_ALONE).flat();
  const missing = single.map(inSrc).filter((file) => !listed.includes(file));
  const stale = listed.filter((file) => !single.includes(join("src", file)));
  assert.deepEqual(missing, [], "merge these, or list them with a reason in test/house/stand-alone.ts");
  assert.deepEqual(stale, [], "take these out of test/house/stand-alone.ts: they are gone, or have other importers");
  assert.deepEqual(listed, [...new Set(listed)]);
});

test("no modules import each other by value, in circles of any length", () => {
  const graph = new Map(sources.map((file) => [file, staticImportsOf(file).filter(({ onlyTypes }) => !onlyTypes)]));
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
    if (done.has(file) || path.includes(file)) return;
    for (const { to } of graph.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of sources) visit(file, []);
  assert.deepEqual(circles, []);
});

test("engine and ledger ask what a kind of source can do, never which one it is", () => {
  // What earlier releases left is of the kinds that they had.
  const asking = sources.filter((file) => /^src\/(engine|ledger|plan|mirror|reports)\/(?!migrate\/)/.test(file));
  assert.deepEqual(
    asking.filter((file) =>
      /\w_sources["'`]|\bis(Tree|OfSharePoint|OfWeb)\b/.test(readFileSync(join(ROOT, file), "utf8")),
    ),
    [],
  );
});

test("no any, no suppressed type error, no test left out without a reason", () => {
  const suppressed = new RegExp(["ignore", "nocheck", "expect-error"].map((word) => `@ts-${word}`).join("|"));
  const wrong: string[] = [];
  for (const file of [...sources, ...tests]) {
    for (const [i, line] of linesOf(file).entries()) {
      const code = line.replace(/\/\/.*$/, "").replaceAll(/(["'`/])(?:\\.|(?!\1).)*\1/g, "''");
      const untyped = /:\s*any\b|\bas any\b|<any>/.test(code);
      // A test may say while it runs why it is left out: t.skip(reason).
      const silent =
        tests.includes(file) && /\.(only|todo)\(|(?<!\bt)\.skip\(|\.skip\(\)|\b(skip|todo): *true/.test(code);
      const unexplained = /biome-ignore [^:]+:\s*(<explanation>)?$/.test(line);
      if (untyped || silent || unexplained || suppressed.test(line)) wrong.push(`${file}:${i + 1}: ${line.trim()}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("names say something, files are kebab-case, there are no barrels", () => {
  const wrong = sources.filter((file) => {
    const name = file.split("/").at(-1) ?? "";
    return (
      !/^[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(name) ||
      name === "index.ts" ||
      /\b(manager|helper|util|utils|common|(?<!knowledge-)base|processor|data)\b/.test(name)
    );
  });
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    sources.filter((file) => /^export default/m.test(readFileSync(join(ROOT, file), "utf8"))),
    [],
  );
});

test("what a module of the product exports, others use: a function, a class, a constant", () => {
  const outside = ["bin", "scripts"].flatMap(filesBelow);
  const users = new Map<string, Set<string>>();
  for (const file of [...sources, ...tests, ...outside]) {
    for (const [word] of readFileSync(join(ROOT, file), "utf8").matchAll(/[A-Za-z_]\w*/g)) {
      users.set(word, (users.get(word) ?? new Set()).add(file));
    }
  }
  const dead = sources.flatMap((file) => {
    const exported = readFileSync(join(ROOT, file), "utf8").matchAll(
      /^export (?:async )?(?:abstract )?(?:function\*?|class|const) (\w+)/gm,
    );
    return [...exported].filter(([, name = ""]) => users.get(name)?.size === 1).map(([, name]) => `${file}: ${name}`);
  });
  assert.deepEqual(dead, []);
});

test("the first line of a test file says in a sentence what it proves", () => {
  assert.deepEqual(
    tests.filter((file) => file.endsWith(".test.ts") && !/^\/\/ \S.{10,}\.$/.test(linesOf(file)[0] ?? "")),
    [],
  );
});

test("what test files share leaves hooks to them: several run in one process, each as a suite of its own", () => {
  const shared = tests.filter((file) => file.startsWith("test/") && !file.endsWith(".test.ts"));
  assert.deepEqual(
    shared.filter((file) => /^(after|before)(Each)?\(/m.test(readFileSync(join(ROOT, file), "utf8"))),
    [],
  );
});

test("suites of test files are built at once: a test that comes later would belong to none", () => {
  const late = tests.filter((file) => /\bdescribe\([^\n]*\basync \(/.test(readFileSync(join(ROOT, file), "utf8")));
  assert.deepEqual(late, []);
});

test("CI runs exactly the test command of the README", () => {
  const ci = linesOf(".ci/run").filter((line) => line && !line.startsWith("#") && !line.startsWith("set "));
  assert.equal(ci.length, 1);
  assert.ok(readFileSync(join(ROOT, "README.md"), "utf8").includes(ci[0] ?? "?"));
});

test("every page about a format is listed", () => {
  const pages = readdirSync(join(ROOT, "docs/formats")).filter((name) => name !== "README.md");
  const list = readFileSync(join(ROOT, "docs/formats/README.md"), "utf8");
  assert.ok(pages.length > 5);
  for (const page of pages) assert.ok(list.includes(page), `docs/formats/README.md does not list ${page}`);
});

test("the lockfile names no download host", () => {
  assert.ok(!readFileSync(join(ROOT, "package-lock.json"), "utf8").includes('"resolved"'));
});

function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const found = text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...found].map(([, target]) => relative(ROOT, resolve(ROOT, dirname(file), target ?? "")));
}

/** What a file imports as it is loaded, and whether the compiler erases it. */
function staticImportsOf(file: string): { to: string; onlyTypes: boolean }[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const found = text.matchAll(/^(?:import|export)\s+(type\s+)?([^;'"]*?from\s+)?"(\.[^"]+)"/gms);
  return [...found].map(([, type, names = "", path = ""]) => {
    const inner = /^\{([^}]*)\}/.exec(names)?.[1];
    const erased = inner?.split(",").every((name) => /^\s*(type\s|$)/.test(name)) ?? false;
    return { to: relative(ROOT, resolve(ROOT, dirname(file), path)), onlyTypes: type !== undefined || erased };
  });
}

function roomOf(file: string): string {
  return inSrc(file).split("/")[0] ?? "";
}

function inSrc(file: string): string {
  return relative("src", file);
}

function linesOf(file: string): string[] {
  return readFileSync(join(ROOT, file), "utf8").split("\n");
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}
