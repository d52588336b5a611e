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
  refuseReservedId,
  type StoredDomains,
  withDomainLock,
  writeDomainJson,
} from "./domain-files.ts";
import { refuseWhileRenamed } from "./domain-rename.ts";
import { type DomainFolders, finishRemoval, moveToTrash, refuseLeftovers, unfinishedRemovals } from "./domain-trash.ts";

/** The domains: `domains/<id>/domain.json`. */
export interface DomainStore {
  /** The kinds of sources that domains may have. */
  readonly kinds: SourceKinds;
  /** Sorted by id. A domain.json that cannot be read is listed in `broken` with the reason, never silently left out. */
  list(): Promise<DomainListing>;
  /** NotFoundError if there is none, UnreadableError if its file cannot be read. */
  get(id: DomainId): Promise<Domain>;
  /**
   * BadInputError if it exists, its vector store belongs to another domain, or its mirror folder exists; ConflictError
   * while its id is part of a rename.
   */
  create(domain: Domain): Promise<Domain>;
  /**
   * Writes only the differences from `before`, the domain that the change is based on: editing the description does not
   * undo a vector store id that a crawl set meanwhile. BadInputError if the new vector store belongs to another domain.
   */
  update(domain: Domain, before: Domain): Promise<Domain>;
  /**
   * Returns the domain's vector store; creates it with `create` if there is none. Of several callers, in any process,
   * one creates it and the others get the same id.
   */
  ensureVectorStore(
    id: DomainId,
    create: () => Promise<VectorStoreId>,
  ): Promise<{ readonly id: VectorStoreId; readonly created: boolean }>;
  /**
   * Deletes the domain's folders (`domains/<id>`, `crawler/<id>`), not its vector store. ConflictError while it is
   * being renamed. `lastCheck` may still refuse by throwing: it runs under the lock, so it sees every job that read the
   * domain before.
   */
  remove(id: DomainId, lastCheck?: () => Promise<void>): Promise<Domain>;
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
    remove: (id, lastCheck) =>
      locked(id, async () => {
        const domain = await readStoredDomain(folders, id);
        await refuseWhileRenamed(domainsFolder, id);
        await lastCheck?.();
        await moveToTrash(folders, id);
        await finishRemoval(folders, id);
        return domain;
      }),
  };
}

async function createDomain(folders: StoreParts, domain: Domain): Promise<Domain> {
  const { domainsFolder } = folders;
  const id = domain.domainId;
  refuseReservedId(id);
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
  // Read again: creating may take long, and users edit the file by hand.
  const json = await readDomainJson(domainsFolder, id);
  const meanwhile = parseDomain(json, id, kinds).vectorStoreId;
  if (meanwhile) return { id: meanwhile, created: false };
  await writeDomainJson(stored, id, { ...json, vector_store_id: store });
  return { id: store, created: true };
}

/**
 * `earlier` is the file's content. A store id that does not change is accepted, so that a domain in conflict can still
 * be edited.
 */
async function writeUnshared(stored: StoredDomains, domain: Domain, earlier: JsonObject | undefined): Promise<Domain> {
  const { domainId, vectorStoreId } = domain;
  const json = mergeDomain(domain, earlier, stored.kinds);
  if (vectorStoreId === "" || vectorStoreId === earlier?.["vector_store_id"]) {
    return writeDomainJson(stored, domainId, json);
  }
  // A third lock: two domains that take the same store at once hold different locks.
  return withFileLock(join(stored.domainsFolder, ".lockstep", "vector-stores.lock"), async () => {
    refuseSharedStore(domain, (await listDomains(stored)).domains);
    return writeDomainJson(stored, domainId, json);
  });
}

/** A change to the sources of one kind keeps those of other kinds as they are on disk. */
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

/** Throws if another domain uses the store: each crawl would remove the other domain's documents. */
export function refuseSharedStore(domain: Domain, domains: readonly Domain[]): void {
  const { domainId, vectorStoreId } = domain;
  if (vectorStoreId === "") return;
  const other = domains.find((one) => one.vectorStoreId === vectorStoreId && one.domainId !== domainId);
  if (!other) return;
  throw new BadInputError(
    `The vector store '${vectorStoreId}' belongs to domain '${other.domainId}'. Give domain '${domainId}' another 'vector_store_id', or none to have one created.`,
  );
}
