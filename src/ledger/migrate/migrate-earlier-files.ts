import { createReadStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { REGISTERED_SOURCE } from "../../contracts/domain.ts";
import type { OtherStore, ScheduleState } from "../../contracts/domain-state.ts";
import { DamagedError } from "../../contracts/errors.ts";
import {
  type DomainId,
  type FileId,
  type ItemId,
  isDocumentId,
  type JobId,
  type SourceId,
  type VectorStoreId,
} from "../../contracts/ids.ts";
import { MANIFEST_FILE, type ScanRecord } from "../../contracts/manifest.ts";
import type { EarlierMember, EarlierMembers, Member, Members } from "../../contracts/members.ts";
import type { CrawledPage, CrawlHead, ReadList, SiteMemory } from "../../contracts/site-memory.ts";
import type { UploadPlace, UploadTry } from "../../contracts/uploads.ts";
import { readFileIfExists } from "../../lib/atomic-file.ts";
import { withFileLock } from "../../lib/file-lease.ts";
import { namesIn, pathExists } from "../../lib/file-system.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { copyAside, PUT_ASIDE, putAside } from "../../lib/put-aside.ts";
import { decodeEntry, linesOf, readManifest } from "../exports/manifest-codec.ts";
import type { SqlLedger } from "../sql-ledger.ts";

const ENTRIES_PER_FLUSH = 5000;

/**
 * Takes over the manifest of an earlier release, with the journal of what changed since; or `manifest.json`, when the database was lost.
 * Puts everything into a ledger that has nothing of the tree yet; repeated after a kill, it puts the same.
 */
export async function migrateManifest(ledger: SqlLedger, folder: string): Promise<void> {
  const path = join(folder, MANIFEST_FILE);
  const { manifest } = ledger;
  let put = 0;
  const flushNowAndThen = async (): Promise<void> => {
    if (++put % ENTRIES_PER_FLUSH === 0) await ledger.flush();
  };
  try {
    for await (const page of (await pathExists(path)) ? readManifest(path) : []) {
      for (const entry of page) {
        manifest.overlay(entry.docId, entry);
        await flushNowAndThen();
      }
    }
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    ledger.problems.push(`${error.problem} What can be read of it counts, and the mirror tells the rest`);
  }
  const head = (await pathExists(path)) ? await firstLine(path) : "";
  const told = parseJsonObject(`${head}}}`);
  const look = readScanRecord(told?.["look"]);
  if (look) manifest.overlayScan(look);
  const journal = join(folder, ".lockstep", "manifest.journal");
  if (!(await pathExists(journal))) return await ledger.flush();
  let isOfSnapshot = false;
  for await (const lines of linesOf(journal)) {
    for (const line of lines) {
      // What is cut at the end was never acknowledged.
      const change = parseJsonObject(line);
      if (!change) continue;
      // Left behind by a crash after the snapshot that has all of it.
      if ("journal_of" in change) isOfSnapshot = change["journal_of"] === (told?.["snapshot"] ?? "");
      if (!isOfSnapshot) continue;
      const { put: entries, drop, look: looked } = change;
      for (const [key, value] of isJsonObject(entries) ? Object.entries(entries) : []) {
        const entry = decodeEntry(key, value);
        manifest.overlay(entry.docId, entry);
      }
      if (isDocumentId(drop)) manifest.overlay(drop, null);
      const look = readScanRecord(looked);
      if (look) manifest.overlayScan(look);
      await flushNowAndThen();
    }
  }
  await ledger.flush();
}

/** Copies the manifest file before the migration, after which it is rewritten. */
export async function copyManifestAside(folder: string): Promise<void> {
  const path = join(folder, MANIFEST_FILE);
  await copyAside((await pathExists(path)) ? [path] : [], join(folder, ".lockstep"));
}

async function firstLine(path: string): Promise<string> {
  for await (const chunk of createReadStream(path, { encoding: "utf8", end: 65_535 }) as AsyncIterable<string>) {
    return chunk.split("\n", 1)[0] ?? "";
  }
  return "";
}

function readScanRecord(value: unknown): ScanRecord | undefined {
  if (!isJsonObject(value)) return undefined;
  const { root, at } = value;
  // What was seen is to be told as a whole once: the rest of the ledger may know less.
  return typeof root === "string" && typeof at === "string" ? { root, at, id: "", turn: 0 } : undefined;
}

/** Among registered addresses: what was taken out, and waits to leave the index. */
const TAKEN_OUT = 1000;

/**
 * Earlier releases kept memberships in the registry. Each is put into the ledger of its domain and removed there; killed in between,
 * it is put once more. Those of a domain that is not there stay: its renaming may have been cut off, and is finished later.
 */
export async function migrateMembers(
  earlier: EarlierMembers,
  {
    change,
    crawlerFolder,
    renamed,
  }: {
    readonly change: Members["change"];
    readonly crawlerFolder: string;
    readonly renamed?: { readonly from: DomainId; readonly to: DomainId };
  },
): Promise<void> {
  if (await earlier.isEmpty()) return;
  // A second process would bring back what was removed meanwhile.
  await withFileLock(join(crawlerFolder, ".members.lock"), async () => {
    const domains = (await namesIn(crawlerFolder)) as DomainId[];
    if (renamed && domains.includes(renamed.to)) domains.push(renamed.from);
    await earlier.handOver(domains, async (page) => {
      const members = page.map((member) => toMember(member, nameOf(member, renamed)));
      await change(members, (known, member) => known ?? member);
    });
  });
}

function nameOf({ domainId }: EarlierMember, renamed: { readonly from: DomainId; readonly to: DomainId } | undefined) {
  return domainId === renamed?.from ? renamed.to : domainId;
}

function toMember(member: EarlierMember, domainId: DomainId): Member {
  const { unlinkedCount, sourceId } = member;
  if (sourceId !== REGISTERED_SOURCE) return { ...member, domainId, wanted: "led" };
  const wanted = unlinkedCount === 0 ? "asked" : unlinkedCount < TAKEN_OUT ? "led" : "no";
  return { ...member, domainId, wanted, unlinkedCount: 0 };
}

const VERSION = 1;
const LINES_AT_ONCE = 200;

/** The last crawl that came to its end, and one under way or cut off: `web/` below the source's own folder `own`. */
export async function migrateSiteMemory(own: string, open: (head: CrawlHead) => Promise<SiteMemory>): Promise<void> {
  const names = new Set(await namesIn(join(own, "web")));
  if (names.size === 0) return;
  const files = ["pages.jsonl", "crawl.jsonl"].filter((name) => names.has(name)).map((name) => join(own, "web", name));
  for (const path of files) {
    const memory = await readInto(path, open);
    if (path.endsWith("pages.jsonl")) await memory?.finish();
    else await memory?.flush();
  }
  // Both at the end: killed before, they are read again, and say the same.
  await putAside(files, own);
  await rm(join(own, "web"), { recursive: true, force: true });
}

async function readInto(path: string, open: (head: CrawlHead) => Promise<SiteMemory>): Promise<SiteMemory | undefined> {
  let memory: SiteMemory | undefined;
  let put = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    const value = parseJsonObject(line);
    if (!memory) {
      const head = value && parseHead(value);
      if (!head) return undefined;
      memory = await open(head);
      continue;
    }
    // A line that a crash cut, at the end.
    if (!value) continue;
    if (String(value["id"]).startsWith("list:")) memory.putList(parseList(value));
    else memory.put([parsePage(value)]);
    if (++put % LINES_AT_ONCE === 0) await memory.flush();
  }
  return memory;
}

function parseHead(value: Record<string, unknown>): CrawlHead | undefined {
  if (value["version"] !== VERSION) return undefined;
  return { digest: String(value["digest"]), site: String(value["site"]), startedAt: String(value["started_at"]) };
}

function parseList(value: Record<string, unknown>): ReadList {
  return {
    url: String(value["url"]),
    etag: String(value["etag"]),
    lastModified: String(value["last_modified"]),
    addresses: texts(value["addresses"]),
    dates: texts(value["dates"]),
    lists: texts(value["lists"]),
    isCut: value["cut"] === true,
  };
}

function parsePage(value: Record<string, unknown>): CrawledPage {
  const url = String(value["url"]);
  const origin = URL.parse(url)?.origin ?? "";
  return {
    id: String(value["id"]) as ItemId,
    url,
    depth: Number(value["depth"]),
    outcome: value["outcome"] as CrawledPage["outcome"],
    item: String(value["item"] ?? "") as ItemId | "",
    aliases: texts(value["aliases"]) as ItemId[],
    links: texts(value["links"]).map((link) => (link.startsWith("/") ? origin + link : link)),
    feeds: texts(value["feeds"]),
    undated: String(value["undated"] ?? ""),
    isBlind: value["blind"] === true,
  };
}

function texts(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((each): each is string => typeof each === "string") : [];
}

const STORES = "superseded_stores.json";
const SCHEDULE = "schedule_state.json";

interface OldState {
  readonly stores: readonly OtherStore[];
  readonly schedule: ScheduleState | undefined;
}

/**
 * Hands over what earlier releases kept in small files beside `domain.json`, and moves these away. Until then they count, and the tables
 * do not; so it comes before the first change. Killed in between, it is put once more.
 */
export async function migrateDomainState(
  domainsFolder: string,
  id: DomainId,
  put: (state: OldState) => Promise<void>,
): Promise<void> {
  const folder = join(domainsFolder, id);
  const names = [STORES, SCHEDULE];
  const isThere = (name: string): Promise<boolean> => pathExists(join(folder, name));
  if (!(await Promise.all(names.map(isThere))).includes(true)) return;
  const own = join(folder, ".lockstep");
  await mkdir(join(own, PUT_ASIDE), { recursive: true });
  await withFileLock(join(own, PUT_ASIDE, "lock"), async () => {
    const stores = (await readOldStores(domainsFolder, id)) ?? [];
    await put({ stores, schedule: (await readOldSchedule(domainsFolder, id))?.state });
    for (const name of names) if (await isThere(name)) await putAside([join(folder, name)], own);
  });
}

/** Folders in which earlier releases kept leases of the source and of its domain. */
export async function removeOldLeases(sourceFolder: string, domainsFolder: string, id: DomainId): Promise<void> {
  const own = join(sourceFolder, ".lockstep");
  const old = (await namesIn(own)).filter((name) => name.startsWith("lease-")).map((name) => join(own, name));
  const locks = join(domainsFolder, ".lockstep");
  for (const path of [...old, join(locks, `swap-${id}`), join(locks, "store-locks", id)]) {
    await rm(path, { recursive: true, force: true });
  }
}

/** undefined: there is no such file (any more). */
export async function readOldStores(domainsFolder: string, id: DomainId): Promise<OtherStore[] | undefined> {
  const stores = (await readJson(domainsFolder, id, STORES))?.["stores"];
  return (Array.isArray(stores) ? stores : undefined)?.filter(isJsonObject).map((store) => ({
    vectorStoreId: String(store["vector_store_id"]) as VectorStoreId,
    state: store["state"] === "building" ? "building" : "superseded",
    since: String(store["since_utc"]),
  }));
}

/** Likewise. What cannot be read says that nothing is owed. */
export async function readOldSchedule(
  domainsFolder: string,
  id: DomainId,
): Promise<{ readonly state: ScheduleState | undefined } | undefined> {
  const json = await readJson(domainsFolder, id, SCHEDULE);
  if (!json) return undefined;
  const checkedAt = new Date(String(json["looked_utc"]));
  if (Number.isNaN(checkedAt.getTime())) return { state: undefined };
  const jobId = json["job_id"];
  const started = typeof jobId === "string" ? { jobId: jobId as JobId, times: Number(json["times"]) || 1 } : undefined;
  return { state: { schedule: String(json["schedule"]), checkedAt, ...(started && { started }) } };
}

/** undefined: there is no such file; an empty object for one that is no JSON. */
async function readJson(domainsFolder: string, id: DomainId, name: string): Promise<JsonObject | undefined> {
  const bytes = await readFileIfExists(join(domainsFolder, id, name));
  return bytes && (parseJsonObject(bytes.toString("utf8")) ?? {});
}

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

/** Reads the journals of a domain, or of all. */
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
