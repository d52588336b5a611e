import type { ItemId } from "../../contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../contracts/manifest.ts";

/** What a look writes into the manifest; in a dry run, what it would write. */
export interface TreeNotes {
  put(entry: ManifestEntry): void;
  flush(): Promise<void>;
  /** Every entry, as it is with what was put. */
  entries(): Iterable<readonly ManifestEntry[]>;
}

export function notesOf(manifest: Manifest, { dryRun }: { readonly dryRun: boolean }): TreeNotes {
  if (!dryRun) return manifest;
  const put = new Map<ItemId, ManifestEntry>();
  return {
    put: (entry) => void put.set(entry.docId, entry),
    flush: async () => undefined,
    *entries() {
      const known = new Set<ItemId>();
      for (const page of manifest.entries()) {
        yield page.map((entry) => {
          const now = put.get(entry.docId);
          if (now) known.add(entry.docId);
          return now ?? entry;
        });
      }
      yield [...put.values()].filter(({ docId }) => !known.has(docId));
    },
  };
}
