import { createReadStream } from "node:fs";
import { join } from "node:path";
import { DamagedError } from "../../contracts/errors.ts";
import { isDocumentId } from "../../contracts/ids.ts";
import { MANIFEST_FILE, type ScanRecord } from "../../contracts/manifest.ts";
import { pathExists } from "../../lib/file-system.ts";
import { isJsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { copyAside } from "../../lib/put-aside.ts";
import { decodeEntry, linesOf, readManifest } from "../exports/manifest-codec.ts";
import type { SqlLedger } from "../sql-ledger.ts";

const ENTRIES_PER_FLUSH = 5000;

/**
 * Takes over the manifest of an earlier release, with the journal of what changed since; or `manifest.json`, when the database was lost.
 * Puts everything into a ledger that has nothing of the tree yet; repeated after a kill, it puts the same.
 */
export async function migrateManifest(ledger: SqlLedger, folder: string): Promise<void> {
  const path = join(folder, MANIFEST_FILE);
  const { manifest } = ledger;
  let put = 0;
  const flushNowAndThen = async (): Promise<void> => {
    if (++put % ENTRIES_PER_FLUSH === 0) await ledger.flush();
  };
  try {
    for await (const page of (await pathExists(path)) ? readManifest(path) : []) {
      for (const entry of page) {
        manifest.overlay(entry.docId, entry);
        await flushNowAndThen();
      }
    }
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    ledger.problems.push(`${error.problem} What can be read of it counts, and the mirror tells the rest`);
  }
  const head = (await pathExists(path)) ? await firstLine(path) : "";
  const told = parseJsonObject(`${head}}}`);
  const look = lookIn(told?.["look"]);
  if (look) manifest.overlayScan(look);
  const journal = join(folder, ".lockstep", "manifest.journal");
  if (!(await pathExists(journal))) return await ledger.flush();
  let isOfSnapshot = false;
  for await (const lines of linesOf(journal)) {
    for (const line of lines) {
      // What is cut at the end was never acknowledged.
      const change = parseJsonObject(line);
      if (!change) continue;
      // Left behind by a crash after the snapshot that has all of it.
      if ("journal_of" in change) isOfSnapshot = change["journal_of"] === (told?.["snapshot"] ?? "");
      if (!isOfSnapshot) continue;
      const { put: entries, drop, look: looked } = change;
      for (const [key, value] of isJsonObject(entries) ? Object.entries(entries) : []) {
        const entry = decodeEntry(key, value);
        manifest.overlay(entry.docId, entry);
      }
      if (isDocumentId(drop)) manifest.overlay(drop, null);
      const look = lookIn(looked);
      if (look) manifest.overlayScan(look);
      await flushNowAndThen();
    }
  }
  await ledger.flush();
}

/** It stays, and is then written anew. */
export async function copyManifestAside(folder: string): Promise<void> {
  const path = join(folder, MANIFEST_FILE);
  await copyAside((await pathExists(path)) ? [path] : [], join(folder, ".lockstep"));
}

async function firstLine(path: string): Promise<string> {
  for await (const chunk of createReadStream(path, { encoding: "utf8", end: 65_535 }) as AsyncIterable<string>) {
    return chunk.split("\n", 1)[0] ?? "";
  }
  return "";
}

function lookIn(value: unknown): ScanRecord | undefined {
  if (!isJsonObject(value)) return undefined;
  const { root, at } = value;
  // What was seen is to be told as a whole once: the rest of the ledger may know less.
  return typeof root === "string" && typeof at === "string" ? { root, at, id: "", turn: 0 } : undefined;
}
