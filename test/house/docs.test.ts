// The documents name files that exist, and are as short as they promise to be.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";

const ROOT = resolve(import.meta.dirname, "../..");
const PAGES = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  ...globSync("docs/{guides,formats}/*.md", { cwd: ROOT }),
];

const read = (page: string): string => readFileSync(join(ROOT, page), "utf8");

test("every module that a page names is there", () => {
  const missing = PAGES.flatMap((page) =>
    [...read(page).matchAll(/`((?:[a-z0-9-]+\/)+[a-z0-9-]+\.ts)`/g)]
      .map(([, path = ""]) => path)
      .filter((path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, "src", path)))
      .map((path) => `${page}: ${path}`),
  );
  assert.deepEqual(missing, []);
});

test("every link between pages leads to a file", () => {
  const missing = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !existsSync(join(ROOT, dirname(page), target)))
      .map((target) => `${page}: ${target}`),
  );
  assert.deepEqual(missing, []);
});

test("README and ARCHITECTURE can be read in one sitting", () => {
  assert.ok(read("README.md").split("\n").length <= 121);
  assert.ok(read("ARCHITECTURE.md").split("\n").length <= 151);
  for (const line of read("README.md").split("\n")) assert.ok(line.length <= 160, line);
});
