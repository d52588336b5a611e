// Users see what was recorded: every history is replayed and compared.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { observeSqlite, scansInSqlite } from "../ledger/observed-statements.ts";
import { HISTORIES } from "./all-histories.ts";
import { differences } from "./differences.ts";
import { play, RECORDINGS } from "./play.ts";

const statements = observeSqlite();

test("every recording has its history", async () => {
  assert.deepEqual((await readdir(RECORDINGS)).sort(), HISTORIES.map(({ name }) => name).sort());
});

for (const history of HISTORIES) {
  test(`${history.name}: users see what was recorded`, async () => {
    const seen = await play(history);
    const recorded = new Map<string, string>();
    for (const file of await readdir(join(RECORDINGS, history.name))) {
      recorded.set(file, await readFile(join(RECORDINGS, history.name, file), "utf8"));
    }
    const found = differences(recorded, seen);
    const advice = `A defect, or a line in CHANGELOG.md: then npm run record -- ${history.name} "what users see now, and why"`;
    assert.ok(found.length === 0, `test/recorded/recordings/${history.name}:\n${found.join("\n")}\n\n${advice}`);
  });
}

test("none of these histories read a whole table of items in the ledger", () => {
  assert.ok(statements.size > 20, "the statements were not observed");
  assert.deepEqual(scansInSqlite(statements), []);
});
