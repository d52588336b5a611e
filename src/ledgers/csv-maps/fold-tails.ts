import { join } from "node:path";
import { withFileLock } from "../../lib/file-lease.ts";
import { fileStamp } from "../../lib/file-stamp.ts";
import { KeyIndex } from "./key-index.ts";
import { mapFiles, TABLE_NAMES, tailFile } from "./map-files.ts";
import type { TableName } from "./map-journal.ts";
import { readTable, writeTable } from "./open-table.ts";

/** Puts what waits in tails into the map files: then they say it all, and nothing that left is to be read in either. */
export async function foldTails(folder: string): Promise<void> {
  if ((await laggingTables(folder)).length === 0) return;
  const { tables } = mapFiles("download");
  await withFileLock(join(folder, ".lockstep", "maps.lock"), async () => {
    for (const name of await laggingTables(folder)) {
      const place = { folder, name, file: tables[name], mayLag: false, readOnly: false, heldBytes: 0 };
      await writeTable(await readTable(place, new KeyIndex()), [], place);
    }
  });
}

/** Map files that do not say everything, below the source's folder. */
export async function laggingMaps(folder: string): Promise<readonly string[]> {
  const { tables } = mapFiles("download");
  return (await laggingTables(folder)).map((name) => tables[name]);
}

async function laggingTables(folder: string): Promise<readonly TableName[]> {
  const stamps = await Promise.all(TABLE_NAMES.map((name) => fileStamp(join(folder, tailFile(name)))));
  return TABLE_NAMES.filter((_, at) => stamps[at] !== "");
}
