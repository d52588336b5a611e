import { lstatSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { copyFile, mkdir, opendir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ExtractedDocument } from "../contracts/document.ts";
import { BadInputError } from "../contracts/errors.ts";
import { type ItemId, isDocumentId } from "../contracts/ids.ts";
import type { FileVersion } from "../contracts/manifest.ts";
import { ifMissing, readFileIfExists, readSmallFile, SMALL_BYTES, writeFileAtomic } from "../lib/atomic-file.ts";
import { below, namesIn } from "../lib/file-system.ts";
import { hashFile, sha256Of } from "../lib/hash.ts";
import { yieldIfDue } from "../lib/time-slice.ts";
import { bytesBelow } from "./bytes-below.ts";
import {
  byAge,
  decodeMetadata,
  type ExtractedText,
  encodeMetadata,
  isVersionId,
  type StoredVersion,
  type VersionContent,
  type VersionRules,
  versionAfter,
} from "./stored-version.ts";
import { inFolder } from "./write-body.ts";

/** An exchange takes three renames: a reader that finds the document in none of its paths tries again. */
const READ_ATTEMPTS = 3;

/**
 * The texts of one source's documents, with their earlier versions: `knowledge_base/documents/{doc_id}/content.md`. A new version is made in
 * `.staging/{doc_id}` and takes its place by rename; killed anywhere, `recover` leaves the old version or the new one, whole.
 * Readable at any time; writers hold the lease of the source's download step, and write one document one at a time.
 */
export class KnowledgeBase {
  readonly #documents: string;
  readonly #staging: string;
  #recovered: Promise<void> | undefined;

  /** In a dry run nothing is changed; what is removed or pruned is still there, and is counted. */
  readonly #isDry: boolean;

  /** `folder`: the source's folder, absolute. */
  constructor(folder: string, { dryRun = false } = {}) {
    this.#isDry = dryRun;
    this.#documents = join(folder, "knowledge_base", "documents");
    this.#staging = join(folder, ".staging");
  }

  /** After a crash: completes exchanges that began, drops the rest. Every write calls it first. */
  recover(): Promise<void> {
    this.#recovered ??= this.#isDry ? Promise.resolve() : this.#recover();
    return this.#recovered;
  }

  /**
   * Stores a new current version. The previous one becomes an earlier version, or is replaced if it is of the same
   * bytes. For an unreadable file, the metadata has the error and there is no text: an outdated text is never current.
   */
  async keep(docId: ItemId, content: VersionContent, text: ExtractedText): Promise<StoredVersion> {
    if (this.#isDry) throw new Error(`keep the text of ${docId}: a dry run changes nothing`);
    await this.recover();
    const paths = this.#paths(docId);
    const { current, incoming } = paths;
    const isFirst = !isThere(current);
    const before = isFirst ? undefined : readMetadata(current);
    const latest = before?.versionId ?? (isFirst ? undefined : (await earlierIn(current)).at(-1));
    const stored = describeText({ docId, before, latest }, content, text);
    try {
      mkdirSync(incoming, { recursive: true });
      // No fsync: a text damaged by a power failure fails its hash check, and is made again from the file.
      if ("markdown" in text) await writeText(below(incoming, CONTENT_FILE), text.markdown);
      writeFileSync(below(incoming, METADATA_FILE), encodeMetadata(stored));
      if (isFirst) takePlace(paths);
      else await exchange(paths);
    } catch (error) {
      await recoverExchange(paths).catch(() => undefined);
      throw error;
    }
    return stored;
  }

  /**
   * Copies a document of another store with its earlier versions, oldest first. For a knowledge base that is not in use
   * yet.
   */
  async adopt(docId: ItemId, versions: readonly AdoptedVersion[]): Promise<void> {
    const { current } = this.#paths(docId);
    for (const version of versions) {
      const isCurrent = version === versions.at(-1);
      await adoptVersion(isCurrent ? current : join(current, VERSIONS_FOLDER, version.versionId), docId, version);
    }
  }

  /** Records that the file moved, with the same bytes. */
  async relocate(docId: ItemId, path: string): Promise<void> {
    await this.recover();
    const { current, incoming } = this.#paths(docId);
    const stored = readMetadata(current);
    if (!stored || stored.path === path || this.#isDry) return;
    const written = `${incoming}.${METADATA_FILE}`;
    await writeFileAtomic(written, encodeMetadata({ ...stored, path }));
    await rename(written, below(current, METADATA_FILE));
  }

  /** Returns the current version's metadata; undefined: nothing is stored. */
  current(docId: ItemId): Promise<StoredVersion | undefined> {
    return this.#find(docId, async (_folder, stored) => stored);
  }

  /** Returns the current text; undefined if there is none, or its hash is wrong. */
  async readText(docId: ItemId): Promise<string | undefined> {
    return (await this.read(docId))?.markdown;
  }

  /**
   * Returns one version with its text, by default the current one; undefined if it is not stored, or its hash is wrong.
   */
  read(docId: ItemId, versionId?: string): Promise<(StoredVersion & ExtractedDocument) | undefined> {
    if (versionId !== undefined && !isVersionId(versionId)) return Promise.resolve(undefined);
    return this.#find(docId, (folder, stored) => {
      const isCurrent = versionId === undefined || stored.versionId === versionId;
      return isCurrent ? readWhole(folder, stored) : readWhole(join(folder, VERSIONS_FOLDER, versionId));
    });
  }

  /** Returns all versions, oldest first, the current one last. Versions in `known` are not read. */
  async history(docId: ItemId, known: readonly FileVersion[] = []): Promise<readonly FileVersion[]> {
    const byId = new Map(known.map((version) => [version.versionId, version]));
    const versions = await this.#find(docId, async (folder, current) => {
      const earlier = (await earlierIn(folder)).map(
        (id) => byId.get(id) ?? readMetadata(join(folder, VERSIONS_FOLDER, id)),
      );
      return [...earlier, current];
    });
    return (versions ?? []).flatMap((stored) =>
      stored ? [{ versionId: stored.versionId, at: stored.at, hash: stored.hash }] : [],
    );
  }

  /** Returns earlier versions beyond the rules, and their size in bytes. */
  async outdated(
    docId: ItemId,
    rules: VersionRules,
    now: Date,
  ): Promise<{ readonly versions: readonly string[]; readonly bytes: number }> {
    const { current } = this.#paths(docId);
    const versions = await outdatedIn(current, rules, now);
    const sizes = await Promise.all(versions.map((id) => bytesBelow(join(current, VERSIONS_FOLDER, id))));
    return { versions, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
  }

  /** Deletes earlier versions beyond the rules; returns which. */
  async prune(docId: ItemId, rules: VersionRules, now: Date): Promise<readonly string[]> {
    await this.recover();
    const { current, incoming } = this.#paths(docId);
    const versions = await outdatedIn(current, rules, now);
    for (const versionId of versions) {
      const folder = join(current, VERSIONS_FOLDER, versionId);
      if (!this.#isDry) await removeWhole(folder, `${incoming}.${versionId}.gone`);
    }
    return versions;
  }

  /** Deletes a document with all versions, atomically; returns the freed bytes. */
  async remove(docId: ItemId): Promise<number> {
    await this.recover();
    const { current, incoming } = this.#paths(docId);
    const bytes = await bytesBelow(current);
    if (!this.#isDry) await removeWhole(current, `${incoming}.gone`);
    return bytes;
  }

  /** Lists all documents, in no particular order. */
  async *list(): AsyncGenerator<ItemId> {
    for await (const entry of await opendir(this.#documents).catch(ifMissing([]))) {
      if (entry.isDirectory() && isDocumentId(entry.name)) yield entry.name;
    }
  }

  async #recover(): Promise<void> {
    for (const name of await namesIn(this.#staging)) {
      const docId = name.replace(/\.old$/, "");
      if (isDocumentId(docId)) await recoverExchange(this.#paths(docId));
      else await discard(join(this.#staging, name));
    }
  }

  /** Calls `read` with the document's folder. If it finds nothing, the document may just be exchanged: tries again. */
  async #find<T>(
    docId: ItemId,
    read: (folder: string, stored: StoredVersion) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const { current, outgoing, incoming } = this.#paths(docId);
    // A writer is alone, so there is only one path to read.
    const [attempts, folders] = this.#recovered ? [1, [current]] : [READ_ATTEMPTS, [current, outgoing, incoming]];
    await yieldIfDue();
    for (let i = 0; i < attempts; i++) {
      for (const folder of folders) {
        const stored = readMetadata(folder);
        const found = stored && (await read(folder, stored));
        if (found !== undefined) return found;
        if (stored && folder === current) break;
      }
    }
    return undefined;
  }

  #paths(docId: ItemId): VersionPaths {
    if (!isDocumentId(docId)) {
      throw new BadInputError("A document id is 1 to 128 letters, digits, underscores or hyphens.");
    }
    const incoming = below(this.#staging, docId);
    return { current: below(this.#documents, docId), incoming, outgoing: `${incoming}.old` };
  }
}

async function writeText(path: string, text: string): Promise<void> {
  if (text.length <= SMALL_BYTES) writeFileSync(path, text);
  else await writeFile(path, text);
}

/** A version whose text was made by another program. */
interface AdoptedVersion
  extends Omit<VersionContent, "extractor">,
    Pick<StoredVersion, "versionId" | "createdAt" | "title"> {
  /** The file with its text, absolute. */
  readonly textFile: string;
}

/** Copies a version. It has no extractor revision, so the next crawl makes the current text again. */
async function adoptVersion(folder: string, docId: ItemId, version: AdoptedVersion): Promise<void> {
  const { textFile, ...metadata } = version;
  const content = below(folder, CONTENT_FILE);
  await mkdir(folder, { recursive: true });
  await copyFile(textFile, content);
  const made = { extractor: "", language: "", wordCount: 0, textHash: await hashFile(content), error: "" };
  await writeFileAtomic(below(folder, METADATA_FILE), encodeMetadata({ ...metadata, ...made, docId }), {
    flush: "later",
  });
}

/** The state before a new text. */
interface Predecessor {
  readonly docId: ItemId;
  /** The current version, if its metadata can be read. */
  readonly before: StoredVersion | undefined;
  /** The highest version id. */
  readonly latest: string | undefined;
}

/** Returns the metadata of a text. The same bytes keep their version id, however often the text is made. */
function describeText(
  { docId, before, latest }: Predecessor,
  content: VersionContent,
  text: ExtractedText,
): StoredVersion {
  const versionId = before?.hash === content.hash ? before.versionId : versionAfter(latest);
  const createdAt = before?.createdAt || content.at;
  const named = { ...content, docId, versionId, createdAt };
  if (!("markdown" in text))
    return { ...named, title: "", language: "", wordCount: 0, textHash: "", error: text.error };
  const { title, language, markdown } = text;
  return { ...named, title, language, wordCount: countWords(markdown), textHash: sha256Of(markdown), error: "" };
}

/** Reads metadata and text; during an exchange they may be of two versions, which the hash reveals. */
async function readWhole(
  folder: string,
  stored = readMetadata(folder),
): Promise<(StoredVersion & ExtractedDocument) | undefined> {
  if (stored?.error !== "") return undefined;
  const path = below(folder, CONTENT_FILE);
  const bytes = readSmallFile(path) ?? (await readFileIfExists(path));
  if (!bytes || sha256Of(bytes) !== stored.textHash) return undefined;
  return { ...stored, markdown: bytes.toString("utf8") };
}

/** Returns the ids of a document's earlier versions, oldest first. */
async function earlierIn(folder: string): Promise<string[]> {
  return (await namesIn(below(folder, VERSIONS_FOLDER))).filter(isVersionId).sort(byAge);
}

/** Never deleted by age: a clock that was wrong for one run would delete all. */
const ALWAYS_KEPT = 2;

/** Returns the earlier versions that the rules drop. Reads from the oldest until one may stay, so few are read. */
async function outdatedIn(folder: string, rules: VersionRules, now: Date): Promise<readonly string[]> {
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

const CONTENT_FILE = "content.md";
const METADATA_FILE = "metadata.json";
const VERSIONS_FOLDER = "versions";

/** The paths of a document. Usually only `current` exists; during an exchange also the others. */
interface VersionPaths {
  /** `knowledge_base/documents/{doc_id}` */
  readonly current: string;
  /** `.staging/{doc_id}`: the next version. Complete when it has its metadata, which is written last. */
  readonly incoming: string;
  /** `.staging/{doc_id}.old`: the previous version. Exists only while `incoming` is complete. */
  readonly outgoing: string;
}

/** Throws if the disk cannot be read. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function readMetadata(folder: string): StoredVersion | undefined {
  const bytes = readSmallFile(below(folder, METADATA_FILE));
  return bytes && decodeMetadata(bytes.toString("utf8"));
}

/**
 * Makes `incoming` current; the previous version becomes the latest earlier one. A folder cannot be renamed over
 * another, so for a moment the document is not in its path: readers of other processes try the other paths, too.
 */
export async function exchange(paths: VersionPaths): Promise<void> {
  moveIfThere(paths.current, paths.outgoing);
  finishExchange(paths);
  await discard(paths.outgoing);
}

/** After a crash: finishes an exchange that began, and drops one that did not. */
async function recoverExchange(paths: VersionPaths): Promise<void> {
  const { current, incoming, outgoing } = paths;
  if (!isThere(current)) {
    if (readMetadata(incoming)) {
      finishExchange(paths);
    } else {
      // Only a damaged disk leads here with something outgoing.
      moveIfThere(below(incoming, VERSIONS_FOLDER), below(outgoing, VERSIONS_FOLDER));
      moveIfThere(outgoing, current);
    }
  }
  await discard(incoming);
  await discard(outgoing);
}

/** Repeatable: each move may have been made before. */
function finishExchange(paths: VersionPaths): void {
  const { incoming, outgoing } = paths;
  const versions = below(incoming, VERSIONS_FOLDER);
  moveIfThere(below(outgoing, VERSIONS_FOLDER), versions);
  const before = isThere(outgoing) ? readMetadata(outgoing) : undefined;
  // A version made again replaces itself; one without text is not kept.
  if (before && before.error === "" && before.versionId !== readMetadata(incoming)?.versionId) {
    mkdirSync(versions, { recursive: true });
    renameSync(outgoing, join(versions, before.versionId));
  }
  takePlace(paths);
}

/** The whole exchange if nothing was current. */
function takePlace({ current, incoming }: Pick<VersionPaths, "current" | "incoming">): void {
  inFolder(dirname(current), () => renameSync(incoming, current));
}

function moveIfThere(from: string, to: string): void {
  if (isThere(from)) renameSync(from, to);
}

/** Moves the folder to `waiting`, a name in `.staging`, before deleting it: a half-deleted folder is never read. */
async function removeWhole(folder: string, waiting: string): Promise<void> {
  mkdirSync(dirname(waiting), { recursive: true });
  moveIfThere(folder, waiting);
  await discard(waiting);
}

async function discard(folder: string): Promise<void> {
  if (isThere(folder)) await rm(folder, { recursive: true, force: true });
}

/** Does not split the text, which may have tens of megabytes. */
function countWords(text: string): number {
  let count = 0;
  let inWord = false;
  for (let i = 0; i < text.length; i++) {
    const isSpace = SPACES.has(text.charCodeAt(i));
    if (!isSpace && !inWord) count += 1;
    inWord = !isSpace;
  }
  return count;
}

const SPACES: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0xa0, 0x2028, 0x2029, 0x3000]);
