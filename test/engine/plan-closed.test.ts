// The plan of a source is closed with it, or when its changes are recorded, not with the process.
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { parseSourceId } from "../../src/contracts/ids.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";

test("of many sources that become visible one by one, one plan is open at a time; all are closed at the end, also where they become visible together", async (t) => {
  const stage = await FolderStage.open();
  const open = new Set<unknown>();
  let most = 0;
  const { exec, close } = DatabaseSync.prototype;
  t.mock.method(DatabaseSync.prototype, "exec", function (this: DatabaseSync, sql: string) {
    if (sql.startsWith("PRAGMA journal_mode = MEMORY")) open.add(this);
    most = Math.max(most, open.size);
    exec.call(this, sql);
  });
  t.mock.method(DatabaseSync.prototype, "close", function (this: DatabaseSync) {
    open.delete(this);
    close.call(this);
  });
  try {
    const names = ["a", "b", "c"];
    const sources = names.map((name) => ({ ...stage.config, sourceId: parseSourceId(name), root: stage.at(name) }));
    const domain = await stage.app.domains.get(FOLDERS);
    await stage.app.domains.update({ ...domain, sources }, domain);
    for (const name of names) await stage.write(`${name}/one.md`, `# One\n\nThe ${name}word.`);
    for (const name of names) await stage.write(`${name}/two.md`, `# Two\n\nThe other ${name}word.`);
    await stage.crawl();
    assert.deepEqual([most, open.size], [1, 0]);
    for (const name of names) await stage.remove(`${name}/one.md`);
    await stage.crawl();
    assert.equal(open.size, 0);
    for (const name of names) assert.deepEqual(await stage.found(`${name}word`), ["two.md"]);
  } finally {
    await stage.close();
  }
});
