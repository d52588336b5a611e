import type { ErasureStore } from "../../contracts/erasure.ts";
import { ConflictError, explain, NotFoundError, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Member, Members } from "../../contracts/members.ts";
import type { TaskQueue } from "../../contracts/queue.ts";
import type { IngestItem, Registry } from "../../contracts/registry.ts";
import type { FileVisitor, ItemFetcher, WebDocuments, WebImages } from "../../contracts/web.ts";
import type { DomainStore } from "../../domains/domain-store.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { sha256Of } from "../../lib/hash.ts";
import { plural } from "../../lib/text.ts";
import { toUtcMicros } from "../../lib/time.ts";
import type { IdentityRules } from "../../plan/web/item-identity.ts";
import { identifyFile } from "../../plan/web/item-identity.ts";
import type { CheckPolicy } from "../../plan/web/item-state.ts";
import { isInStep } from "../../plan/web/item-state.ts";
import { LOCK_MS, withIndexStatus } from "../../plan/web/item-transitions.ts";
import { type AddParts, addItem, addUrl, reindexItem, requestVisit } from "./add-item.ts";
import {
  type AddFileRequest,
  type Behind,
  type Ingest,
  REGISTERED_SOURCE,
  type RebuildRequest,
  type Registered,
} from "./ingest.ts";
import { asQueued, HostSemaphore, ITEM_TASK, isQueued, mayStillWait, sendItem, workOne } from "./item-queue.ts";
import { findIdentity, type ItemRecords, syncMembers } from "./item-records.ts";
import { purgeGone, purgeStray, removeItem } from "./remove-items.ts";
import { asShown, listShown, type ShownParts, summarizeShown } from "./shown-items.ts";

interface IngestParts {
  readonly registry: Registry;
  readonly members: Members;
  readonly queue: TaskQueue;
  readonly itemFetcher: ItemFetcher;
  readonly files: Pick<FileVisitor, "check">;
  readonly documents: WebDocuments;
  readonly images: WebImages;
  readonly domains: DomainStore;
  /** Erased addresses are not registered again. */
  readonly erasures: Pick<ErasureStore, "read">;
  readonly backend: ShownParts["backend"];
  readonly crawlerFolder: string;
  readonly rules: IdentityRules;
  readonly policy: CheckPolicy;
  readonly defaultDomain: DomainId;
  /** How long the record of a gone item is kept. */
  readonly keepGoneDays: number;
  /** How many items of one host this process fetches at a time; no limit when left out. */
  readonly visitsPerHost?: number;
  /** A worker that does not renew its claim for this long loses it. */
  readonly lockMs?: number;
  readonly now?: () => Date;
}

export type OpenIngestParts = IngestParts & Required<Pick<IngestParts, "lockMs" | "now">>;

const HOUR_MS = 3600_000;

export function createIngest(given: IngestParts): Ingest {
  const parts: OpenIngestParts = { lockMs: LOCK_MS, now: () => new Date(), ...given };
  const { registry, members, images, now } = parts;
  const among = async (domainId: DomainId | undefined): Promise<ReadonlySet<ItemId> | undefined> =>
    domainId && (await members.idsIn(domainId));
  const wet = { dryRun: false };
  const hosts = new HostSemaphore(parts.visitsPerHost ?? Number.POSITIVE_INFINITY);
  const complete = new Map<DomainId, string>();
  const isTimeFor = { purgeGone: everyMs(HOUR_MS), purgeStray: everyMs(24 * HOUR_MS) };
  return {
    add: (request, options = wet) => addUrl(request, parts, options),
    addFile: (request, options = wet) => addFile(request, parts, options),
    reindex: (wanted, options = wet) => reindexItem(wanted, parts, options),
    rebuild: (request, job) => rebuildItems(request, parts, job),
    remove: (id, domainId, options = wet) => removeItem(id, domainId, parts, options),
    idOf: async (source, domainId = parts.defaultDomain) => (await findIdentity(source, { ...parts, domainId })).id,
    items: async ({ host, domainId, ...query }) =>
      listShown({ ...query, ...(host !== undefined && { host: hostOf(host) }), among: await among(domainId) }, parts),
    async item(id) {
      const found = await registry.get(id);
      const [shown] = found ? await asShown([found.item], parts) : [];
      if (!shown) throw new NotFoundError(`Item '${id}' is not registered.`);
      return { ...shown, images: await images.of(id) };
    },
    images,
    async summary(domainId) {
      const summary = await summarizeShown(toUtcMicros(now()), await among(domainId), parts);
      const heldBack = summary.heldBack.filter((one) => domainId === undefined || one.domainId === domainId);
      return { ...summary, heldBack };
    },
    async sweep(signal) {
      const queued = await sweepItems(parts, signal);
      const failures: string[] = [];
      const warn = (sentence: string): void => void failures.push(sentence);
      if (isTimeFor.purgeGone(now())) await purgeGone(parts, signal, warn);
      if (isTimeFor.purgeStray(now())) {
        await purgeStray(parts, signal, warn);
        await parts.documents.removeOld(now()).catch((error: unknown) => {
          warn(`Old documents and snapshots could not all be deleted: ${explain(error)}`);
        });
      }
      if (failures.length > 0) throw new RemoteError(failures.join(" "));
      return queued;
    },
    workOne: (worker, signal) => workOne(worker, { ...parts, hosts }, signal),
    behind: () => findBehind({ ...parts, complete }),
  };
}

/** Returns the host as items store it: in ASCII, without the default port. */
function hostOf(text: string): string {
  return URL.parse(`http://${text.trim()}`)?.host ?? text;
}

/** Returns a function that is true the first time, and then once per `ms`. */
function everyMs(ms: number): (now: Date) => boolean {
  let lastMs: number | undefined;
  return (now) => {
    if (lastMs !== undefined && now.getTime() - lastMs < ms) return false;
    lastMs = now.getTime();
    return true;
  };
}

const SIGNATURE_DROPPED =
  "What follows the question mark in its address was dropped: a signature is neither kept nor used. The blob is read with INGEST_BLOB_CREDENTIAL, with the managed identity of the machine, or as anybody reads it.";

/** Registers a file without reading it; it must lie where files may be read. */
async function addFile(
  { source, domainId, force }: AddFileRequest,
  parts: AddParts & Pick<OpenIngestParts, "files">,
  options: { readonly dryRun: boolean },
): Promise<Registered> {
  const identity = identifyFile(source);
  await parts.files.check(identity.foundSource);
  const request = { domainId, force, title: "", includeImages: false };
  const isSigned = /^\s*https?:/i.test(source) && source.includes("?");
  return { ...(await addItem(identity, request, parts, options)), note: isSigned ? SIGNATURE_DROPPED : "" };
}

/** Repeatable: after an interruption most items are queued already. */
async function rebuildItems(
  request: RebuildRequest,
  parts: OpenIngestParts,
  job: JobContext,
): Promise<{ readonly domainId: DomainId; readonly queued: number }> {
  const domainId = request.domainId ?? parts.defaultDomain;
  const { sources } = await parts.domains.get(domainId);
  let queued = 0;
  for await (const page of parts.members.in(domainId, REGISTERED_SOURCE)) {
    for (const { itemId, wanted } of page) {
      if (wanted !== "asked") continue;
      await job.checkpoint();
      if (!job.dryRun && !(await requestVisit(itemId, parts, request))) continue;
      queued += 1;
    }
    job.log(`${job.dryRun ? "Would queue" : "Queued"} ${plural(queued, "address", "addresses")} so far.`);
  }
  for (const source of sources) {
    const { kind } = source;
    if (!kind.abilities.registersAddresses || kind.holdsRegistered?.(source)) continue;
    job.log(`Source '${source.sourceId}' is a web site: its pages are fetched when it is crawled (scope web).`);
  }
  return { domainId, queued };
}

/** Queues every due item that has no live message. Returns how many. */
async function sweepItems(
  { registry, queue, now }: Pick<OpenIngestParts, "registry" | "queue" | "now">,
  signal: AbortSignal,
): Promise<number> {
  let queued = 0;
  const waitingSince = await queue.waitingSince(ITEM_TASK);
  for await (const page of registry.due(toUtcMicros(now()))) {
    for (const { item, version } of page) {
      if (signal.aborted) return queued;
      if (isQueued(item, now()) || mayStillWait(item, waitingSince)) continue;
      try {
        await registry.put(asQueued(item, now()), version);
      } catch (error) {
        // Another process changed it.
        if (error instanceof ConflictError) continue;
        throw error;
      }
      await sendItem(item, { queue, registry });
      queued += 1;
    }
  }
  return queued;
}

const WRITES_AT_ONCE = 8;

interface BehindParts extends ItemRecords, Pick<IngestParts, "backend"> {
  readonly domains: Pick<DomainStore, "get" | "list">;
  /** The state of each domain's index that had all documents of its registered addresses. */
  readonly complete: Map<DomainId, string>;
}

/** Returns the sources to crawl. Web sites are crawled by schedule or request; only a requested page makes one due. */
async function findBehind(parts: BehindParts): Promise<readonly Behind[]> {
  const { registry } = parts;
  const counts = new Map<string, Behind>();
  const counted = new Set<string>();
  const count = ({ domainId, sourceId, itemId }: Member): void => {
    const key = JSON.stringify([domainId, sourceId]);
    if (counted.has(`${key} ${itemId}`)) return;
    counted.add(`${key} ${itemId}`);
    const { items, which } = counts.get(key) ?? { items: 0, which: "0" };
    counts.set(key, { domainId, sourceId, items: items + 1, which: withItem(which, itemId) });
  };
  for await (const page of registry.entries({ statuses: ["Crawled"] })) {
    const known = await parts.members.ofMany(page.map(({ item }) => item.id));
    await forEachConcurrent(page, WRITES_AT_ONCE, async ({ item }) => {
      const members = known.get(item.id) ?? [];
      if (withIndexStatus(item, members) === item) members.filter((one) => lacks(one, item)).forEach(count);
      // It was indexed while it was being fetched.
      else await syncMembers(item.id, item.id, parts);
    });
  }
  for await (const page of registry.entries({ statuses: ["Gone", "OutOfScope"], watched: true })) {
    const known = await parts.members.ofMany(page.map(({ item }) => item.id));
    [...known.values()].flat().filter(hasTooMuch).forEach(count);
  }
  for await (const member of findLost(parts)) count(member);
  const behind: Behind[] = [];
  for (const one of counts.values()) if (await exists(one, parts.domains)) behind.push(one);
  return behind;
}

/**
 * Finds registered addresses that the ledger calls indexed, and whose document the newest generation does not have: removed over the
 * wire, or lost with a store that was restored from a backup. Reads the documents only when the index has changed.
 */
async function* findLost({ domains, members, backend, complete }: BehindParts): AsyncGenerator<Member> {
  if (backend.commits === "gradual") return;
  for (const { domainId, vectorStoreId, sources } of (await domains.list()).domains) {
    if (!vectorStoreId || !sources.some(({ sourceId }) => sourceId === REGISTERED_SOURCE)) continue;
    const index = await backend.openIndex(vectorStoreId, domainId).catch(() => undefined);
    const { generations } = index ?? {};
    if (!index || !generations) continue;
    const { newest, shown } = await generations.state();
    // The count is of what is shown; it tells of documents that left without a generation.
    const { bySource } = await index.count();
    const state = `${vectorStoreId} ${newest} ${shown} ${bySource?.get(REGISTERED_SOURCE) ?? 0}`;
    if (complete.get(domainId) === state) continue;
    const held = new Map<ItemId, string>();
    for await (const refs of index.holdings(REGISTERED_SOURCE))
      for (const ref of refs) held.set(ref.itemId, ref.fileId);
    let isComplete = true;
    for await (const page of members.in(domainId, REGISTERED_SOURCE)) {
      for (const member of page) {
        const { itemId, lastIndexedDocId } = member;
        if (lastIndexedDocId === "" || held.get(itemId) === lastIndexedDocId) continue;
        isComplete = false;
        yield member;
      }
    }
    if (isComplete) complete.set(domainId, state);
  }
}

function lacks(member: Member, item: IngestItem): boolean {
  if (member.sourceId === REGISTERED_SOURCE) return !isInStep(member, item);
  return member.indexedGeneration < Math.min(item.requestedGeneration, item.processedGeneration);
}

/** XOR of hashes: the order of the items does not matter. */
function withItem(which: string, id: ItemId): string {
  return (BigInt(which) ^ BigInt(`0x${sha256Of(id)}`)).toString();
}

function hasTooMuch({ sourceId, lastIndexedDocId, wanted }: Member): boolean {
  return sourceId === REGISTERED_SOURCE && (lastIndexedDocId !== "" || wanted === "no");
}

async function exists(
  { domainId, sourceId }: { readonly domainId: DomainId; readonly sourceId: string },
  domains: Pick<DomainStore, "get">,
): Promise<boolean> {
  try {
    return (await domains.get(domainId)).sources.some((source) => source.sourceId === sourceId);
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}
