// Whatever has an effect is replaced in a dry run, in one module; the verbs hardly ask.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";

const SRC = resolve(import.meta.dirname, "../../src");
const DRY = readFileSync(join(SRC, "engine/dry-run.ts"), "utf8");

/** What an engine may use, by the file that declares it; and of that, what only reads. A member that is not here is replaced in a dry run. */
const READS: Readonly<Record<string, readonly string[]>> = {
  "engine/engine-parts.ts EngineParts": [
    ...["acceptedTypes", "maxFileBytes", "crawlerFolder", "domainsFolder", "defaultVectorStoreId", "keepSupersededMs"],
    ...["extractor", "retention", "now", "costs"],
  ],
  "domains/domain-store.ts DomainStore": ["kinds", "list", "get"],
  // Closing is for the one who opened it.
  "contracts/backend.ts Backend": ["acceptedTypes", "commits", "close"],
  "contracts/ledger.ts Ledgers": [
    // Plans of dry runs are stored on request.
    ...["openPlan", "version", "freshness", "maps", "encodeManifest", "indexedStores", "traces", "withContent"],
    ...["isNameShared", "release", "close"],
    // Of its own: removed when the dry run ends.
    "writeScratchMaps",
    // The engine has the members from the repository of items; schedules and uploads are not the engine's, and sites' memories are told.
    ...["members", "schedules", "uploads", "openSiteMemory"],
  ],
  "contracts/ledger.ts Acknowledgements": ["of"],
  "contracts/files-metadata.ts FilesMetadata": ["find", "entries"],
  "contracts/domain-state.ts OtherStores": ["list"],
  "contracts/search-index.ts Index": [
    ...[
      "commits",
      "holdings",
      "sources",
      "openAudit",
      "shown",
      "count",
      "search",
      "titles",
      "documents",
      "probe",
      "countWords",
    ],
  ],
  "contracts/search-index.ts RetainedDocuments": ["listHidden", "describe", "texts", "mentioning", "withContent"],
  "contracts/search-index.ts Generations": ["state", "list", "difference", "versions"],
  "contracts/questions.ts QuestionStore": ["read", "runs"],
  "contracts/erasure.ts ErasureStore": ["read"],
  "contracts/members.ts Members": ["of", "ofMany", "in", "isWhole", "idsIn"],
};

function membersOf(file: string, name: string): readonly string[] {
  const text = readFileSync(join(SRC, file), "utf8");
  const [, body = ""] = new RegExp(`^export interface ${name} \\{\\n(.*?)^\\}`, "ms").exec(text) ?? [];
  const members = [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(<]/gm)].map(([, member = ""]) => member);
  assert.ok(members.length > 0, `${file} has no ${name}`);
  return members;
}

for (const [place, reads] of Object.entries(READS)) {
  const [file = "", name = ""] = place.split(" ");
  test(`a dry run has its own of everything that ${name} has, but for what only reads`, () => {
    const effects = membersOf(file, name).filter((member) => !reads.includes(member));
    const forgotten = effects.filter((member) => !new RegExp(`\\b${member}(:|\\(|,)`).test(DRY));
    assert.deepEqual(forgotten, [], "say in engine/dry-run.ts what it does in a dry run");
  });
}

/** How often files of the engine ask whether the run is dry. One that is not here need not. */
const DECISIONS: Readonly<Record<string, number>> = {
  // The parts, and what is logged.
  "dry-run.ts": 4,
  // One ledger for all steps, and map files until the end.
  "with-ledger.ts": 1,
  // What results tell of the plan, and what a plan is for.
  "approval.ts": 1,
  "planned-changes.ts": 1,
  "maintain/maintenance-result.ts": 1,
  "erase/erase.ts": 6,
  // What a dry run cannot know, or leaves out: texts of files that were not fetched, waiting removals, purges, a store to be swapped.
  "extract-texts.ts": 1,
  "scan-source.ts": 1,
  "crawl.ts": 1,
  "crawl-source.ts": 1,
  "swap-store.ts": 1,
  // Locks, and a dry run before the run.
  "read-domain.ts": 1,
  "apply-stored-plan.ts": 1,
  // Verbs that do one thing: a dry run ends before it.
  "generations.ts": 2,
  "rename-domain.ts": 1,
  "migrate/migrate.ts": 1,
  "migrate/migrate-source.ts": 4,
  "ingest/add-item.ts": 2,
  "ingest/create-ingest.ts": 2,
  "ingest/remove-items.ts": 1,
  "erase/blocked-items.ts": 1,
};

test("whether a run is dry is asked where the parts are chosen, and hardly anywhere else", () => {
  const asked: Record<string, number> = {};
  for (const path of globSync("engine/**/*.ts", { cwd: SRC })) {
    const text = readFileSync(join(SRC, path), "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
    const count = [...text.matchAll(/[!(&|?] ?!?(\w+\.)*dryRun\b(?! ?[:}])|\b(\w+\.)*dryRun \?|\bdryRun &&/g)].length;
    if (count > 0) asked[path.replaceAll("\\", "/").replace("engine/", "")] = count;
  }
  assert.deepEqual(asked, DECISIONS);
});
