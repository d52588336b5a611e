import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AnonymousCredential,
  BlobServiceClient,
  BlockBlobClient,
  type ContainerClient,
  ContainerSASPermissions,
} from "@azure/storage-blob";
import type { FileTree, TreeFile, TreePage } from "../../src/contracts/file-tree.ts";
import type { SourceId } from "../../src/contracts/ids.ts";
import type { BlobSourceConfig } from "../../src/sources/blob/blob-source-codec.ts";
import { objectUrl } from "../../src/sources/tree/create-object-tree.ts";
import { ofKind } from "../kinds.ts";

/** A container of an emulated account, and what a source says about it. */
export interface BlobWorld {
  readonly container: ContainerClient;
  readonly config: BlobSourceConfig;
  put(name: string, text: string, metadata?: Record<string, string>): Promise<void>;
  /** A signature that may read and list, until then. */
  sas(endsAt?: Date): Promise<string>;
}

const NEVER = new AbortController().signal;
const HOUR_MS = 3_600_000;

export async function openBlobWorld(connectionString: string, name: string): Promise<BlobWorld> {
  const container = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(name);
  await container.create();
  return {
    container,
    config: {
      ...ofKind("blob_sources"),
      sourceId: "box" as SourceId,
      containerUrl: container.url,
      prefix: "",
      credential: "BOX",
      include: [],
      exclude: [],
      hidden: false,
      maxFileBytes: 1024 * 1024,
      limits: { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false },
    },
    async put(blob, text, metadata) {
      const client = new BlockBlobClient(objectUrl(container.url, blob), container.credential as AnonymousCredential);
      await client.upload(text, Buffer.byteLength(text), metadata ? { metadata } : {});
    },
    async sas(endsAt = new Date(Date.now() + HOUR_MS)) {
      const permissions = ContainerSASPermissions.parse("rl");
      const url = await container.generateSasUrl({ permissions, startsOn: new Date(0), expiresOn: endsAt });
      return new URL(url).search;
    },
  };
}

export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "lockstep-blob-"));
}

/** Everything that a walk tells. */
export async function walk(tree: FileTree): Promise<Pick<TreePage, "files" | "unreadable" | "skipped">> {
  const pages: TreePage[] = [];
  const walking = tree.walk(NEVER);
  for (let step = await walking.next(); !step.done; step = await walking.next()) pages.push(step.value);
  return {
    files: pages.flatMap((page) => page.files),
    unreadable: pages.flatMap((page) => page.unreadable),
    skipped: pages.flatMap((page) => page.skipped),
  };
}

export function pathsOf(files: readonly TreeFile[]): readonly string[] {
  return files.map(({ path }) => path);
}

export async function textOf(tree: FileTree, path: string, stamp?: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of tree.read(path, NEVER, stamp)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
