// `lockstep watch` shows what changes live, and Ctrl+C ends it cleanly.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { startCommand } from "./run-command.ts";

test("watching is shown live, and Ctrl+C ends it cleanly", async () => {
  const stage = await FolderStage.open();
  try {
    await stage.write("plans/first.md", "The first word is aardvark.\n");
    const child = startCommand(stage.storage, ["watch", FOLDERS, "--source", "docs"], stage.settings);
    const [exited, complaint] = [once(child, "exit"), once(child.stderr, "data")];
    let seen = "";
    for await (const bytes of child.stdout) {
      const before = seen;
      seen += String(bytes);
      const isNew = (line: RegExp): boolean => !line.test(before) && line.test(seen);
      if (isNew(/^docs: 1 added/m)) await stage.rename("plans/first.md", "plans/renamed.md");
      if (isNew(/^docs: 1 moved \([\d.]+ s; something happened in 'plans'\)$/m)) child.kill("SIGINT");
    }
    assert.deepEqual(await exited, [130, null]);
    assert.match(seen, /^In all: 1 added, 1 moved\.\nJob (jb_\d+) cancelled\.\n$/m);
    assert.equal(String((await complaint)[0]), "lockstep: Stopped by a signal.\n");
    assert.deepEqual(await stage.found("aardvark"), ["plans/renamed.md"]);
    const [job] = await stage.app.jobs.list({ limit: 1 });
    assert.deepEqual([job?.action, job?.object, job?.state], ["watch", FOLDERS, "cancelled"]);
    assert.equal(job?.endpoint, "lockstep watch FOLDERS --source docs");
  } finally {
    await stage.close();
  }
});
