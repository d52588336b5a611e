import type { App } from "../../app/app.ts";
import { NotFoundError } from "../../contracts/errors.ts";
import { parseDocumentId } from "./document-id.ts";

/** What is told of changes. */
export interface ChangeListener {
  /** Documents came, went or changed, in any domain. */
  listChanged(): void;
  /** Readers see another version of this document, or none any more. */
  updated(uri: string): void;
}

/** Detects changes of what readers see, of any process: checks every other second while there are listeners. */
export interface DocumentChanges {
  /** Resolves when later changes will be told; those of single documents only of these, of which there may be more later. */
  listen(uris: ReadonlySet<string>): Promise<{ stop(): void }>;
  /** After more were added: resolves when their later changes will be told. */
  catchUp(): Promise<void>;
}

const LOOK_EVERY_MS = 2000;

export function createDocumentChanges(
  app: Pick<App, "domains" | "searchableDocuments">,
  listener: ChangeListener,
  {
    logError,
    everyMs = LOOK_EVERY_MS,
  }: { readonly logError: (about: string, error: unknown) => void; readonly everyMs?: number | undefined },
): DocumentChanges {
  /** One for each who listens. */
  const listening = new Map<symbol, ReadonlySet<string>>();
  /** By domain; undefined before the first look. */
  let revisions: ReadonlyMap<string, string> | undefined;
  const versions = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  /** Looks follow one another: two at once would tell the same twice. */
  let looking: Promise<void> = Promise.resolve();

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

  async function look(): Promise<void> {
    const now = await readRevisions();
    const before = revisions;
    const changed = new Set([...now.keys(), ...(before?.keys() ?? [])].filter((id) => now.get(id) !== before?.get(id)));
    const read = await readVersions(changed);
    const updated = [...read].flatMap(([uri, version]) => {
      const known = versions.get(uri);
      return known !== undefined && known !== version ? [uri] : [];
    });
    // Only now: what failed until here is looked at again, and nothing is lost.
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

  function lookSoon(): Promise<void> {
    looking = looking.then(look).catch((error: unknown) => logError("look for changed documents", error));
    return looking;
  }

  function lookAgain(): void {
    timer = setTimeout(() => void lookSoon().then(() => timer && lookAgain()), everyMs);
    timer.unref();
  }

  return {
    catchUp: lookSoon,
    async listen(uris) {
      const who = Symbol("listener");
      listening.set(who, uris);
      if (timer === undefined) lookAgain();
      await lookSoon();
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
