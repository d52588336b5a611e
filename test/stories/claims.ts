import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DOMAIN } from "../engine/world.ts";
import type { Stage } from "./stage.ts";

/** A crawl, what it cost (bodies that came from the tenant, documents new in the store), and everything in step. */
export async function crawlCosting(stage: Stage, cost: { downloads: number; embedded: number }): Promise<void> {
  const before = new Set(Object.values(await stage.fileIds()));
  await stage.crawl();
  assert.equal(await stage.downloads(), cost.downloads, "downloads");
  const embedded = Object.values(await stage.fileIds()).filter((id) => !before.has(id));
  assert.equal(embedded.length, cost.embedded, "documents new in the store");
  await stage.inStep();
}

export async function assertGone(stage: Stage, word: string): Promise<void> {
  const texts = (await stage.world.search(word)).map(({ text }) => text).join("\n");
  assert.ok(!texts.includes(word), `'${word}' is still said by: ${texts}`);
}

/** What users do with `files_metadata.json`: fields of their own beside ours. */
export async function addProperties(stage: Stage, name: string, properties: object): Promise<void> {
  const path = join(stage.world.storage, "domains", DOMAIN, "files_metadata.json");
  const entries = JSON.parse(await readFile(path, "utf8")) as { filename: string }[];
  const own = entries.filter(({ filename }) => filename === name);
  assert.ok(own.length > 0, `${name} has an entry`);
  for (const entry of own) Object.assign(entry, properties);
  await writeFile(path, JSON.stringify(entries));
}
