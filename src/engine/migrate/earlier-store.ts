import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MANIFEST_FILE } from "../../contracts/manifest.ts";
import { namesIn } from "../../lib/names-in.ts";
import { pathExists } from "../../lib/path-exists.ts";
import { byAge, isVersionId } from "../../mirror/knowledge/version-id.ts";
import { type EarlierFile, type EarlierMetadata, readEarlierManifest, readEarlierMetadata } from "./earlier-codec.ts";

/** What a store of an earlier layout consists of, beside its manifest; `knowledge_base` may hold the other ones. */
export const STORE_FOLDERS = ["documents", "versions", "staging", "knowledge_base"] as const;

/** The text of a document and its earlier versions, wherever they lie. */
export interface EarlierDocument extends EarlierMetadata {
  /** Later than all of its earlier ones. */
  readonly version: number;
  /** The folder with `content.md`. */
  readonly folder: string;
  /** Folders of earlier versions by their id (`v1`), oldest first. */
  readonly versions: ReadonlyMap<string, string>;
}

export interface EarlierStore {
  readonly files: readonly EarlierFile[];
  readonly documents: ReadonlyMap<string, EarlierDocument>;
}

/** A manifest of an earlier layout, and what is kept beside it. BadInputError when it is none. */
export async function readEarlierStore(folder: string): Promise<EarlierStore> {
  const files = await readEarlierManifest(join(folder, MANIFEST_FILE));
  const documents = new Map<string, EarlierDocument>();
  for (const place of [folder, join(folder, "knowledge_base")]) {
    for (const { name } of await foldersIn(join(place, "documents"))) {
      const document = join(place, "documents", name);
      if (!(await pathExists(join(document, "content.md")))) continue;
      const metadata = await readEarlierMetadata(join(document, "metadata.json"));
      const versions = await versionsIn(join(place, "versions", name));
      const latest = Number([...versions.keys()].at(-1)?.slice(1) ?? 0);
      const version = Math.max(metadata.version, latest + 1);
      documents.set(name, { ...metadata, version, folder: document, versions });
    }
  }
  return { files, documents };
}

async function versionsIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await namesIn(folder)).filter(isVersionId).sort(byAge);
  const versions = new Map<string, string>();
  for (const name of names) {
    if (await pathExists(join(folder, name, "content.md"))) versions.set(name, join(folder, name));
  }
  return versions;
}

async function foldersIn(folder: string): Promise<readonly { readonly name: string }[]> {
  if (!(await pathExists(folder))) return [];
  return (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory());
}
