// The rules of a tree say which files are taken and which folders are entered.
import assert from "node:assert/strict";
import { test } from "node:test";
import { folderOf, nameOf } from "../../src/lib/tree-path.ts";
import { createTreeRules } from "../../src/sources/tree/tree-rules.ts";

interface Rules {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly hidden: boolean;
}
const NOTHING: Rules = { include: [], exclude: [], hidden: false };

const CASES: readonly [string, Partial<Rules>, readonly string[], readonly string[]][] = [
  ["everything, but nothing hidden", {}, ["a.md", "b/c.md", "a\nb/c"], [".a", ".git/config", "a/.b/c", "../x"]],
  ["hidden, when asked for", { hidden: true }, [".a", ".git/config"], []],
  ["a name at any depth", { include: ["*.md"] }, ["a.md", "b/c.md", "b\n/c.md"], ["a.txt", "a.md.txt"]],
  ["only from the root on", { include: ["/*.md"] }, ["a.md"], ["b/a.md"]],
  ["a path", { include: ["docs/**/*.md"] }, ["docs/a.md", "docs/b/c.md"], ["a.md", "other/docs/a.md"]],
  ["a folder is everything below it", { include: ["docs"] }, ["docs/a", "x/docs/b/c"], ["documents/a"]],
  ["a folder, written with its slash", { exclude: ["node_modules/"] }, ["a"], ["node_modules/a", "b/node_modules/c/d"]],
  [
    "leaving out wins",
    { include: ["docs/**"], exclude: ["*.tmp", "docs/old"] },
    ["docs/a"],
    ["docs/a.tmp", "docs/old/b"],
  ],
  ["braces and brackets", { include: ["*.{md,txt}", "[0-9]*"] }, ["a.txt", "x/1a"], ["a.doc"]],
  ["capitals are letters of their own", { include: ["*.md"] }, [], ["a.MD"]],
  [
    "one spelling of an umlaut is as good as the other",
    { include: ["M\u00fcll/**"] },
    ["Mu\u0308ll/a", "M\u00fcll/a"],
    [],
  ],
  ["a line feed is a character", { include: ["a/**"] }, ["a/b\nc/d"], []],
  ["empty names do no harm", { exclude: ["x"] }, ["a//b", "/a", "//a"], ["x//b", "a//x"]],
];

for (const [title, rules, taken, left] of CASES) {
  test(title, () => {
    const takes = createTreeRules({ ...NOTHING, ...rules });
    assert.deepEqual([...taken, ...left].filter(takes), taken);
    for (const path of [...taken, ...left].filter((each) => !each.includes("//") && !each.startsWith("/"))) {
      assert.equal(takes.within(folderOf(path))(nameOf(path)), takes(path), `by its name: ${path}`);
    }
  });
}

test("a walk need not enter what is shut, and enters what may hold something", () => {
  const { enters } = createTreeRules({ include: ["docs/**/*.md"], exclude: ["old", "a/b/**"], hidden: false });
  const folders = ["", "docs", "docs/x", "other", "old", "docs/old/x", "a", "a/b", "a/b/c", ".git", "x/.cache/y"];
  assert.deepEqual(folders.filter(enters), ["", "docs", "docs/x", "other", "a"]);
});
