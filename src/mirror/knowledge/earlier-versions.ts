import { join } from "node:path";
import type { ExtractedDocument } from "../../contracts/document.ts";
import { readFileIfExists, readSmallFile } from "../../lib/atomic-file.ts";
import { namesIn } from "../../lib/names-in.ts";
import { CONTENT_FILE, readMetadata, VERSIONS_FOLDER } from "./document-folder.ts";
import type { KeptDocument, VersionRules } from "./kept-document.ts";
import { hashText } from "./text-facts.ts";
import { byAge, isVersionId } from "./version-id.ts";

/** Metadata and text may be of two versions when one is just taking the place of the other: the hash tells. */
export async function readWhole(
  folder: string,
  kept = readMetadata(folder),
): Promise<(KeptDocument & ExtractedDocument) | undefined> {
  if (kept?.error !== "") return undefined;
  const path = join(folder, CONTENT_FILE);
  const bytes = readSmallFile(path) ?? (await readFileIfExists(path));
  if (!bytes || hashText(bytes) !== kept.textHash) return undefined;
  return { ...kept, markdown: bytes.toString("utf8") };
}

/** The ids of the earlier versions in the folder of a document, oldest first. */
export async function earlierIn(folder: string): Promise<string[]> {
  return (await namesIn(join(folder, VERSIONS_FOLDER))).filter(isVersionId).sort(byAge);
}

/** Age alone never takes these: a clock that was wrong for one run would take all. */
const ALWAYS_KEPT = 2;

/** Those of them that the rules let go. The oldest ones are looked at until one may stay: however many there are, few are read. */
export async function outdatedIn(folder: string, rules: VersionRules, now: Date): Promise<readonly string[]> {
  const earlier = await earlierIn(folder);
  const surplus = Math.max(0, earlier.length - rules.versions);
  const outdated = earlier.slice(0, surplus);
  for (const [i, versionId] of earlier.slice(0, -ALWAYS_KEPT).entries()) {
    if (i < surplus) continue;
    const successor = earlier[i + 1];
    const replacing = readMetadata(successor ? join(folder, VERSIONS_FOLDER, successor) : folder);
    const replacedAtMs = Date.parse(replacing?.at ?? "");
    if (Number.isNaN(replacedAtMs) || now.getTime() - replacedAtMs <= rules.versionMs) break;
    outdated.push(versionId);
  }
  return outdated;
}
