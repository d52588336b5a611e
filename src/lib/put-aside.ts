import { constants } from "node:fs";
import { copyFile, mkdir, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { hashFile } from "./hash.ts";

/** Below a `.lockstep/` folder: migrated files of an earlier release. Maintenance removes them after a while. */
export const PUT_ASIDE = "before-ledger";

/** Moves the files below `<own>/before-ledger/`. Repeated after a kill, it moves the rest. */
export async function putAside(paths: readonly string[], own: string): Promise<void> {
  if (paths.length > 0) await mkdir(join(own, PUT_ASIDE), { recursive: true });
  for (const path of paths) await rename(path, join(own, PUT_ASIDE, basename(path)));
}

/** Copies them there. Returns when each copy was read back and is equal; throws otherwise. */
export async function copyAside(paths: readonly string[], own: string): Promise<void> {
  if (paths.length > 0) await mkdir(join(own, PUT_ASIDE), { recursive: true });
  for (const path of paths) {
    const copy = join(own, PUT_ASIDE, basename(path));
    await copyFile(path, copy, constants.COPYFILE_FICLONE);
    if ((await hashFile(copy)) !== (await hashFile(path))) throw new Error(`copy ${path}: ${copy} is not the same`);
  }
}
