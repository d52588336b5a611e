import { access, chmod, constants, mkdir, opendir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import type { Finding } from "../contracts/finding.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { errorCode } from "../lib/explain-network.ts";
import { plural } from "../lib/text.ts";
import type { Config, GroupAccess } from "./config.ts";

interface Rights {
  readonly umask: number;
  readonly root: number;
  /** The argument for chmod. */
  readonly command: string;
}

/** With a group, new files inherit the group of the folder (02000). */
const RIGHTS: Readonly<Record<GroupAccess, Rights>> = {
  none: { umask: 0o077, root: 0o700, command: "go=" },
  read: { umask: 0o027, root: 0o2750, command: "g=rX,o=" },
  write: { umask: 0o007, root: 0o2770, command: "g=rwX,o=" },
};
const PERMISSIONS = 0o777;
const ALL_BITS = 0o7777;
/** Any user may create files in the folder, as in /tmp: it does not belong to lockstep alone. */
const STICKY = 0o1000;
const MAX_CHECKED = 20_000;

/** Sets the umask, so that other users cannot read new files, and closes the storage folder, also one that was open before. */
export async function closeStorage({ storagePath, groupAccess }: Config): Promise<void> {
  const { umask, root } = RIGHTS[groupAccess];
  process.umask(umask);
  await prepareStorage(storagePath);
  const { mode } = await stat(storagePath);
  if ((mode & ALL_BITS) === root || (mode & STICKY) !== 0) return;
  // Fails on a file system without permissions, or if another user owns the folder: the doctor reports it.
  await chmod(storagePath, root).catch(() => undefined);
}

/** Checks whether other users can get in, and what they could read then. */
export async function examineRights({ storagePath, groupAccess }: Config): Promise<Finding> {
  const subject = "Rights of the storage";
  if (process.platform === "win32") {
    return { subject, outcome: "not checked", detail: "Windows keeps them elsewhere.", remedy: "" };
  }
  const { umask, root, command } = RIGHTS[groupAccess];
  const isWide = async (path: string): Promise<boolean> => ((await stat(path)).mode & PERMISSIONS & umask) !== 0;
  const wide = await wideBelow(storagePath, isWide);
  const remedy = `Whoever owns the files can take the rights away:\nchmod -R ${command} '${storagePath}'`;
  if (await isWide(storagePath)) {
    const wanted = (root & PERMISSIONS).toString(8);
    const detail = `Other accounts of this machine can get into ${storagePath}, which should have the mode ${wanted}. ${sayWide(wide)}`;
    return { subject, outcome: "problem", detail: detail.trim(), remedy };
  }
  const closed = `Only ${groupAccess === "none" ? "the account that owns it gets" : "its owner and its group get"} in.`;
  return { subject, outcome: "ok", detail: `${closed} ${sayWide(wide)}`.trim(), remedy: wide.count > 0 ? remedy : "" };
}

interface Wide {
  count: number;
  example: string;
  isAll: boolean;
}

function sayWide({ count, example, isAll }: Wide): string {
  if (count === 0) return "";
  const least = isAll ? "" : "at least ";
  return `Inside, ${least}${plural(count, "file or folder", "files or folders")} of an earlier time ${count === 1 ? "is" : "are"} open to them, e.g. ${example}.`;
}

async function wideBelow(folder: string, isWide: (path: string) => Promise<boolean>): Promise<Wide> {
  const wide: Wide = { count: 0, example: "", isAll: true };
  const folders = [folder];
  let checked = 0;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for await (const entry of await opendir(next).catch(() => [])) {
      if (++checked > MAX_CHECKED) return { ...wide, isAll: false };
      const path = join(next, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (!entry.isFile()) continue;
      if (!(await isWide(path).catch(() => false))) continue;
      wide.count += 1;
      wide.example ||= path;
    }
  }
  return wide;
}

/** Creates the storage folder and checks that it is usable, so that nothing fails half-way later. */
export async function prepareStorage(path: string): Promise<void> {
  try {
    await makeFolder(path);
    if (!(await stat(path)).isDirectory()) throw new BadInputError(`${path} is not a folder`);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = errorCode(error) || "it is not a folder";
    throw new BadInputError(
      `PERSISTENT_STORAGE_PATH cannot be used: ${path} (${reason}). Name a folder that lockstep may write to.`,
      { cause: error },
    );
  }
}

/** Creates one folder at a time: Node's `recursive` never returns where a file system responds ENOENT to mkdir. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (isErrno(error, "EEXIST")) return;
    if (!isErrno(error, "ENOENT") || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path);
  }
}
