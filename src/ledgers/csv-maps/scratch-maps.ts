import { constants } from "node:fs";
import { copyFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { namesIn } from "../../lib/names-in.ts";
import { mapFiles, SCRATCH_MAP, scratchFiles } from "./map-files.ts";

/** What a killed dry run left is taken away by another one, a day later. */
const ABANDONED_MS = 24 * 3600_000;

/** What a dry run compares with: maps of its own, so that a crawl beside it does not change them. */
export interface ScratchMaps {
  readonly id: string;
  remove(): Promise<void>;
}

/** undefined: there are no maps to be copied, or nothing may be written here; then the maps themselves are read. */
export async function copyMaps(folder: string, id: string): Promise<ScratchMaps | undefined> {
  const { tables } = mapFiles("download");
  const copies = Object.entries(scratchFiles(id)).map(([name, file]) => ({ from: tables[name as "seen"], file }));
  const remove = async (): Promise<void> => {
    for (const { file } of copies) await rm(join(folder, file), { force: true });
  };
  try {
    await removeAbandoned(folder);
    for (const { from, file } of copies) {
      await copyFile(join(folder, from), join(folder, file), constants.COPYFILE_FICLONE);
    }
    return { id, remove };
  } catch {
    await remove().catch(() => undefined);
    return undefined;
  }
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (!SCRATCH_MAP.test(name)) continue;
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > ABANDONED_MS) await rm(path, { force: true });
  }
}
