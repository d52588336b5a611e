import { join } from "node:path";
import type { SourceType } from "../contracts/domain.ts";
import type { DomainId, SourceId } from "../contracts/ids.ts";

/** The folders below `PERSISTENT_STORAGE_PATH`, as specified. Nothing else in the project spells them. */
export const STORAGE_FOLDERS = { domains: "domains", crawler: "crawler", jobs: "jobs", index: "index" } as const;

/** Below `crawler/<DOMAIN_ID>/`, by kind of source. */
export const SOURCE_TYPE_FOLDERS: Readonly<Record<SourceType, string>> = { file_sources: "01_files" };

export const EMBEDDED_FOLDER = "02_embedded";
export const FAILED_FOLDER = "03_failed";
/** Ours alone: what the specified files cannot hold, staging, leases. */
export const PRIVATE_FOLDER = ".lockstep";

/** The source's folder relative to `crawler/`, `/`-separated: the beginning of every path in the map files. */
export function sourceFolder(domain: DomainId, source: { sourceType: SourceType; sourceId: SourceId }): string {
  return `${domain}/${SOURCE_TYPE_FOLDERS[source.sourceType]}/${source.sourceId}`;
}

export function storageFolder(storagePath: string, folder: keyof typeof STORAGE_FOLDERS): string {
  return join(storagePath, STORAGE_FOLDERS[folder]);
}
