import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { SourceRef } from "../contracts/domain.ts";
import type { ErasedItem, ErasedKey, ErasureRecords, ErasureStore, Hold } from "../contracts/erasure.ts";
import { NotFoundError, UnreadableError } from "../contracts/errors.ts";
import { type DomainId, type ItemId, isDocumentId, type SourceId } from "../contracts/ids.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { contentDigest, sha256Of } from "../lib/hash.ts";
import { parseJsonBytes, toJsonText } from "../lib/json-file.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { withDomainLock } from "./domain-files.ts";

const FILE = "erasure.json";
const RECEIPTS = "erasures";
const NOTHING: ErasureRecords = { erased: [], holds: [] };

/** `domains/<id>/erasure.json`, and the receipts beside it. */
export function openErasureStore(domainsFolder: string): ErasureStore {
  const pathOf = (domainId: DomainId): string => join(domainsFolder, domainId, FILE);
  const read = async (domainId: DomainId): Promise<ErasureRecords> => {
    const bytes = await readFileIfExists(pathOf(domainId));
    return bytes ? decode(bytes, domainId) : NOTHING;
  };
  return {
    read,
    change: (domainId, change) =>
      withDomainLock(domainsFolder, domainId, async () => {
        if (!existsSync(join(domainsFolder, domainId, "domain.json"))) {
          throw new NotFoundError(`Domain '${domainId}' does not exist.`);
        }
        const before = await read(domainId);
        const after = change(before);
        if (after !== before) await writeFileAtomic(pathOf(domainId), toJsonText(encode(after)));
        return after;
      }),
    async putReceipt(domainId, name, text) {
      const folder = join(domainsFolder, domainId, RECEIPTS);
      await mkdir(folder, { recursive: true });
      await writeFileAtomic(join(folder, name), text);
      return `domains/${domainId}/${RECEIPTS}/${name}`;
    },
  };
}

/** Ids of attachments have the name of the file. */
export function erasedKey(item: ItemId): ErasedKey {
  return isDocumentId(item) ? item : contentDigest(item);
}

/** Another hash in each source, so that lists of different sources cannot be compared. */
export function pathHash(source: SourceRef, path: string): string {
  return sha256Of(`${source.sourceType}/${source.sourceId}\n${path}`);
}

function encode({ erased, holds }: ErasureRecords): JsonObject {
  return {
    erased: erased.map((item) => ({
      erasure_id: item.erasureId,
      source_type: item.sourceType,
      source_id: item.sourceId,
      item: item.item,
      content_hashes: item.contentHashes,
      path_hashes: item.pathHashes,
      reason: item.reason,
      by: item.by,
      started_utc: item.startedAt,
      finished_utc: item.finishedAt,
    })),
    holds: holds.map(({ sourceId: source_id, item, reason, by, at }) => ({ source_id, item, reason, by, set_utc: at })),
  };
}

function decode(bytes: Uint8Array, domainId: DomainId): ErasureRecords {
  try {
    const json = parseJsonBytes(bytes);
    if (!isJsonObject(json)) throw new Error("it must hold a JSON object");
    return { erased: listIn(json, "erased").map(decodeErased), holds: listIn(json, "holds").map(decodeHold) };
  } catch (cause) {
    // Passed over, it would let what was erased be crawled again, and what is held be deleted.
    throw new UnreadableError(
      `domains/${domainId}/${FILE} cannot be read, which says what was erased and what is held. Restore it from a backup, or correct it.`,
      { cause },
    );
  }
}

function listIn(json: JsonObject, key: string): readonly JsonObject[] {
  const list = json[key] ?? [];
  if (!Array.isArray(list) || !list.every(isJsonObject)) throw new Error(`'${key}' must be a list of objects`);
  return list;
}

function decodeErased(json: JsonObject): ErasedItem {
  return {
    erasureId: textIn(json, "erasure_id"),
    sourceType: textIn(json, "source_type"),
    sourceId: textIn(json, "source_id") as SourceId,
    item: textIn(json, "item"),
    contentHashes: textsIn(json, "content_hashes"),
    pathHashes: textsIn(json, "path_hashes"),
    reason: textIn(json, "reason"),
    by: textIn(json, "by"),
    startedAt: textIn(json, "started_utc"),
    finishedAt: textIn(json, "finished_utc"),
  };
}

function decodeHold(json: JsonObject): Hold {
  return {
    sourceId: textIn(json, "source_id") as SourceId | "",
    item: textIn(json, "item"),
    reason: textIn(json, "reason"),
    by: textIn(json, "by"),
    at: textIn(json, "set_utc"),
  };
}

function textIn(json: JsonObject, key: string): string {
  const value = json[key];
  if (typeof value === "string") return value;
  throw new Error(`'${key}' must be a text`);
}

function textsIn(json: JsonObject, key: string): readonly string[] {
  const value = json[key];
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  throw new Error(`'${key}' must be a list of texts`);
}
