import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { BadInputError, ConflictError, NotFoundError } from "../contracts/errors.ts";
import { type DomainId, parseSourceId, type SourceId } from "../contracts/ids.ts";
import { parseSources } from "../domains/domain-codec.ts";
import { pathHash } from "../domains/erasure-store.ts";
import { crawlRequest } from "../engine/crawl-request.ts";
import type { EngineParts } from "../engine/engine-parts.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import { ifMissing, isErrno } from "../lib/atomic-file.ts";
import { removeEmptyFolders } from "../lib/file-system.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { sayBytes } from "../lib/text.ts";
import { PRIVATE_FOLDER, UPLOADING_FOLDER } from "../mirror/layout.ts";
import type { App } from "./app.ts";
import { crawlJob } from "./jobs.ts";

/** What may be uploaded to a domain; told before anything is sent. */
export interface UploadLimits {
  readonly maxBytes: number;
  /** Extensions without dot. */
  readonly types: readonly string[];
}

export interface UploadedFile {
  /** `/`-separated. */
  readonly path: string;
  readonly bytes: number;
  /** ISO 8601 UTC. */
  readonly uploadedAt: string;
  /** waiting: not crawled yet. */
  readonly state: "searchable" | "waiting" | "failed";
  /** Why it failed, or "". */
  readonly reason: string;
  readonly sourceId: SourceId;
  /** The document that readers find, perhaps of an earlier version, or "". */
  readonly itemId: string;
}

export interface Uploads {
  limits(domainId: DomainId): Promise<UploadLimits>;
  /** By path. */
  list(domainId: DomainId): Promise<readonly UploadedFile[]>;
  /**
   * Stores a file; one of the same path gets a new version. Nothing is left of one that is refused, or does not come whole. The first
   * one adds the source to the domain. BadInputError for a path, type or size that is not taken, ConflictError for what was erased.
   */
  put(
    domainId: DomainId,
    path: string,
    content: AsyncIterable<Uint8Array>,
    bytes?: number,
  ): Promise<{ readonly isNew: boolean; readonly bytes: number }>;
  /** NotFoundError if there is no such file. */
  remove(domainId: DomainId, path: string): Promise<void>;
  /** Makes what was stored or removed searchable, as a job. */
  bringIn(domainId: DomainId): Promise<JobWork>;
}

/** The source that holds what was uploaded, unless the domain has another one for it. */
const SOURCE = parseSourceId("uploads");
const MAX_PATH = 800;
/** Bytes of one name: file systems take 255, and the mirror adds to it. */
const MAX_NAME = 200;
const MAX_LISTED = 10_000;

type Parts = Pick<EngineParts, "domains" | "erasures" | "ledgers" | "acceptedTypes">;

/** Where a domain's uploads are, or would be. */
interface Holder {
  readonly config: SourceConfig;
  readonly folder: string;
  readonly maxBytes: number;
}

export function createUploads(parts: Parts, app: () => Pick<App, "crawl" | "checkCrawl">): Uploads {
  return {
    async limits(domainId) {
      const { maxBytes } = holderFor(await parts.domains.get(domainId), parts);
      return { maxBytes, types: [...parts.acceptedTypes].sort() };
    },
    async list(domainId) {
      const holder = holderOf(await parts.domains.get(domainId));
      return holder ? await listFiles(domainId, holder, parts) : [];
    },
    async put(domainId, called, content, bytes) {
      const domain = await parts.domains.get(domainId);
      const holder = holderFor(domain, parts);
      const path = checkPath(called);
      checkType(path, parts.acceptedTypes);
      checkSize(path, bytes ?? 0, holder);
      await refuseErased(domainId, path, holder, parts);
      const target = join(holder.folder, path);
      const isNew = !(await isFile(target, path));
      const written = await writeWhole(target, path, content, holder);
      if (!holderOf(domain)) await addSource(domain, holder, parts);
      return { isNew, bytes: written };
    },
    async remove(domainId, called) {
      const path = checkPath(called);
      const holder = holderOf(await parts.domains.get(domainId));
      const file = await holder?.config.kind.uploads?.find({ domainId, config: holder.config }, path);
      if (!holder || !file) throw new NotFoundError(`Domain '${domainId}' has no uploaded file '${path}'.`);
      await rm(file);
      await removeEmptyFolders(dirname(file), holder.folder);
    },
    async bringIn(domainId) {
      // The user asked for the removal: the guard is for sources that lose something by themselves.
      const request = crawlRequest(domainId, {
        scope: "folders",
        sourceId: SOURCE,
        gathered: true,
        confirmDeletes: true,
      });
      await app().checkCrawl(request);
      return crawlJob(app(), request, { dryRun: false });
    },
  };
}

function holderOf({ domainId, sources }: Domain): Holder | undefined {
  const config = sources.find((source) => source.kind.uploads?.holds(source));
  return config && holderIn(domainId, config);
}

function holderIn(domainId: DomainId, config: SourceConfig): Holder {
  const { uploads } = config.kind;
  if (!uploads) throw new Error(`hold uploads: sources of kind '${config.sourceType}' cannot`);
  return { config, folder: uploads.folderOf(domainId), maxBytes: uploads.maxFileBytes(config) };
}

/** The source as it is, or as it would be added. */
function holderFor(domain: Domain, { domains }: Pick<Parts, "domains">): Holder {
  const existing = holderOf(domain);
  if (existing) return existing;
  if (domain.sources.some(({ sourceId }) => sourceId.toLowerCase() === SOURCE)) {
    throw new ConflictError(
      `Domain '${domain.domainId}' has another source called '${SOURCE}', so nothing can be uploaded to it. Rename that source.`,
    );
  }
  const kind = domains.kinds.all.find(({ uploads }) => uploads);
  const problems: string[] = [];
  const [made] = kind ? parseSources(kind, [{ source_id: SOURCE, ...kind.uploads?.fields }], problems) : [];
  if (!made) throw new Error(`make the source '${SOURCE}': ${problems.join(" ")}`);
  return holderIn(domain.domainId, made);
}

async function addSource(domain: Domain, { config }: Holder, { domains }: Parts): Promise<void> {
  const now = await domains.get(domain.domainId);
  if (holderOf(now)) return;
  await domains.update({ ...now, sources: [...now.sources, config] }, now);
}

function checkPath(called: string): string {
  const path = called
    .normalize("NFC")
    .replaceAll("\\", "/")
    .replace(/^(\.?\/)+/, "");
  const refuse = (why: string): never => {
    throw new BadInputError(`'${called.slice(0, 100)}' cannot be uploaded under this name: ${why}.`);
  };
  if (path === "") refuse("it is empty");
  if (path.length > MAX_PATH) refuse(`a path may have ${MAX_PATH} characters`);
  if (!path.isWellFormed() || /\p{Cc}/u.test(path)) refuse("it holds characters that are no text");
  for (const part of path.split("/")) {
    if (part === "" || part === ".." || part === ".") refuse("it leads elsewhere");
    if (part.startsWith(".")) refuse("names that begin with a dot are hidden files, which are left out");
    if (part.endsWith(" ") || part.endsWith(".")) refuse("a name must not end with a blank or a dot");
    if (Buffer.byteLength(part) > MAX_NAME) refuse(`a name may have ${MAX_NAME} bytes`);
  }
  return path;
}

function checkType(path: string, accepted: ReadonlySet<string>): void {
  const type = fileTypeOf(path.split("/").at(-1) ?? "");
  if (accepted.has(type)) return;
  throw new BadInputError(
    `'${path}' cannot be uploaded: ${type ? `files of type '${type}'` : "files without a type"} are not taken in. Taken are: ${[...accepted].sort().join(", ")}.`,
  );
}

function checkSize(path: string, bytes: number, { maxBytes }: Holder): void {
  if (bytes <= maxBytes) return;
  throw new BadInputError(`'${path}' is too large: ${sayBytes(bytes)}, of ${sayBytes(maxBytes)} allowed.`);
}

async function refuseErased(
  domainId: DomainId,
  path: string,
  { config: { sourceType, sourceId } }: Holder,
  { erasures }: Parts,
): Promise<void> {
  const hash = pathHash({ sourceType, sourceId }, path);
  const { erased } = await erasures.read(domainId);
  if (!erased.some((one) => one.sourceId === sourceId && one.pathHashes.includes(hash))) return;
  throw new ConflictError(
    `What was at '${path}' was erased, and is blocked from coming back. An administrator can allow it again: lockstep erase ${domainId} --allow ITEM.`,
  );
}

async function isFile(target: string, path: string): Promise<boolean> {
  const found = await stat(target).catch(() => undefined);
  if (found?.isDirectory()) throw new ConflictError(`'${path}' is a folder of uploaded files. Choose another name.`);
  return found !== undefined;
}

/** A file is there whole or not at all; what a kill leaves is swept by the next upload. */
async function writeWhole(
  target: string,
  path: string,
  content: AsyncIterable<Uint8Array>,
  holder: Holder,
): Promise<number> {
  const aside = join(dirname(holder.folder), PRIVATE_FOLDER, UPLOADING_FOLDER);
  await mkdir(aside, { recursive: true });
  await sweep(aside);
  const part = join(aside, randomUUID());
  let bytes = 0;
  async function* measured(): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      bytes += chunk.length;
      checkSize(path, bytes, holder);
      yield chunk;
    }
  }
  try {
    await pipeline(Readable.from(measured()), createWriteStream(part, { flush: true }));
    await mkdir(dirname(target), { recursive: true }).catch((error: unknown) => {
      if (isErrno(error, "ENOTDIR") || isErrno(error, "EEXIST")) {
        throw new ConflictError(`'${path}' cannot be stored: a part of its path is a file already.`);
      }
      throw error;
    });
    await rename(part, target);
    return bytes;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

const STALE_MS = 24 * 3600 * 1000;

async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const part = join(folder, name);
    const found = await stat(part).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > STALE_MS) await rm(part, { force: true });
  }
}

async function listFiles(domainId: DomainId, { config, folder }: Holder, { ledgers }: Parts): Promise<UploadedFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(ifMissing([]));
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort()
    .slice(0, MAX_LISTED);
  const ledger = await ledgers.open({ domainId, config }, { readOnly: true });
  const known = await ledger.manifest.at(paths);
  const files: UploadedFile[] = [];
  for (const path of paths) {
    const found = await stat(join(folder, path)).catch(() => undefined);
    if (!found) continue;
    const entry = known.get(path);
    const row = entry && (await ledger.get(entry.docId));
    const reason =
      entry?.error ||
      row?.mirrored?.sourceError ||
      row?.mirrored?.processingError ||
      row?.indexed?.embeddingError ||
      "";
    // A newer version may wait for the next crawl.
    const isCurrent = row?.indexed?.fileId && entry?.size === found.size;
    const state = reason !== "" ? "failed" : isCurrent ? "searchable" : "waiting";
    const itemId = entry && row?.indexed?.fileId ? entry.docId : "";
    const { sourceId } = config;
    files.push({ path, bytes: found.size, uploadedAt: found.mtime.toISOString(), state, reason, sourceId, itemId });
  }
  return files;
}
