// Renames, swaps, copies and edits of files are traced to the right documents.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ItemId } from "../../../src/contracts/ids.ts";
import { ModelTree } from "./model-tree.ts";

/** What there is first, what happens to it, and what the next look makes of it. A document is called after its first path. */
const EVENTS: readonly (readonly [string, first: string, then: string, Record<string, string>])[] = [
  ["nothing", "write a 1", "", {}],
  ["a new file", "write a 1", "write b 2", { b: "found" }],
  ["two new files with one content", "", "write a 1; write b 1", { a: "found", b: "found" }],
  ["an edit", "write a 1", "write a 2", { a: "edited a" }],
  ["an edit that replaces the file", "write a 1", "save a 2", { a: "edited a" }],
  ["a touch", "write a 1", "touch a", { a: "touched a" }],
  ["saved again as it was", "write a 1", "save a 1", { a: "touched a" }],
  ["a deletion", "write a 1; write b 2", "rm a", { "lost a": "" }],
  ["a rename", "write a 1", "mv a b", { b: "moved a" }],
  ["a move to another folder", "write d/a 1", "mv d/a e/f/a", { "e/f/a": "moved d/a" }],
  ["a change of letter case", "write Plan.md 1", "mv Plan.md plan.md", { "plan.md": "moved Plan.md" }],
  ["NFD becomes NFC", "write e\u0301 1", "mv e\u0301 \u00e9", { "\u00e9": "moved e\u0301" }],
  ["two names swapped", "write a 1; write b 2", "mv a t; mv b a; mv t b", { a: "moved b", b: "moved a" }],
  ["a chain", "write a 1; write b 2", "mv b c; mv a b", { b: "moved a", c: "moved b" }],
  [
    "a chain, written anew",
    "write a 1; write b 2; write c 3",
    "save d 3; save c 2; save b 1; rm a",
    { b: "moved a", c: "moved b", d: "moved c" },
  ],
  [
    "a circle of three",
    "write a 1; write b 2; write c 3",
    "mv a t; mv c a; mv b c; mv t b",
    { a: "moved c", b: "moved a", c: "moved b" },
  ],
  [
    "a folder renamed, with equal files in it",
    "write d/x/i 1; write d/y/i 1; write d/i 1",
    "mv d/x/i e/x/i; mv d/y/i e/y/i; mv d/i e/i",
    { "e/x/i": "moved d/x/i", "e/y/i": "moved d/y/i", "e/i": "moved d/i" },
  ],
  ["a copy", "write a 1", "cp a b", { b: "copied" }],
  ["a copy of what was touched", "write a 1", "touch a; cp a b", { a: "touched a", b: "copied" }],
  ["a copy over another", "write a 1; write b 2", "cp a b", { b: "edited b" }],
  ["a rename over another", "write a 1; write b 2", "mv b a", { a: "moved b", "lost a": "" }],
  ["a rename, and a copy of it", "write a 1", "mv a b; cp b c", { b: "moved a", c: "copied" }],
  ["a rename, and a new file in its place", "write a 1", "mv a b; write a 2", { a: "found", b: "moved a" }],
  ["a rename and an edit", "write a 1", "mv a b; write b 2", { b: "found", "lost a": "" }],
  ["a file back in its place", "write a 1; look; rm a; look", "back a a", { a: "restored a" }],
  ["a file back in another place", "write a 1; look; rm a; look", "back a d/b", { "d/b": "restored a" }],
  ["back after the purge", "write a 1; look; rm a; look; purge", "back a b", { b: "restored a" }],
  ["back, while its path is taken", "write a 1; look; rm a; look; write a 2", "back a b", { b: "restored a" }],
  ["something else in the place of a missing file", "write a 1; look; rm a; look", "write a 2", { a: "found" }],
  [
    "missing comes before deleted, and nearer does not help",
    "write d/a 1; write b 2; look; rm d/a; look; purge; write b 1; look; rm b",
    "write d/a 1",
    { "d/a": "restored b" },
  ],
];

/** With nodes a copy is told from a rename also where the content does not tell. */
const WITH_NODES: typeof EVENTS = [
  ["mv a b; cp b a", "write a 1", "mv a b; cp b a", { a: "copied", b: "moved a" }],
  ["equal ones swapped", "write a 1; write b 1", "mv a t; mv b a; mv t b", { a: "moved b", b: "moved a" }],
  ["over an equal one", "write a 1; write b 1", "mv b a", { a: "moved b", "lost a": "" }],
  ["a copy, then an edit", "write a 1", "cp a b; write a 2", { a: "edited a", b: "found" }],
  ["a copy, then an edit that replaces", "write a 1", "cp a b; save a 2", { a: "edited a", b: "found" }],
  ["a node given to another", "write a 1; write b 2", "rm a; write c 3", { c: "found", "lost a": "" }],
  [
    "its last content elsewhere, its path taken",
    "write a 1; write b 2",
    "cp a c; mv b a",
    { a: "moved b", c: "moved a" },
  ],
];

const WITHOUT_NODES: typeof EVENTS = [
  ["mv a b; cp b a", "write a 1", "mv a b; cp b a", { a: "touched a", b: "copied" }],
  ["equal ones swapped", "write a 1; write b 1", "mv a t; mv b a; mv t b", { a: "touched a", b: "touched b" }],
  ["over an equal one", "write a 1; write b 1", "mv b a", { a: "touched a", "lost b": "" }],
];

for (const hasNodes of [true, false]) {
  for (const [name, first, then, outcome] of [...EVENTS, ...(hasNodes ? WITH_NODES : WITHOUT_NODES)]) {
    test(`${name}, ${hasNodes ? "with" : "without"} nodes`, () => {
      const tree = new ModelTree({ hasNodes });
      tree.run(first);
      tree.look();
      tree.run(then);
      assert.deepEqual(tree.look(), outcome);
    });
  }
}

const PATHS = ["a", "b", "A", "d/a", "d/b", "d/e/a"];
const path = fc.constantFrom(...PATHS);
/** Some contents are shared, some are nobody else's. */
const content = fc.oneof(
  fc.constantFrom("1", "2"),
  fc.nat({ max: 1_000_000 }).map((one) => `x${one}`),
);
const operation = fc.oneof(
  fc.tuple(fc.constantFrom("write", "save"), path, content),
  { arbitrary: fc.tuple(fc.constantFrom("mv", "mv", "cp", "back"), path, path), weight: 3 },
  fc.tuple(fc.constantFrom("rm", "touch", "look", "purge"), path),
);
const history = fc.array(
  operation.map((words) => words.join(" ")),
  { maxLength: 40 },
);

for (const hasNodes of [true, false]) {
  test(`histories ${hasNodes ? "with" : "without"} nodes: who is the same keeps its document`, () => {
    fc.assert(
      fc.property(history, (lines) => {
        const tree = new ModelTree({ hasNodes });
        const seen = new Map<number, { docId: ItemId; content: string; path: string }>();
        for (const line of [...lines, "look"]) {
          if (line.startsWith("look")) lookAt(tree, seen, hasNodes);
          else tree.run(line);
        }
      }),
      { numRuns: 1000 },
    );
  });
}

type Seen = Map<number, { readonly docId: ItemId; readonly content: string; readonly path: string }>;

function lookAt(tree: ModelTree, seen: Seen, hasNodes: boolean): void {
  const contents = [...tree.files.values()].map(({ content }) => content);
  const remembered = [...tree.manifest.values()];
  const putBack = new Set([...tree.files.values()].filter((file) => file.putBack).map(({ self }) => self));
  const isUnique = (content: string, docId: ItemId): boolean =>
    contents.filter((each) => each === content).length === 1 &&
    remembered.every((entry) => entry.contentHash !== content || entry.docId === docId);
  tree.look();
  const docs = [...tree.files.keys()].map((path) => tree.docAt(path));
  assert.ok(!docs.includes(undefined), "every file has a document");
  assert.equal(new Set(docs).size, docs.length, "no two files share one");
  assert.equal(tree.present().length, docs.length, "no document without a file is active");
  for (const [path, { self, content }] of tree.files) {
    const before = seen.get(self);
    const docId = tree.docAt(path) as ItemId;
    const wasAbsent = remembered.some((entry) => entry.docId === before?.docId && entry.status !== "active");
    const isContinuous = wasAbsent || !putBack.has(self) || !hasNodes;
    if (before && before.content === content && isContinuous && isUnique(content, before.docId)) {
      assert.equal(docId, before.docId, `${before.path} is at ${path} with its content`);
    }
    const isNews = remembered.every((entry) => entry.contentHash !== content);
    if (before?.path === path && hasNodes && !putBack.has(self) && !wasAbsent && isNews) {
      assert.equal(docId, before.docId, `${path} was edited in place`);
    }
    seen.set(self, { docId, content, path });
  }
}
