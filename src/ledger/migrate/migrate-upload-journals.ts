import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "../../contracts/ids.ts";
import type { UploadPlace, UploadTry } from "../../contracts/uploads.ts";
import { readFileIfExists } from "../../lib/atomic-file.ts";
import { withFileLock } from "../../lib/file-lease.ts";
import { namesIn } from "../../lib/file-system.ts";
import { type JsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { PUT_ASIDE, putAside } from "../../lib/put-aside.ts";

export type OldUpload = Omit<UploadTry, "key"> & { readonly isSettled: boolean };

interface OldJournal {
  readonly path: string;
  readonly place: UploadPlace;
  readonly uploads: readonly OldUpload[];
}

/**
 * Hands over the journals that earlier releases kept of the domain's uploads, `index/upload-journal/*.jsonl`, one after the other, and
 * moves each away. Whoever opens a journal does this first. Killed in between, one is put once more.
 */
export async function migrateUploadJournals(
  indexFolder: string,
  domainId: DomainId,
  put: (place: UploadPlace, uploads: readonly OldUpload[]) => Promise<void>,
): Promise<void> {
  if ((await readOldJournals(indexFolder, domainId)).length === 0) return;
  const own = join(indexFolder, ".lockstep");
  await mkdir(join(own, PUT_ASIDE), { recursive: true });
  await withFileLock(join(own, PUT_ASIDE, "lock"), async () => {
    for (const { path, place, uploads } of await readOldJournals(indexFolder, domainId)) {
      await put(place, uploads);
      await putAside([path], own);
    }
  });
}

/** Of one domain, or of all. */
export async function readOldJournals(indexFolder: string, domainId?: DomainId): Promise<OldJournal[]> {
  const folder = join(indexFolder, "upload-journal");
  const journals: OldJournal[] = [];
  for (const name of await namesIn(folder)) {
    const [domain, source, store, end, ...more] = name.split(".");
    if (domain === undefined || source === undefined || !store || end !== "jsonl" || more.length > 0) continue;
    const place: UploadPlace = {
      domainId: decodeURIComponent(domain) as DomainId,
      sourceId: decodeURIComponent(source) as SourceId,
      storeId: decodeURIComponent(store) as VectorStoreId,
    };
    if (domainId !== undefined && place.domainId !== domainId) continue;
    const text = (await readFileIfExists(join(folder, name)))?.toString("utf8") ?? "";
    journals.push({ path: join(folder, name), place, uploads: readUploads(text) });
  }
  return journals;
}

/** A line that a crash cut off says nothing. */
function readUploads(text: string): OldUpload[] {
  const uploads = new Map<number, OldUpload>();
  for (const line of text.split("\n")) {
    const fields = parseJsonObject(line);
    const key = Number(fields?.["key"]);
    if (!fields || !Number.isSafeInteger(key)) continue;
    const before = uploads.get(key);
    if (before) uploads.set(key, { ...before, ...readNews(fields) });
    else if ("at" in fields) uploads.set(key, readIntent(fields));
  }
  return [...uploads.values()];
}

function readIntent({ item_id, name, bytes, at }: JsonObject): OldUpload {
  const itemId = String(item_id ?? "") as ItemId;
  const intent = { itemId, name: String(name ?? ""), bytes: Number(bytes ?? 0), startedAtMs: Number(at ?? 0) };
  return { ...intent, lostAtMs: undefined, fileId: undefined, sha256: "", isSettled: false };
}

function readNews({ file_id, sha256, lost_at, settled }: JsonObject): Partial<OldUpload> {
  if (settled === true) return { isSettled: true };
  if (typeof file_id === "string") return { fileId: file_id as FileId, sha256: String(sha256 ?? "") };
  return typeof lost_at === "number" ? { lostAtMs: lost_at } : {};
}
