import { writeFileAtomic } from "../lib/atomic-file.ts";
import { isJsonObject } from "../lib/json-object.ts";
import type { DomainRename } from "./domain-rename.ts";
import { readMetadata, withMetadataLock } from "./files-metadata.ts";

/**
 * Paths in `files_metadata.json` begin with the domain's id: in all entries, those of earlier versions too. BadInputError,
 * and nothing is changed, when the file cannot be read. Doing it twice changes nothing.
 */
export function renameMetadataPaths(path: string, { from, to }: DomainRename): Promise<void> {
  return withMetadataLock(path, async () => {
    const elements = await readMetadata(path);
    const replaced = new Map<number, unknown>();
    await elements.visit((entry, index) => {
      const file = isJsonObject(entry) ? entry["file_relative_path"] : undefined;
      if (typeof file !== "string" || !file.startsWith(`${from}\\`)) return;
      // Read again when it is written: all entries at once would weigh several times the file.
      const toJSON = (): object => ({
        ...(elements.at(index) as object),
        file_relative_path: to + file.slice(from.length),
      });
      replaced.set(index, { toJSON });
    });
    if (replaced.size > 0) await writeFileAtomic(path, elements.render({ replaced }));
  });
}
