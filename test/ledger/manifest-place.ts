import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { DomainId, SourceId } from "../../src/contracts/ids.ts";
import type { Ledger, LedgerOptions, LedgerSource, Ledgers } from "../../src/contracts/ledger.ts";
import type { Manifest, ManifestEntry } from "../../src/contracts/manifest.ts";
import { ofKind } from "../kinds.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";

/** Where the manifest of one tree is, as text can carry it to another process. `folder` is where its `manifest.json` is. */
export interface ManifestPlace {
  readonly folder: string;
  readonly domainId: string;
  /** Of a PostgreSQL database; none: SQLite. */
  readonly url?: string;
}

const opened = new Map<string, Ledgers>();

/** A folder 'docs' of a domain of its own. */
export async function newManifestPlace(crawlerFolder: string, domainId: string, url?: string): Promise<ManifestPlace> {
  const folder = join(crawlerFolder, domainId, "05_folders", "docs");
  await mkdir(folder, { recursive: true });
  return { folder, domainId, ...(url !== undefined && { url }) };
}

export async function closeManifests(): Promise<void> {
  for (const ledgers of opened.values()) await ledgers.close();
  opened.clear();
}

export function openTree(place: ManifestPlace, options: Partial<LedgerOptions> = {}): Promise<Ledger> {
  return ledgersOf(place).open(treeOf(place), { readOnly: false, ...options });
}

/** As at the end of a crawl of a small folder. */
export function exportManifestAt(place: ManifestPlace): Promise<void> {
  return ledgersOf(place).exportManifest(treeOf(place));
}

export function treeOf({ domainId }: ManifestPlace): LedgerSource {
  return {
    domainId: domainId as DomainId,
    config: { ...ofKind("folder_sources"), sourceId: "docs" as SourceId },
  };
}

export async function entriesOf(manifest: Manifest): Promise<ManifestEntry[]> {
  const all: ManifestEntry[] = [];
  for await (const page of manifest.entries()) all.push(...page);
  return all;
}

export function ledgersOf({ folder, url }: ManifestPlace): Ledgers {
  const crawlerFolder = join(folder, "../../..");
  const key = `${crawlerFolder} ${url}`;
  const ledgers = opened.get(key) ?? openTestLedgers(crawlerFolder, url === undefined ? { crawlerFolder } : { url });
  opened.set(key, ledgers);
  return ledgers;
}
