// Whatever deletes something is listed with the decision that allows it.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";

/**
 * Whatever deletes something of a source, and by which of the three decisions: an item `leaves` (the source says so, behind the guard of
 * plan/removals.ts), a document is `purged` (its grace is over and no kept generation shows it), a leftover is `garbage` (nothing refers to it).
 * `foreseen`: a dry run asks what would go, and nothing does. `erased`: a person has it removed from everywhere, for good. `replaced`: its successor is in place. `asked`: a person deletes a domain, an address or a store.
 */
const DELETIONS: Readonly<
  Record<string, "leaves" | "purged" | "garbage" | "foreseen" | "erased" | "replaced" | "asked">
> = {
  "engine/apply-plan.ts mirror.remove": "leaves",
  "engine/apply-plan.ts mirrored: null": "leaves",
  "engine/apply-plan.ts seen: null": "leaves",
  "engine/commit-plan.ts draft.remove": "leaves",
  "engine/commit-plan.ts indexed: null": "leaves",
  "engine/make-plan.ts seen: null": "leaves",
  "engine/retire-source.ts draft.remove": "leaves",
  "engine/retire-source.ts ledgers.dropStore": "leaves",
  "engine/crawl.ts ledgers.dropStore": "leaves",
  "engine/retire-source.ts forgetMembers": "leaves",
  "engine/retire-source.ts ledgers.forget": "leaves",
  "engine/retire-source.ts mirror.destroy": "leaves",
  "sources/web/site/site-crawl.ts members.remove": "leaves",
  "engine/retired-sources.ts retained.endGracePeriod": "purged",
  "engine/purge-missing.ts retained.purge": "purged",
  "engine/maintain/maintain.ts manifest.drop": "purged",
  "engine/maintain/maintain.ts metadata.remove": "purged",
  "engine/maintain/maintain.ts retained.collectGarbage": "purged",
  "engine/dry-run.ts retained.purge": "foreseen",
  "engine/dry-run.ts retained.erase": "foreseen",
  "engine/dry-run.ts retained.collectGarbage": "foreseen",
  "engine/erase/places.ts mirror.remove": "erased",
  "engine/erase/places.ts retained.erase": "erased",
  "engine/erase/places.ts knowledge.remove": "erased",
  "engine/erase/places.ts manifest.drop": "erased",
  "engine/erase/places.ts metadata.remove": "erased",
  "engine/erase/places.ts mirrored: null": "erased",
  "engine/erase/places.ts indexed: null": "erased",
  "engine/erase/places.ts seen: null": "erased",
  "engine/maintain/maintain.ts knowledge.remove": "garbage",
  "engine/maintain/maintain.ts retained.purge": "garbage",
  "engine/maintain/maintain.ts retained.endGracePeriod": "garbage",
  "engine/maintain/maintain.ts draft.remove": "garbage",
  "engine/maintain/maintain.ts indexed: null": "garbage",
  "engine/verify-mirror.ts mirror.remove": "garbage",
  "engine/cleanup-metadata.ts metadata.remove": "garbage",
  "engine/ingest/remove-items.ts registry.delete": "garbage",
  "engine/ingest/remove-items.ts members.forget": "asked",
  "engine/fetch-items.ts mirror.remove": "replaced",
  "engine/swap-store.ts backend.deleteVectorStore": "replaced",
  "engine/swap-store.ts ledgers.dropStore": "replaced",
  "engine/migrate/migrate-source.ts ledgers.forgetManifest": "asked",
  "engine/delete-domain.ts backend.deleteVectorStore": "asked",
  "engine/delete-domain.ts backend.forgetDomain": "asked",
  "engine/delete-domain.ts ledgers.forgetDomain": "asked",
  "engine/delete-domain.ts forgetMembers": "asked",
};

const CALLS =
  /\b(mirror|draft|index|retained|knowledge|base|manifest|ledgers|metadata|backend|registry|members)(?:\?)?\.(remove|destroy|endGracePeriod|purge|erase|collectGarbage|forget|drop|dropStore|forgetDomain|forgetManifest|deleteVectorStore|delete)(?:\?\.)?\(|\b(forgetMembers)\(|\b(mirrored|indexed|seen): null\b/g;
/** The three decisions, and who asks for each: plan/removals.ts makes them, and nothing else does. */
const DECISIONS: Readonly<Record<string, readonly string[]>> = {
  leave: ["engine/plan-index.ts", "plan/detect-changes.ts"],
  purge: ["engine/maintain/maintain.ts", "engine/purge-missing.ts"],
  garbage: [
    "engine/maintain/maintain.ts",
    "engine/plan-index.ts",
    "engine/retire-source.ts",
    "engine/swap-store.ts",
    "engine/verify-mirror.ts",
  ],
};

const SRC = resolve(import.meta.dirname, "../../src");

function filesWith(pattern: RegExp, find: (file: string, line: string) => readonly string[]): string[] {
  const found = new Set<string>();
  for (const file of globSync("{engine,app,sources,plan}/**/*.ts", { cwd: SRC }).map((path) =>
    path.replaceAll("\\", "/"),
  )) {
    for (const line of readFileSync(join(SRC, file), "utf8").split("\n")) {
      if (/^\s*(\*|\/\/|\/\*\*)|^import |^export (async )?function /.test(line) || !pattern.test(line)) continue;
      for (const one of find(file, line)) found.add(one);
    }
  }
  return [...found].sort();
}

test("what deletes is one of three decisions, what replaces, or what a person asked for", () => {
  const calls = filesWith(new RegExp(CALLS.source), (file, line) =>
    [...line.matchAll(CALLS)].map(([, object, verb, verbAlone, facet]) => {
      const call = facet ? `${facet}: null` : (verbAlone ?? `${object}.${verb}`);
      return `${file} ${call}`;
    }),
  );
  assert.deepEqual(calls, Object.keys(DELETIONS).sort());
});

test("whether something goes is one of three decisions, which one module makes", () => {
  const decided = readFileSync(join(SRC, "plan/removals.ts"), "utf8");
  const names = [...decided.matchAll(/^export function (\w+)/gm)].map(([, name = ""]) => name);
  assert.deepEqual(names, Object.keys(DECISIONS));
  const asked: Record<string, string[]> = { leave: [], purge: [], garbage: [] };
  for (const file of globSync("**/*.ts", { cwd: SRC })
    .map((path) => path.replaceAll("\\", "/"))
    .sort()) {
    const [, imported = ""] =
      /import \{([^}]*)\} from "[^"]*\/removals\.ts"/.exec(readFileSync(join(SRC, file), "utf8")) ?? [];
    for (const name of names) if (imported.split(/[\s,]+/).includes(name)) asked[name]?.push(file);
  }
  assert.deepEqual(asked, DECISIONS);
});
