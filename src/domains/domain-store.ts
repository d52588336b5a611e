import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { DomainId, VectorStoreId } from "../contracts/ids.ts";
import type { SourceKinds } from "../contracts/source-kind.ts";
import { readFileIfExists } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import type { JsonObject } from "../lib/json-object.ts";
import { mergeDomain, parseDomain } from "./domain-codec.ts";
import {
  type DomainListing,
  domainFile,
  domainNames,
  listDomains,
  readDomainJson,
  readStoredDomain,
  type StoredDomains,
  withDomainLock,
  writeDomainJson,
} from "./domain-files.ts";
import { refuseWhileRenamed } from "./domain-rename.ts";
import { type DomainFolders, finishRemoval, moveToTrash, refuseLeftovers, unfinishedRemovals } from "./domain-trash.ts";

/** `domains/<id>/domain.json`, one folder a domain. */
export interface DomainStore {
  /** The kinds of sources that domains may have. */
  readonly kinds: SourceKinds;
  /** Sorted by id. A domain.json that cannot be read is listed in `broken` with the reason, never silently left out. */
  list(): Promise<DomainListing>;
  /** NotFoundError when there is none, UnreadableError when its file cannot be read. */
  get(id: DomainId): Promise<Domain>;
  /** BadInputError when it exists, when its vector store is another domain's, or when a mirror of nobody has its id; ConflictError while one is renamed from or to its id. */
  create(domain: Domain): Promise<Domain>;
  /**
   * Writes only what differs from `before`, the domain the change was made from: a vector store id that a crawl set
   * meanwhile is not taken back by somebody who edited the description. BadInputError when the new vector store is
   * another domain's.
   */
  update(domain: Domain, before: Domain): Promise<Domain>;
  /**
   * The domain's vector store; when it has none yet, the one that `create` makes. Of several callers, in whichever
   * process, one creates and the others get the same id.
   */
  ensureVectorStore(
    id: DomainId,
    create: () => Promise<VectorStoreId>,
  ): Promise<{ readonly id: VectorStoreId; readonly created: boolean }>;
  /**
   * Removes the domain's folders (`domains/<id>`, `crawler/<id>`); the vector store stays. ConflictError while it is renamed.
   * `lastLook` may still refuse, by throwing: whoever reads the domain under its lock is seen by it, or finds no domain.
   */
  remove(id: DomainId, lastLook?: () => Promise<void>): Promise<Domain>;
}

type StoreParts = DomainFolders & StoredDomains;

export function createDomainStore(folders: StoreParts): DomainStore {
  const { domainsFolder, kinds } = folders;
  const locked = <T>(id: DomainId, work: () => Promise<T>): Promise<T> => withDomainLock(domainsFolder, id, work);

  return {
    kinds,
    async list() {
      for (const id of await unfinishedRemovals(folders)) await locked(id, () => finishRemoval(folders, id));
      return listDomains(folders);
    },
    get: (id) => readStoredDomain(folders, id),
    create: (domain) => locked(domain.domainId, () => createDomain(folders, domain)),
    update: (domain, before) =>
      locked(domain.domainId, async () => {
        const json = await readDomainJson(domainsFolder, domain.domainId);
        const found = parseDomain(json, domain.domainId, kinds);
        const sources = mergeSources(kinds, domain.sources, before.sources, found.sources);
        return writeUnshared(folders, { ...found, ...differences(domain, before), sources }, json);
      }),
    ensureVectorStore: (id, create) => locked(id, () => ensureStore(folders, id, create)),
    remove: (id, lastLook) =>
      locked(id, async () => {
        const domain = await readStoredDomain(folders, id);
        await refuseWhileRenamed(domainsFolder, id);
        await lastLook?.();
        await moveToTrash(folders, id);
        await finishRemoval(folders, id);
        return domain;
      }),
  };
}

async function createDomain(folders: StoreParts, domain: Domain): Promise<Domain> {
  const { domainsFolder } = folders;
  const id = domain.domainId;
  await finishRemoval(folders, id);
  await refuseWhileRenamed(domainsFolder, id);
  const taken = (await domainNames(domainsFolder)).find((name) => name.toLowerCase() === id.toLowerCase());
  if (taken && (await readFileIfExists(domainFile(domainsFolder, taken)))) {
    throw new BadInputError(`Domain '${taken}' already exists.`);
  }
  await refuseLeftovers(folders, id);
  return writeUnshared(folders, domain, undefined);
}

async function ensureStore(
  stored: StoredDomains,
  id: DomainId,
  create: () => Promise<VectorStoreId>,
): Promise<{ readonly id: VectorStoreId; readonly created: boolean }> {
  const { domainsFolder, kinds } = stored;
  const existing = parseDomain(await readDomainJson(domainsFolder, id), id, kinds).vectorStoreId;
  if (existing) return { id: existing, created: false };
  const store = await create();
  // Creating may take long, and people edit the file by hand: what it says now is what the id is added to.
  const json = await readDomainJson(domainsFolder, id);
  const meanwhile = parseDomain(json, id, kinds).vectorStoreId;
  if (meanwhile) return { id: meanwhile, created: false };
  await writeDomainJson(stored, id, { ...json, vector_store_id: store });
  return { id: store, created: true };
}

/** `earlier` is what is on disk. A store that is not new is let pass, so that a domain in conflict can still be edited. */
async function writeUnshared(stored: StoredDomains, domain: Domain, earlier: JsonObject | undefined): Promise<Domain> {
  const { domainId, vectorStoreId } = domain;
  const json = mergeDomain(domain, earlier, stored.kinds);
  if (vectorStoreId === "" || vectorStoreId === earlier?.["vector_store_id"]) {
    return writeDomainJson(stored, domainId, json);
  }
  // Two domains that take the same store at the same moment hold two different locks, so a third lets only one look.
  return withFileLock(join(stored.domainsFolder, ".lockstep", "vector-stores.lock"), async () => {
    refuseSharedStore(domain, (await listDomains(stored)).domains);
    return writeDomainJson(stored, domainId, json);
  });
}

/** A change to the sources of one kind leaves those of the others as they are on disk. */
function mergeSources(
  kinds: SourceKinds,
  wanted: readonly SourceConfig[],
  before: readonly SourceConfig[],
  found: readonly SourceConfig[],
): SourceConfig[] {
  return kinds.types.flatMap((type) => {
    const [wish, was, is] = [wanted, before, found].map((all) => all.filter(({ sourceType }) => sourceType === type));
    return (isDeepStrictEqual(wish, was) ? is : wish) ?? [];
  });
}

function differences(domain: Domain, before: Domain): Partial<Domain> {
  const earlier = new Map<string, unknown>(Object.entries(before));
  return Object.fromEntries(
    Object.entries(domain).filter(([key, value]) => !isDeepStrictEqual(value, earlier.get(key))),
  );
}

/** Each crawl takes out of the store what its own domain no longer has, so two domains would empty each other's. */
export function refuseSharedStore(domain: Domain, domains: readonly Domain[]): void {
  const { domainId, vectorStoreId } = domain;
  if (vectorStoreId === "") return;
  const other = domains.find((one) => one.vectorStoreId === vectorStoreId && one.domainId !== domainId);
  if (!other) return;
  throw new BadInputError(
    `The vector store '${vectorStoreId}' belongs to domain '${other.domainId}'. Give domain '${domainId}' another 'vector_store_id', or none to have one created.`,
  );
}
