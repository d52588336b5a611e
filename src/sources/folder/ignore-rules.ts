import { constants } from "node:fs";
import { open } from "node:fs/promises";
import ignore, { type Ignore } from "ignore";
import { isErrno } from "../../lib/atomic-file.ts";

const FILE = ".gitignore";
/** Nobody writes longer ones by hand. */
const MAX_BYTES = 1024 * 1024;

/** The `.gitignore` files from the root down to a folder. */
export type IgnoreLevels = readonly { readonly folder: string; readonly rules: Ignore }[];

/** Those above, and the one of the folder itself. Throws when there is one that cannot be read: whatever it leaves out must not get in. */
export async function withLevel(above: IgnoreLevels, folder: string, absolute: string): Promise<IgnoreLevels> {
  const text = await readRules(`${absolute}/${FILE}`);
  if (text === undefined) return above;
  const rules = ignore({ ignorecase: false, allowRelativePaths: true }).add(text);
  return [...above, { folder, rules }];
}

/** The rules nearest to a file have the last word. */
export function isIgnored(levels: IgnoreLevels, path: string, kind: "file" | "folder"): boolean {
  let ignored = false;
  for (const { folder, rules } of levels) {
    const below = folder === "" ? path : path.slice(folder.length + 1);
    const answer = rules.test(kind === "folder" ? `${below}/` : below);
    if (answer.ignored) ignored = true;
    else if (answer.unignored) ignored = false;
  }
  return ignored;
}

/** git does not follow a link here either. */
async function readRules(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) return undefined;
      if (stats.size > MAX_BYTES) throw new Error(`its ${FILE} has more than ${MAX_BYTES} bytes`);
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isErrno(error, "ENOENT", "ELOOP", "ENXIO")) return undefined;
    throw error;
  }
}
