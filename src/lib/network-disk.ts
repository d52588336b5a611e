import { mkdirSync, statfsSync } from "node:fs";

/** NFS, SMB 1, CIFS, SMB 2: what `statfs` says of file systems that other machines write to as well. */
export const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42]);

/**
 * Creates the folder of a SQLite file. Throws on a network disk, where several processes would damage the file instead of waiting for each
 * other.
 */
export function refuseNetworkDisk(folder: string, typeOf = (path: string): number => statfsSync(path).type): void {
  mkdirSync(folder, { recursive: true });
  if (!NETWORK_FILE_SYSTEMS.has(typeOf(folder))) return;
  throw new Error(
    `open ${folder}: it is on a network file system, where SQLite's locks do not hold; use a local disk (DATABASE_FOLDER), or PostgreSQL (DATABASE_URL)`,
  );
}
