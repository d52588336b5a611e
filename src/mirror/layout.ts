import { join } from "node:path";
import type { SourceConfig } from "../contracts/domain.ts";
import type { DomainId } from "../contracts/ids.ts";

/** The folders below `PERSISTENT_STORAGE_PATH`, as specified. Nothing else in the project spells them. */
const STORAGE_FOLDERS = {
  domains: "domains",
  crawler: "crawler",
  jobs: "jobs",
  index: "index",
  reports: "reports",
  security: "security",
  audit: "audit",
  inventory: "inventory",
  web: "web",
} as const;

/** Input of the process step. */
export const ORIGINALS_FOLDER = "01_originals";
export const EMBEDDED_FOLDER = "02_embedded";
export const FAILED_FOLDER = "03_failed";
/** Private: data that the specified files cannot hold, staging, leases. */
export const PRIVATE_FOLDER = ".lockstep";
/** In the private folder of a domain: uploads on their way. */
export const UPLOADING_FOLDER = "uploading";

/** The source's folder relative to `crawler/`, `/`-separated: the beginning of every path in the map files. */
export function sourceFolder(domain: DomainId, { kind, sourceId }: Pick<SourceConfig, "kind" | "sourceId">): string {
  return `${domain}/${kind.folder}/${sourceId}`;
}

export function storageFolder(storagePath: string, folder: keyof typeof STORAGE_FOLDERS): string {
  return join(storagePath, STORAGE_FOLDERS[folder]);
}
