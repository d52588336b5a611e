import { join } from "node:path";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { parseJsonObject } from "../lib/json-object.ts";
import type { Mirror } from "../mirror/mirror.ts";

/**
 * `knowledge_base/kept.json`: every file that the map files then had has its text, made by this revision of the extractor. It only ever
 * saves work, and goes when the folder goes.
 */
export interface KeptMark {
  readonly extractor: string;
  /** As `Ledger.version()` has it. */
  readonly maps: string;
}

export async function readKeptMark(
  mirror: Mirror,
  maps: string,
): Promise<{ readonly extractor: string; readonly isSettled: boolean }> {
  const bytes = await readFileIfExists(pathOf(mirror));
  const { extractor, files } = parseJsonObject(bytes?.toString("utf8") ?? "") ?? {};
  if (typeof extractor !== "string") return { extractor: "", isSettled: false };
  return { extractor, isSettled: maps !== "" && files === filesWord(maps) };
}

export async function writeKeptMark(mirror: Mirror, { extractor, maps }: KeptMark): Promise<void> {
  await writeFileAtomic(pathOf(mirror), JSON.stringify({ extractor, files: filesWord(maps) }));
}

/** Every download changes what the map files say of the mirror; what they say of source and index does not matter here. */
function filesWord(maps: string): string {
  const [, mirrored = ""] = maps.split(" ");
  return mirrored;
}

function pathOf(mirror: Mirror): string {
  return join(mirror.folder, "knowledge_base", "kept.json");
}
