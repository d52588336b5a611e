import { createHash } from "node:crypto";
import { NotFoundError } from "../../contracts/errors.ts";
import type { FileTree } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../contracts/manifest.ts";
import type { Fetched, Source } from "../../contracts/source.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { nameOf } from "../../lib/tree-path.ts";
import type { KeptBytes } from "./kept-bytes.ts";
import { TreeLooks } from "./tree-looks.ts";
import type { TreeSourceConfig } from "./tree-source-codec.ts";

/** What is known of a document without its manifest entry. */
export type MirroredFile = Pick<
  ManifestEntry,
  "docId" | "path" | "contentHash" | "size" | "modifiedAt" | "lastSeenAt"
> & { readonly versions: () => Promise<ManifestEntry["versions"]> };

export interface TreeTools {
  readonly tree: FileTree;
  /** Opened by whoever needs it first; what a dry run puts is written nowhere. */
  readonly manifest: () => Promise<Manifest>;
  /** The documents that mirror or knowledge base have and the manifest does not know, in pages. */
  readonly mirrored: () => AsyncIterable<readonly MirroredFile[]>;
  /** The text that is kept of a document, for comparing; undefined when there is none. */
  readonly keptText: (docId: ItemId) => Promise<string | undefined>;
  /** The text of a file that lies on this disk; undefined when it has none that can be read. */
  readonly textOf: (absolutePath: string, fileType: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Extensions without dot that become documents. Files of other types are never read (they may be huge) and have no manifest entry. */
  readonly acceptedTypes: ReadonlySet<string>;
  readonly log: (line: string) => void;
  readonly dryRun: boolean;
  /** Reads every file, whatever its stamp says. */
  readonly checksum: boolean;
  /** Hints of watch mode: only these folders can have changed since the last look. */
  readonly onlyFolders?: ReadonlySet<string>;
  readonly now: () => Date;
}

/** A tree of files as a source: what has no identity gets one from the manifest. */
export function openTreeSource(config: TreeSourceConfig, tools: TreeTools): Source {
  const looks = new TreeLooks(config, tools);
  return {
    id: config.sourceId,
    list: (signal) => looks.list(signal),
    feed: {
      mark: async () => looks.mark,
      since: (mark, _isKnown, signal) => looks.since(mark, signal),
    },
    async fetch(item, signal) {
      const known = await (await tools.manifest()).file(item.itemId);
      const { stamp = "", contentHash = item.fingerprint.contentVersion } = known ?? {};
      return await fetchFile(item.path, { stamp, contentHash }, { tree: tools.tree, kept: looks.kept }, signal);
    },
    conclude: (outcome) => looks.conclude(outcome),
    async close() {
      await tools.tree.close?.();
    },
    examine: (signal) => tools.tree.examine((path) => tools.acceptedTypes.has(fileTypeOf(nameOf(path))), signal),
  };
}

/** The bytes that were hashed. `stamp`: what the file had then, "" when nobody can tell. */
async function fetchFile(
  path: string,
  { stamp, contentHash }: { readonly stamp: string; readonly contentHash: string },
  { tree, kept }: { readonly tree: FileTree; readonly kept: KeptBytes },
  signal: AbortSignal,
): Promise<Fetched> {
  const bytes = kept.take(contentHash);
  if (bytes) return { status: "fetched", body: oneChunk(bytes) };
  const chunks = tree.read(path, signal, stamp)[Symbol.asyncIterator]();
  try {
    const first = await chunks.next();
    return { status: "fetched", body: verified(first, chunks, contentHash) };
  } catch (error) {
    if (error instanceof NotFoundError) return { status: "gone" };
    throw error;
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}

async function* verified(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
  contentHash: string,
): AsyncGenerator<Uint8Array, void> {
  const hash = createHash("sha256");
  try {
    for (let step = first; !step.done; step = await rest.next()) {
      hash.update(step.value);
      yield step.value;
    }
  } finally {
    await rest.return?.();
  }
  if (hash.digest("hex") !== contentHash) throw new Error("it changed since it was listed; the next run fetches it");
}
