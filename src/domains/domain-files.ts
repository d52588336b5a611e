import { join } from "node:path";
import type { Domain } from "../contracts/domain.ts";
import { ALL_DOMAINS } from "../contracts/domain-models.ts";
import { BadInputError, explain, NotFoundError, UnreadableError } from "../contracts/errors.ts";
import { type DomainId, parseDomainId } from "../contracts/ids.ts";
import type { SourceKinds } from "../contracts/source-kind.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { foldersIn } from "../lib/file-system.ts";
import { parseJsonBytes, toJsonText } from "../lib/json-file.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { parseDomain } from "./domain-codec.ts";

export interface DomainListing {
  readonly domains: readonly Domain[];
  readonly broken: readonly { readonly domainId: string; readonly reason: string }[];
}

/** The folder of the domains, and the kinds of sources they may have. */
export interface StoredDomains {
  readonly domainsFolder: string;
  readonly kinds: SourceKinds;
}

export function domainFile(domainsFolder: string, id: string): string {
  return join(domainsFolder, id, "domain.json");
}

/** Like readDomainJson, and parses it. */
export async function readStoredDomain({ domainsFolder, kinds }: StoredDomains, id: DomainId): Promise<Domain> {
  const json = await readDomainJson(domainsFolder, id);
  try {
    return parseDomain(json, id, kinds);
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    throw new UnreadableError(error.message, { cause: error.cause });
  }
}

const REMEDY = "Put the file right, or restore it from a backup; everything else of the domain is as it was.";

/** NotFoundError if there is none, UnreadableError if it cannot be read. */
export async function readDomainJson(domainsFolder: string, id: string): Promise<JsonObject> {
  const bytes = await readFileIfExists(domainFile(domainsFolder, id)).catch((error: NodeJS.ErrnoException) => {
    throw new UnreadableError(`Cannot read domain '${id}': domain.json cannot be opened (${error.code}).`);
  });
  if (!bytes) throw new NotFoundError(`Domain '${id}' does not exist.`);
  try {
    const json = parseJsonBytes(bytes);
    if (isJsonObject(json)) return json;
  } catch (error) {
    throw new UnreadableError(`Cannot read domain '${id}': domain.json is damaged: ${explain(error)}. ${REMEDY}`);
  }
  throw new UnreadableError(`Cannot read domain '${id}': domain.json must hold a JSON object. ${REMEDY}`);
}

/** Parses before writing, so that it can be read again. */
export async function writeDomainJson(
  { domainsFolder, kinds }: StoredDomains,
  id: DomainId,
  json: JsonObject,
): Promise<Domain> {
  const domain = parseDomain(json, id, kinds);
  await writeFileAtomic(domainFile(domainsFolder, id), toJsonText(json));
  return domain;
}

export async function listDomains({ domainsFolder, kinds }: StoredDomains): Promise<DomainListing> {
  const domains: Domain[] = [];
  const broken: { domainId: string; reason: string }[] = [];
  for (const name of (await domainNames(domainsFolder)).sort()) {
    try {
      const id = parseDomainId(name);
      domains.push(parseDomain(await readDomainJson(domainsFolder, id), id, kinds));
    } catch (error) {
      // A folder without a domain.json is not a domain.
      if (error instanceof NotFoundError) continue;
      // Callers name the domain themselves.
      broken.push({ domainId: name, reason: explain(error).replace(`Cannot read domain '${name}': `, "") });
    }
  }
  return { domains, broken };
}

export async function domainNames(domainsFolder: string): Promise<string[]> {
  return (await foldersIn(domainsFolder)).filter((name) => !name.startsWith("."));
}

/**
 * Every writer of `domains/<id>/` holds this lock. It is beside the domains, not inside: the lock must outlive the
 * folder it guards.
 */
export function withDomainLock<T>(domainsFolder: string, id: DomainId, work: () => Promise<T>): Promise<T> {
  return withFileLock(join(domainsFolder, ".lockstep", "locks", id), work);
}

/** The model `lockstep/all` searches every domain, so no new domain may be called so. Domains of earlier releases keep their id. */
export function refuseReservedId(id: DomainId): void {
  if (id.toLowerCase() !== ALL_DOMAINS) return;
  throw new BadInputError(`'${id}' means all domains, so a domain cannot be called so. Choose another 'domain_id'.`);
}
