import { explain, NotFoundError, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { Members } from "../../contracts/members.ts";
import type { TaskQueue } from "../../contracts/queue.ts";
import type { Registry } from "../../contracts/registry.ts";
import type { FileVisitor, ItemLooker, WebDocuments, WebImages } from "../../contracts/web.ts";
import { LOCK_MS } from "../../detect/web/lock-item.ts";
import type { CheckPolicy } from "../../detect/web/schedule-item.ts";
import type { IdentityRules } from "../../detect/web/web-identity.ts";
import type { DomainStore } from "../../domains/domain-store.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { addFile } from "./add-file.ts";
import { addUrl } from "./add-item.ts";
import { findBehind } from "./find-behind.ts";
import { findIdentity } from "./find-identity.ts";
import { HostSeats } from "./host-seats.ts";
import type { Ingest } from "./ingest.ts";
import { purgeGone, purgeStray } from "./purge-items.ts";
import { rebuildItems } from "./rebuild-items.ts";
import { removeItem } from "./remove-item.ts";
import { reindexItem } from "./request-look.ts";
import { sweepItems } from "./sweep-items.ts";
import { workOne } from "./work-one.ts";

export interface IngestParts {
  readonly registry: Registry;
  readonly members: Members;
  readonly queue: TaskQueue;
  readonly looker: ItemLooker;
  readonly files: Pick<FileVisitor, "check">;
  readonly documents: WebDocuments;
  readonly images: WebImages;
  readonly domains: DomainStore;
  readonly crawlerFolder: string;
  readonly rules: IdentityRules;
  readonly policy: CheckPolicy;
  readonly defaultDomain: DomainId;
  /** How long the record of a gone item is kept. */
  readonly keepGoneDays: number;
  /** How many items of one host are looked at in this process at a time; as many as there are workers when left out. */
  readonly looksPerHost?: number;
  /** A worker that gives no sign of life for so long has lost what it took from the queue. */
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
  const seats = new HostSeats(parts.looksPerHost ?? Number.POSITIVE_INFINITY);
  const isTimeFor = { goneOnes: everyMs(HOUR_MS), strayOnes: everyMs(24 * HOUR_MS) };
  return {
    add: (request, options = wet) => addUrl(request, parts, options),
    addFile: (request, options = wet) => addFile(request, parts, options),
    reindex: (wanted, options = wet) => reindexItem(wanted, parts, options),
    rebuild: (request, job) => rebuildItems(request, parts, job),
    remove: (id, domainId, options = wet) => removeItem(id, domainId, parts, options),
    idOf: async (source, domainId = parts.defaultDomain) => (await findIdentity(source, { ...parts, domainId })).id,
    items: async ({ host, domainId, ...query }) =>
      registry.list({ ...query, ...(host !== undefined && { host: hostOf(host) }), among: await among(domainId) }),
    async item(id) {
      const found = await registry.get(id);
      if (!found) throw new NotFoundError(`Item '${id}' is not registered.`);
      return { item: found.item, members: await members.of(id), images: await images.of(id) };
    },
    images,
    summary: async (domainId) => registry.summary(toUtcMicros(now()), await among(domainId)),
    async sweep(signal) {
      const queued = await sweepItems(parts, signal);
      const troubles: string[] = [];
      const warn = (sentence: string): void => void troubles.push(sentence);
      if (isTimeFor.goneOnes(now())) await purgeGone(parts, signal, warn);
      if (isTimeFor.strayOnes(now())) {
        await purgeStray(parts, signal, warn);
        await parts.documents.removeOld(now()).catch((error: unknown) => {
          warn(`Old documents and snapshots could not all be deleted: ${explain(error)}`);
        });
      }
      if (troubles.length > 0) throw new RemoteError(troubles.join(" "));
      return queued;
    },
    workOne: (worker, signal) => workOne(worker, { ...parts, seats }, signal),
    behind: () => findBehind(parts),
  };
}

/** As items know it: in ASCII, without the port that goes without saying. */
function hostOf(text: string): string {
  return URL.parse(`http://${text.trim()}`)?.host ?? text;
}

/** true the first time, and then whenever so much time has passed. */
function everyMs(ms: number): (now: Date) => boolean {
  let lastMs: number | undefined;
  return (now) => {
    if (lastMs !== undefined && now.getTime() - lastMs < ms) return false;
    lastMs = now.getTime();
    return true;
  };
}
