import { lstat, opendir, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { BadInputError, explain, NotFoundError } from "../../contracts/errors.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { msToUtcMicros } from "../../lib/time.ts";
import { explainErrno } from "../folder/explain-errno.ts";
import { type FolderRoot, type FolderTreeOptions, isWithin, openRoot } from "../folder/folder-root.ts";
import { isRacy, readLocalFile, stampOf } from "../folder/read-local-file.ts";
import { mediaTypeOf } from "../web/content-type.ts";
import { allOf, type FileReader, type FileRequest, type FileResult, tooLarge } from "./file-reader.ts";

interface LocalFilesOptions extends Pick<FolderTreeOptions, "storagePath"> {
  /** Folders in which files may be; []: none. */
  readonly roots: readonly string[];
}

/**
 * Reads local files below the allowed folders. Hidden files are refused: the user who registers a file need not be the
 * admin who allowed the folder.
 */
export function createLocalFiles({ storagePath, roots }: LocalFilesOptions): FileReader {
  const options: FolderTreeOptions = { storagePath, roots: async () => roots };
  const rootOf = (source: string): string | undefined => {
    const path = pathOf(source);
    return path === undefined ? undefined : roots.find((root) => isWithin(path, resolve(root)));
  };
  const refusal = (source: string): string => {
    const root = rootOf(source);
    if (root !== undefined) return isHidden(pathOf(source) ?? "", root) ? HIDDEN : "";
    if (roots.length === 0) {
      return "Files of the server's own disks are not read: INGEST_FILE_ROOTS names no folder that they may lie in.";
    }
    const allowed = roots.map((root) => `'${root}'`).join(", ");
    return `This file may not be read: INGEST_FILE_ROOTS allows ${allowed} and what is below.`;
  };
  return {
    refusal: async (source) => refusal(source),
    async read(request) {
      const root = rootOf(request.source);
      // It was allowed when it was registered. Settings of another machine, or a mistake in them, must not remove it.
      if (root === undefined) return { kind: "failed", reason: refusal(request.source) };
      const path = pathOf(request.source) ?? "";
      if (isHidden(path, root)) return { kind: "refused", reason: HIDDEN };
      try {
        return await readFile(path, await openRoot(root, options), request);
      } catch (error) {
        request.signal.throwIfAborted();
        if (error instanceof BadInputError) return { kind: "refused", reason: error.message };
        if (error instanceof NotFoundError) return { kind: "missing" };
        return { kind: "failed", reason: `It cannot be read now: ${explainErrno(error)}` };
      }
    },
  };
}

/** Returns undefined for a path of another operating system. */
function pathOf(source: string): string | undefined {
  try {
    const path = /^file:/i.test(source) ? fileURLToPath(source) : source;
    return isAbsolute(path) ? resolve(path) : undefined;
  } catch {
    return undefined;
  }
}

const HIDDEN = "Files with a name that begins with a dot, and files in such folders, are not taken one by one.";

function isHidden(path: string, root: string): boolean {
  return relative(root, path)
    .split(sep)
    .some((name) => name.startsWith("."));
}

async function readFile(path: string, root: FolderRoot, request: FileRequest): Promise<FileResult> {
  const { etag, device, maxBytes, signal } = request;
  const seenAtMs = Date.now();
  const real = await realFile(path, device);
  const stats = await lstat(real);
  if (!isWithin(real, root.path)) return { kind: "refused", reason: "It is a link to a place that may not be read." };
  if (isHidden(real, root.path)) return { kind: "refused", reason: HIDDEN };
  if (isWithin(real, root.storage)) return { kind: "refused", reason: "It lies in the storage of lockstep itself." };
  if (!stats.isFile()) return { kind: "refused", reason: "It is no file." };
  if (stats.size > maxBytes) return tooLarge(stats.size, maxBytes);
  const stamp = stampOf(stats);
  // A file this young may change again within the same timestamp, so its stamp is not recorded.
  const known = isRacy(stats.mtimeMs, seenAtMs) ? "" : stamp;
  const file = {
    etag: known,
    lastModified: msToUtcMicros(stats.mtimeMs),
    length: stats.size,
    contentType: mediaTypeOf(fileTypeOf(basename(path))),
    device: `${stats.dev}`,
  };
  if (known !== "" && known === etag) return { kind: "unchanged", file };
  return { kind: "read", bytes: await allOf(readLocalFile(real, { root: root.path, stamp, signal })), file };
}

/**
 * Returns the real path; throws NotFoundError if the file is gone. If a share is not mounted, its mount point is an empty
 * folder on another device: that is an error instead.
 */
async function realFile(path: string, device: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
    const folder = await nearestFolder(path);
    if (folder.isEmpty && folder.device !== device) {
      throw new Error(`there is nothing at all in '${folder.path}'; if it is a share, is it mounted?`);
    }
    throw new NotFoundError(explain(error));
  }
}

/** Returns the nearest existing folder above the file. */
async function nearestFolder(
  path: string,
): Promise<{ readonly path: string; readonly isEmpty: boolean; readonly device: string }> {
  const folder = dirname(path);
  try {
    const entries = await opendir(folder);
    const first = await entries.read();
    await entries.close();
    // Stat after listing: a share that was unmounted before that must not look like an empty folder on its own device.
    return { path: folder, isEmpty: first === null, device: `${(await stat(folder)).dev}` };
  } catch (error) {
    if (folder === path || !isErrno(error, "ENOENT", "ENOTDIR")) throw error;
    return await nearestFolder(folder);
  }
}
