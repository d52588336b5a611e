import { rmSync } from "node:fs";
import { join } from "node:path";
import type { SourceId } from "../../src/contracts/ids.ts";
import type { Ledger } from "../../src/contracts/ledger.ts";
import type { LedgerOptions, OpenedLedger } from "../../src/engine/engine-parts.ts";
import { CsvLedger, type CsvLedgerOptions } from "../../src/ledgers/csv-maps/csv-ledger.ts";
import { foldTails } from "../../src/ledgers/csv-maps/fold-tails.ts";
import { copyMaps } from "../../src/ledgers/csv-maps/scratch-maps.ts";
import { acquireLease, type Lease } from "../../src/lib/file-lease.ts";

/** Where the ledger of one source is, as text can carry it to another process. `folder` is where its map files are. */
export type LedgerPlace = Pick<CsvLedgerOptions, "folder" | "heldBytes" | "mayLag">;

export async function openLedger(place: LedgerPlace, options: Partial<LedgerOptions> = {}): Promise<OpenedLedger> {
  const ledger = await CsvLedger.open({ ...place, sourceId: "s" as SourceId, step: "download", ...options });
  return { ledger, problems: ledger.problems };
}

/** As a dry run of the download opens it. */
export async function openForDryRun(
  place: LedgerPlace,
): Promise<{ readonly ledger: Ledger; readonly end: () => Promise<void> }> {
  const copies = place.mayLag ? undefined : await copyMaps(place.folder, "jb_1");
  const { ledger } = await openLedger(place, { readOnly: true, scratchId: copies?.id });
  return {
    ledger,
    async end() {
      await ledger.close();
      await copies?.remove();
    },
  };
}

/** The map files in the folder say everything now. */
export async function exportMaps({ folder }: LedgerPlace): Promise<void> {
  await foldTails(folder);
}

/** The right to run a step of the source, which one process has at a time. */
export function leaseStep({ folder }: LedgerPlace, step: "download" | "embed", owner: string): Promise<Lease> {
  return acquireLease(join(folder, ".lockstep", `lease-${step}`), { owner, pollMs: 5 });
}

/** Takes away whatever is remembered beside the map files. */
export function loseMemory({ folder }: LedgerPlace): void {
  rmSync(join(folder, ".lockstep"), { recursive: true });
}
