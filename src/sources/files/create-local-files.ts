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
  /** The folders that files may lie in; none: nowhere. */
  readonly roots: readonly string[];
}

/**
 * Files on disks of this machine, below the folders that may be read. Whoever registers one need not be who chose the
 * folders, so what is hidden there stays hidden.
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
    return `This is no file that may be read: INGEST_FILE_ROOTS allows ${allowed} and what is below.`;
  };
  return {
    refusal: async (source) => refusal(source),
    async read(request) {
      const root = rootOf(request.source);
      // It was registered where it may be read: another machine's settings, or a slip in them, are no reason to let go of it.
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

/** undefined: a path of another kind of machine. */
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
  if (!isWithin(real, root.path)) return { kind: "refused", reason: "A link leads from it out of what may be read." };
  if (isHidden(real, root.path)) return { kind: "refused", reason: HIDDEN };
  if (isWithin(real, root.storage)) return { kind: "refused", reason: "It lies in the storage of lockstep itself." };
  if (!stats.isFile()) return { kind: "refused", reason: "It is no file." };
  if (stats.size > maxBytes) return tooLarge(stats.size, maxBytes);
  const stamp = stampOf(stats);
  // One that may change again without getting another time has no stamp to rely on.
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
 * Throws NotFoundError when it is gone. Where a share is not mounted its folder is there, with nothing in it; an empty folder
 * on the file system that the file was on is no such place.
 */
async function realFile(path: string, device: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
    const folder = await lastFolder(path);
    if (folder.isEmpty && folder.device !== device) {
      throw new Error(`there is nothing at all in '${folder.path}'; if it is a share, is it mounted?`);
    }
    throw new NotFoundError(explain(error));
  }
}

/** The last folder on the way to it that is there. */
async function lastFolder(
  path: string,
): Promise<{ readonly path: string; readonly isEmpty: boolean; readonly device: string }> {
  const folder = dirname(path);
  try {
    const entries = await opendir(folder);
    const first = await entries.read();
    await entries.close();
    // Asked when it was read: what was unmounted before that is not empty.
    return { path: folder, isEmpty: first === null, device: `${(await stat(folder)).dev}` };
  } catch (error) {
    if (folder === path || !isErrno(error, "ENOENT", "ENOTDIR")) throw error;
    return await lastFolder(folder);
  }
}
