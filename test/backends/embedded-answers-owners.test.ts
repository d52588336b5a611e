// Answers stored before owners were recorded belong to the administrators.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { EmbeddedBackend } from "../../src/backends/embedded/embedded-backend.ts";
import { person, quotaSuite, tell } from "./embedded-answers-owners-suite.ts";
import { openBackend, sqliteHouse } from "./embedded-fixture.ts";

quotaSuite("SQLite", sqliteHouse);

test("answers that were kept before anybody wrote down whose they are open, and are the administrators'", async () => {
  const folder = await mkdtemp(join(tmpdir(), "answers-"));
  const open = async (): Promise<EmbeddedBackend> =>
    openBackend(await sqliteHouse(join(folder, "index")), join(folder, "files"));
  const [ann, ada] = [person("ann"), person("ada", "admin")];
  const first = await open();
  const response = (await tell(first, ann, "POST /responses", { input: "Hello" })).json.id;
  const conversation = (await tell(first, ann, "POST /conversations", {})).json.id;
  await first.close();
  const file = new DatabaseSync(join(folder, "index", "answers.sqlite"));
  file.exec("DROP INDEX responses_owner; DROP INDEX conversations_owner; PRAGMA user_version = 1");
  for (const table of ["responses", "conversations"]) {
    file.exec(`ALTER TABLE ${table} DROP COLUMN owner; ALTER TABLE ${table} DROP COLUMN bytes`);
  }
  file.close();
  const second = await open();
  try {
    for (const path of [`/responses/${response}`, `/conversations/${conversation}`]) {
      assert.equal((await tell(second, ann, `GET ${path}`)).status, 404, path);
      assert.equal((await tell(second, ada, `GET ${path}`)).status, 200, path);
    }
  } finally {
    await second.close();
    await rm(folder, { recursive: true, force: true });
  }
});
