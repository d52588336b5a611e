import { rmSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { DomainId, SourceId } from "../../src/contracts/ids.ts";
import { type Lease, sourceLease } from "../../src/contracts/lease.ts";
import type { Ledger, LedgerOptions, LedgerSource, Ledgers } from "../../src/contracts/ledger.ts";
import { ofKind } from "../kinds.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";

/** Where the ledger of one source is, as text can carry it to another process. `folder` is where its map files are. */
export interface LedgerPlace {
  readonly folder: string;
  /** Of a PostgreSQL database; none: SQLite. */
  readonly url?: string;
  readonly domainId: string;
}

export interface OpenedLedger {
  readonly ledger: Ledger;
  readonly problems: readonly string[];
}

const opened = new Map<string, Ledgers>();

/** A library 's' of a domain of its own, below this folder. */
export async function newLedgerPlace(crawlerFolder: string, domainId: string, url?: string): Promise<LedgerPlace> {
  const folder = join(crawlerFolder, domainId, "01_files", "s");
  await mkdir(folder, { recursive: true });
  return { folder, domainId, ...(url !== undefined && { url }) };
}

export async function closeLedgers(): Promise<void> {
  for (const ledgers of opened.values()) await ledgers.close();
  opened.clear();
}

export async function openLedger(place: LedgerPlace, options: Partial<LedgerOptions> = {}): Promise<OpenedLedger> {
  const ledger = await ledgersOf(place).open(sourceOf(place), { readOnly: false, ...options });
  return { ledger, problems: ledger.problems };
}

/** As a dry run of the download opens it. */
export async function openForDryRun(
  place: LedgerPlace,
): Promise<{ readonly ledger: Ledger; readonly end: () => Promise<void> }> {
  const { ledger } = await openLedger(place, { readOnly: true, isSnapshot: true });
  const copies = await ledgersOf(place).writeScratchMaps(sourceOf(place), ledger, "jb_1");
  return {
    ledger,
    async end() {
      await ledger.close();
      await copies?.remove();
    },
  };
}

/** The map files in the folder say everything now. */
export async function exportMaps(place: LedgerPlace): Promise<void> {
  const { ledger } = await openLedger(place);
  await ledger.close();
}

/** The domain has this id from now on. */
export async function renameDomain(place: LedgerPlace, to: string): Promise<LedgerPlace> {
  const ledgers = ledgersOf(place);
  const ids = { from: place.domainId as DomainId, to: to as DomainId };
  const [before, after] = [place.domainId, to].map((id) => join(place.folder, "../../..", id)) as [string, string];
  await ledgers.release(ids.from);
  await rename(before, after);
  await ledgers.renameDomain(ids);
  return { ...place, domainId: to, folder: join(after, "01_files", "s") };
}

export function ledgerVersion(place: LedgerPlace): Promise<string> {
  return ledgersOf(place).version(sourceOf(place));
}

/** The right to run a step of the source, which one process has at a time. */
export function leaseStep(place: LedgerPlace, step: "download" | "embed", owner: string): Promise<Lease> {
  const { domainId, config } = sourceOf(place);
  return ledgersOf(place).leases.acquire(domainId, sourceLease(config, step), { owner, pollMs: 5 });
}

/** Takes away whatever is remembered beside the map files. */
export async function loseMemory(place: LedgerPlace): Promise<void> {
  await ledgersOf(place).forgetDomain(place.domainId as DomainId);
  for (const end of ["", "-wal", "-shm"]) rmSync(join(place.folder, `../../ledger.sqlite${end}`), { force: true });
  rmSync(join(place.folder, ".lockstep"), { recursive: true });
}

function ledgersOf({ folder, url }: LedgerPlace): Ledgers {
  const crawlerFolder = join(folder, "../../..");
  const key = `${crawlerFolder} ${url}`;
  const ledgers = opened.get(key) ?? openTestLedgers(crawlerFolder, url === undefined ? undefined : { url });
  opened.set(key, ledgers);
  return ledgers;
}

function sourceOf({ domainId }: LedgerPlace): LedgerSource {
  return { domainId: domainId as DomainId, config: { ...ofKind("file_sources"), sourceId: "s" as SourceId } };
}
