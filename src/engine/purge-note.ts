import { join } from "node:path";
import type { ManifestEntry } from "../contracts/manifest.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { isJsonObject } from "../lib/json-object.ts";
import { PRIVATE_FOLDER } from "../mirror/layout.ts";
import type { EngineParts } from "./engine-parts.ts";

type NoteParts = Pick<EngineParts, "manifestVersion" | "keeping" | "now">;

/**
 * Nothing can have expired, by what was noted when somebody last looked: then nobody opens the manifest, which may be large.
 * Losing the note costs that look.
 */
export async function nothingExpired(folder: string, parts: NoteParts): Promise<boolean> {
  const version = await parts.manifestVersion(folder);
  if (version === "") return true;
  const note = await readNote(pathOf(folder));
  if (note?.["manifest"] !== keyOf(version, parts)) return false;
  const due = note["due"];
  return due === "" || (typeof due === "string" && parts.now().toISOString() < due);
}

/** When the first of them expires, if nobody changes the manifest before: further looks do. */
export async function rememberExpiry(
  folder: string,
  { version, absent }: { readonly version: string; readonly absent: readonly ManifestEntry[] },
  parts: NoteParts,
): Promise<void> {
  const { graceRuns, graceMs } = parts.keeping;
  let due = "";
  for (const { status, missingRuns, missingSinceAt } of absent) {
    if (status !== "missing" || missingRuns < graceRuns) continue;
    const at = new Date(Date.parse(missingSinceAt) + graceMs || 0).toISOString();
    if (due === "" || at < due) due = at;
  }
  const note = JSON.stringify({ manifest: keyOf(version, parts), due });
  await writeFileAtomic(pathOf(folder), note, { flush: "later" });
}

function keyOf(version: string, { keeping }: NoteParts): string {
  return `${version} ${keeping.graceRuns} ${keeping.graceMs}`;
}

function pathOf(folder: string): string {
  return join(folder, PRIVATE_FOLDER, "purge.json");
}

async function readNote(path: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const note: unknown = JSON.parse((await readFileIfExists(path))?.toString("utf8") ?? "");
    return isJsonObject(note) ? note : undefined;
  } catch {
    return undefined;
  }
}
