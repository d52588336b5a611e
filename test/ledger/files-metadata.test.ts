// files_metadata.json is written and read back without loss, also when killed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import { filesMetadataSuite } from "../contracts/files-metadata-suite.ts";
import { observeSqlite, scansInSqlite } from "./observed-statements.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";

const statements = observeSqlite();

let storage: string;
let ledgers: Ledgers;
before(async () => {
  storage = await mkdtemp(join(tmpdir(), "lockstep-metadata-"));
  ledgers = openTestLedgers(join(storage, "crawler"));
});
after(async () => {
  await ledgers.close();
  await rm(storage, { recursive: true, force: true });
});

filesMetadataSuite("SQLite", () => ({
  storage,
  ledgers,
  async lose(domainId) {
    await ledgers.release(domainId);
    rmSync(join(storage, "crawler", domainId), { recursive: true });
  },
}));

test("none of its statements reads a whole table of entries", () => {
  assert.ok(statements.size > 10, "the statements were not observed");
  assert.deepEqual(scansInSqlite(statements), []);
});

for (const moment of ["before", "after"]) {
  test(`killed ${moment} the file takes its place, nothing is lost, and what somebody writes next counts`, async () => {
    const domainId = `KILLED_${moment}`;
    const path = join(storage, "domains", domainId, "files_metadata.json");
    const entries = async (): Promise<Record<string, unknown>[]> => JSON.parse(await readFile(path, "utf8"));
    await mkdir(join(path, ".."), { recursive: true });
    assert.equal(await embed(domainId, "file-1"), 0);
    await writeFile(path, JSON.stringify((await entries()).map((entry) => ({ ...entry, topic: "kept" }))));
    assert.equal(await embed(domainId, "file-2", moment), "SIGKILL");
    assert.equal((await entries()).length, moment === "after" ? 2 : 1);
    await writeFile(path, JSON.stringify((await entries()).map((entry) => ({ ...entry, reviewer: "Ann" }))));
    assert.equal(await embed(domainId, "file-3"), 0);
    const told = (await entries()).map(({ openai_file_id, topic, reviewer }) => [openai_file_id, topic, reviewer]);
    const [first, second, third] = told;
    assert.deepEqual(first, ["file-1", "kept", "Ann"]);
    assert.deepEqual(second?.slice(0, 2), ["file-2", "kept"]);
    assert.deepEqual(third, ["file-3", "kept", second?.[2]]);
  });
}

test("what somebody saves in the moment after the file took its place counts", async () => {
  const domainId = "SAVED_AT_ONCE";
  const path = join(storage, "domains", domainId, "files_metadata.json");
  await mkdir(join(path, ".."), { recursive: true });
  assert.equal(await embed(domainId, "file-1", "saved"), 0);
  assert.equal(await embed(domainId, "file-2"), 0);
  const entries = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>[];
  assert.deepEqual(
    entries.map(({ openai_file_id, reviewer }) => [openai_file_id, reviewer]),
    [
      ["file-1", "Ann"],
      ["file-2", "Ann"],
    ],
  );
});

test("whoever lost the lease while writing leaves the file to the one who has it", async () => {
  const domainId = "LATE";
  const path = join(storage, "domains", domainId, "files_metadata.json");
  await mkdir(join(path, ".."), { recursive: true });
  assert.equal(await embed(domainId, "file-1"), 0);
  const text = await readFile(path, "utf8");
  assert.equal(await embed(domainId, "file-2", "late"), 0);
  assert.equal(await readFile(path, "utf8"), text);
});

test("killed while it takes over the file of an earlier release, it takes over nothing twice", async () => {
  const domainId = "KILLED_EARLY";
  const path = join(storage, "domains", domainId, "files_metadata.json");
  await mkdir(join(path, ".."), { recursive: true });
  const place = { source_id: "s", source_type: "file_sources", file_relative_path: "EARLIER\\01_files\\s\\x.txt" };
  await writeFile(path, JSON.stringify([{ no: "id" }, { openai_file_id: "file-1", ...place }, "a note"]));
  assert.equal(await embed(domainId, "file-2", "before"), "SIGKILL");
  assert.equal(await embed(domainId, "file-2"), 0);
  const [nameless, first, note, second, ...rest] = JSON.parse(await readFile(path, "utf8"));
  assert.deepEqual([nameless, note, rest], [{ no: "id" }, "a note", []]);
  assert.deepEqual([first.openai_file_id, second.openai_file_id], ["file-1", "file-2"]);
  assert.equal(first.file_relative_path, `${domainId}\\01_files\\s\\x.txt`);
});

test("three processes at once: each finds its entry, and those of the others", async () => {
  const domainId = "SIDE_BY_SIDE";
  const path = join(storage, "domains", domainId, "files_metadata.json");
  await mkdir(join(path, ".."), { recursive: true });
  const fileIds = ["file-1", "file-2", "file-3"];
  assert.deepEqual(await Promise.all(fileIds.map((fileId) => embed(domainId, fileId))), [0, 0, 0]);
  const entries = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>[];
  assert.deepEqual(entries.map(({ openai_file_id }) => openai_file_id).sort(), fileIds);
});

/** In a process of its own; returns its code, or the signal that ended it. */
async function embed(domainId: string, fileId: string, moment = ""): Promise<unknown> {
  const task = [join(import.meta.dirname, "metadata-child.ts"), storage, domainId, fileId, moment];
  const [code, signal] = await once(spawn(process.execPath, task, { stdio: "inherit" }), "exit");
  return code ?? signal;
}
