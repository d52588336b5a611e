import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { DomainId } from "../contracts/ids.ts";
import { isJsonObject } from "../lib/json-object.ts";
import type { ZipEntry } from "../lib/zip-directory.ts";
import { REPORT_JSON } from "./report-codec.ts";
import { listZip, readZipEntry } from "./zip-reader.ts";

/** A map file as the last report of the domain has it, packed. */
export interface Snapshot {
  readonly archive: string;
  readonly entry: ZipEntry;
  /** Of the map file, not of the archive. */
  readonly modifiedAt: string;
}

/**
 * By their place in the archive. Map files that nobody has written since the last report are copied from there as they
 * are: packing those of a large library takes longer than finding out that nothing changed in it. Whatever is wrong with
 * the last report, everything is simply packed again.
 */
export async function earlierSnapshots(folder: string, domain: DomainId): Promise<ReadonlyMap<string, Snapshot>> {
  const snapshots = new Map<string, Snapshot>();
  try {
    const names = (await readdir(folder)).filter((name) => name.endsWith(".zip") && name.includes(`_${domain}_`));
    const last = names.sort().at(-1);
    if (last === undefined) return snapshots;
    const archive = join(folder, last);
    const entries = await listZip(archive);
    const times = await modifiedTimes(archive, entries, domain);
    for (const entry of entries) {
      const modifiedAt = times.get(entry.name);
      if (modifiedAt !== undefined && entry.method === 8) snapshots.set(entry.name, { archive, entry, modifiedAt });
    }
  } catch {
    snapshots.clear();
  }
  return snapshots;
}

async function modifiedTimes(
  archive: string,
  entries: readonly ZipEntry[],
  domain: DomainId,
): Promise<ReadonlyMap<string, string>> {
  const report = entries.find(({ name }) => name === REPORT_JSON);
  const chunks: Uint8Array[] = [];
  if (report) for await (const chunk of readZipEntry(archive, report)) chunks.push(chunk);
  const json: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  if (!isJsonObject(json) || json["domain_id"] !== domain || !Array.isArray(json["files"])) return new Map();
  const files = json["files"].filter(isJsonObject);
  return new Map(files.map((file) => [String(file["file_path"]), String(file["last_modified_utc"])]));
}
