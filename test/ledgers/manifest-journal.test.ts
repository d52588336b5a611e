import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, truncateSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { Manifest } from "../../src/contracts/manifest.ts";
import { openManifest } from "../../src/ledgers/manifest/open-manifest.ts";
import { entryOf } from "./manifest-fixture.ts";
import { assertSame, DOCS, followedBy, lookAfter, type Model, type Operation } from "./manifest-model.ts";

const folders: string[] = [];
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-manifest-"));
  folders.push(folder);
  return folder;
}

test("a journal that is cut anywhere gives the lines that are whole, and goes on from there", async () => {
  const folder = await newFolder();
  const manifest = await openManifest(folder, { readOnly: false });
  for (const doc of DOCS) manifest.put(entryOf(doc, `x/${doc}`));
  await manifest.snapshot();
  const operations: readonly Operation[] = [
    { do: "put", entry: entryOf("doc_a", "moved", { versions: [] }) },
    { do: "drop", doc: "doc_b" },
    { do: "look" },
    { do: "put", entry: entryOf("doc_e", 'n"\n€w', { versions: [], lineage: [] }) },
  ];
  let model: Model = { entries: DOCS.map((doc) => entryOf(doc, `x/${doc}`)), lookedAt: "" };
  const states = [model];
  for (const op of operations) {
    if (op.do === "put") manifest.put(op.entry);
    if (op.do === "drop") manifest.drop(op.doc as ItemId);
    if (op.do === "look") manifest.noteLook({ root: "1:1", at: lookAfter(""), id: "look" });
    model = followedBy(model, op);
    states.push(model);
  }
  await manifest.flush();
  const journal = join(folder, ".lockstep", "manifest.journal");
  const bytes = readFileSync(journal);
  const cut = await newFolder();
  mkdirSync(join(cut, ".lockstep"));
  const lastTwo = bytes.lastIndexOf("\n", bytes.lastIndexOf("\n", -2) - 1);
  for (let length = lastTwo; length <= bytes.length; length++) {
    copyFileSync(join(folder, "manifest.json"), join(cut, "manifest.json"));
    copyFileSync(journal, join(cut, ".lockstep", "manifest.journal"));
    truncateSync(join(cut, ".lockstep", "manifest.journal"), length);
    const lines = bytes.subarray(0, length).toString("latin1").split("\n").length - 1;
    const state = states[lines - 1] ?? assert.fail();
    await read(cut, (manifest) => assertSame(manifest, state));
    if (length % 16 !== 0) continue;
    const next = await openManifest(cut, { readOnly: false });
    const more: Operation = { do: "put", entry: entryOf("doc_d", "x/later") };
    next.put(more.entry);
    await next.flush();
    await read(cut, (manifest) => assertSame(manifest, followedBy(state, more)));
    await next.close();
  }
});

async function read(folder: string, look: (manifest: Manifest) => void): Promise<void> {
  const manifest = await openManifest(folder, { readOnly: true });
  look(manifest);
  await manifest.close();
}
