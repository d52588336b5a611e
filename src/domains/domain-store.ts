import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Domain } from "../contracts/domain.ts";
import { BadInputError, explain, NotFoundError } from "../contracts/errors.ts";
import { type DomainId, parseDomainId, type VectorStoreId } from "../contracts/ids.ts";
import { isErrno, readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { mergeDomain, parseDomain } from "./domain-codec.ts";
import { type DomainFolders, finishRemoval, moveToTrash, unfinishedRemovals } from "./domain-trash.ts";
import { isJsonObject, type JsonObject, parseJsonBytes, toJsonText } from "./json-file.ts";

/** `domains/<id>/domain.json`, one folder a domain. */
export interface DomainStore {
  /** Sorted by id. A domain.json that cannot be read is listed in `broken` with the reason, never silently left out. */
  list(): Promise<{
    readonly domains: readonly Domain[];
    readonly broken: readonly { readonly domainId: string; readonly reason: string }[];
  }>;
  /** NotFoundError when there is none. */
  get(id: DomainId): Promise<Domain>;
  /** BadInputError when it exists. */
  create(domain: Domain): Promise<Domain>;
  /**
   * With `before`, the domain the change was made from, only what differs from it is written: a vector store id that a
   * crawl set meanwhile is not taken back by somebody who edited the description.
   */
  update(domain: Domain, before?: Domain): Promise<Domain>;
  /** Changes one field under the lock of the file: a crawl must not undo an edit made meanwhile. */
  setVectorStoreId(id: DomainId, vectorStoreId: VectorStoreId): Promise<void>;
  /** Removes the domain's folders (`domains/<id>`, `crawler/<id>`); the vector store stays. */
  remove(id: DomainId): Promise<Domain>;
}

export function createDomainStore(folders: DomainFolders): DomainStore {
  const { domainsFolder } = folders;
  const fileOf = (id: string): string => join(domainsFolder, id, "domain.json");
  // Beside the domains, not inside: the lock must outlive the folder it guards.
  const locked = <T>(id: DomainId, work: () => Promise<T>): Promise<T> =>
    withFileLock(join(domainsFolder, ".lockstep", "locks", id), work);

  async function write(id: DomainId, json: JsonObject): Promise<Domain> {
    const domain = parseDomain(json, id);
    await writeFileAtomic(fileOf(id), toJsonText(json));
    return domain;
  }
  return {
    async list() {
      for (const id of await unfinishedRemovals(folders)) await locked(id, () => finishRemoval(folders, id));
      return listDomains(domainsFolder);
    },
    get: async (id) => parseDomain(await readJson(fileOf(id), id), id),
    create: (domain) =>
      locked(domain.domainId, async () => {
        const id = domain.domainId;
        await finishRemoval(folders, id);
        const taken = (await domainNames(domainsFolder)).find((name) => name.toLowerCase() === id.toLowerCase());
        if (taken && (await readFileIfExists(fileOf(taken)))) {
          throw new BadInputError(`Domain '${taken}' already exists.`);
        }
        return write(id, mergeDomain(domain, undefined));
      }),
    update: (domain, before) =>
      locked(domain.domainId, async () => {
        const id = domain.domainId;
        const json = await readJson(fileOf(id), id);
        const wanted = before ? { ...parseDomain(json, id), ...differences(domain, before) } : domain;
        return write(id, mergeDomain(wanted, json));
      }),
    setVectorStoreId: (id, vectorStoreId) =>
      locked(id, async () => {
        const json = await readJson(fileOf(id), id);
        if (json["vector_store_id"] === vectorStoreId) return;
        await write(id, { ...json, vector_store_id: vectorStoreId });
      }),
    remove: (id) =>
      locked(id, async () => {
        const domain = parseDomain(await readJson(fileOf(id), id), id);
        await moveToTrash(folders, id);
        await finishRemoval(folders, id);
        return domain;
      }),
  };
}

function differences(domain: Domain, before: Domain): Partial<Domain> {
  const earlier = new Map<string, unknown>(Object.entries(before));
  return Object.fromEntries(
    Object.entries(domain).filter(([key, value]) => !isDeepStrictEqual(value, earlier.get(key))),
  );
}

async function listDomains(domainsFolder: string): Promise<Awaited<ReturnType<DomainStore["list"]>>> {
  const domains: Domain[] = [];
  const broken: { domainId: string; reason: string }[] = [];
  for (const name of (await domainNames(domainsFolder)).sort()) {
    try {
      const id = parseDomainId(name);
      domains.push(parseDomain(await readJson(join(domainsFolder, name, "domain.json"), id), id));
    } catch (error) {
      // A folder without a domain.json is none of ours.
      if (!(error instanceof NotFoundError)) broken.push({ domainId: name, reason: explain(error) });
    }
  }
  return { domains, broken };
}

async function domainNames(domainsFolder: string): Promise<string[]> {
  try {
    const entries = await readdir(domainsFolder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map((entry) => entry.name);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

async function readJson(path: string, id: string): Promise<JsonObject> {
  const bytes = await readFileIfExists(path);
  if (!bytes) throw new NotFoundError(`Domain '${id}' does not exist.`);
  try {
    const json = parseJsonBytes(bytes);
    if (isJsonObject(json)) return json;
  } catch (error) {
    throw new BadInputError(`Cannot read domain '${id}': domain.json is damaged`, { cause: error });
  }
  throw new BadInputError(`Cannot read domain '${id}': domain.json must hold a JSON object.`);
}
