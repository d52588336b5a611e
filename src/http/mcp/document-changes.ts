import type { App } from "../../app/app.ts";
import { NotFoundError } from "../../contracts/errors.ts";
import { parseDocumentId } from "./document-id.ts";

/** Receives changes. */
export interface ChangeListener {
  /** Documents came, went or changed, in any domain. */
  listChanged(): void;
  /** Readers see another version of this document, or none any more. */
  updated(uri: string): void;
}

/** Detects changes of what readers see, made by any process. Polls every two seconds while there are listeners. */
export interface DocumentChanges {
  /** Resolves as soon as later changes will be reported. `updated` is called for these documents only; more may be added to the set later. */
  listen(uris: ReadonlySet<string>): Promise<{ stop(): void }>;
  /** To be called after documents were added to a set: resolves as soon as their later changes will be reported. */
  catchUp(): Promise<void>;
}

const POLL_INTERVAL_MS = 2000;

export function createDocumentChanges(
  app: Pick<App, "domains" | "searchableDocuments">,
  listener: ChangeListener,
  {
    logError,
    everyMs = POLL_INTERVAL_MS,
  }: { readonly logError: (about: string, error: unknown) => void; readonly everyMs?: number | undefined },
): DocumentChanges {
  /** The watched documents of each listener. */
  const listening = new Map<symbol, ReadonlySet<string>>();
  /** By domain; undefined before the first poll. */
  let revisions: ReadonlyMap<string, string> | undefined;
  const versions = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  /** The polls so far. They run one after the other: two at once would report a change twice. */
  let polling: Promise<void> = Promise.resolve();

  async function readRevisions(): Promise<Map<string, string>> {
    const { domains } = await app.domains.list();
    const found = new Map<string, string>();
    for (const domain of domains) {
      // A domain that cannot be read now has not changed for readers.
      const before = revisions?.get(domain.domainId) ?? "";
      const revision = await app.searchableDocuments.revision(domain).catch((error: unknown) => {
        logError(`look for changes of domain '${domain.domainId}'`, error);
        return before;
      });
      found.set(domain.domainId, revision);
    }
    return found;
  }

  async function poll(): Promise<void> {
    const now = await readRevisions();
    const before = revisions;
    const changed = new Set([...now.keys(), ...(before?.keys() ?? [])].filter((id) => now.get(id) !== before?.get(id)));
    const read = await readVersions(changed);
    const updated = [...read].flatMap(([uri, version]) => {
      const known = versions.get(uri);
      return known !== undefined && known !== version ? [uri] : [];
    });
    // Stored last: if a read above fails, the next poll detects the change again.
    for (const [uri, version] of read) versions.set(uri, version);
    revisions = now;
    if (before === undefined) return;
    if (changed.size > 0) listener.listChanged();
    for (const uri of updated) listener.updated(uri);
  }

  /** Reads which versions readers see of the documents in `changed` domains, and of those that are new here. */
  async function readVersions(changed: ReadonlySet<string>): Promise<Map<string, string>> {
    const wanted = new Set([...listening.values()].flatMap((uris) => [...uris]));
    for (const uri of versions.keys()) if (!wanted.has(uri)) versions.delete(uri);
    const read = new Map<string, string>();
    for (const uri of wanted) {
      if (!versions.has(uri) || changed.has(domainOf(uri))) read.set(uri, await versionOf(uri));
    }
    return read;
  }

  async function versionOf(uri: string): Promise<string> {
    try {
      return (await app.searchableDocuments.versionOf(parseDocumentId(uri))) ?? "";
    } catch (error) {
      if (error instanceof NotFoundError) return "";
      throw error;
    }
  }

  function pollNext(): Promise<void> {
    polling = polling.then(poll).catch((error: unknown) => logError("look for changed documents", error));
    return polling;
  }

  /** Polls again and again, until `timer` is another one. */
  function keepPolling(): void {
    const mine = setTimeout(async () => {
      await pollNext();
      if (timer === mine) keepPolling();
    }, everyMs);
    mine.unref();
    timer = mine;
  }

  return {
    catchUp: pollNext,
    async listen(uris) {
      const who = Symbol("listener");
      listening.set(who, uris);
      if (timer === undefined) keepPolling();
      await pollNext();
      return {
        stop() {
          listening.delete(who);
          if (listening.size > 0) return;
          clearTimeout(timer);
          timer = undefined;
          revisions = undefined;
          versions.clear();
        },
      };
    },
  };
}

function domainOf(uri: string): string {
  try {
    return parseDocumentId(uri).domainId;
  } catch (error) {
    if (error instanceof NotFoundError) return "";
    throw error;
  }
}
