import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import type { Finding } from "../contracts/finding.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import { isErrno, readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { parseJsonObject } from "../lib/json-object.ts";
import type { Access } from "../security/access.ts";
import { isFolderSource } from "../sources/folder/folder-kind.ts";
import { type AllowedRoots, isWithin } from "../sources/folder/folder-root.ts";
import { UPLOADS } from "../sources/folder/folder-source-codec.ts";

/** Folders of this machine that sources may lie in. Without keys and FOLDER_ROOTS anywhere is allowed: the caller then runs the server. */
export interface FolderRoots {
  /** For sources that are new or being edited. */
  readonly forChanges: AllowedRoots;
  /** For existing sources: also the folders they had before keys restricted them. */
  readonly forSources: AllowedRoots;
  /** Reports the sources that are only read because they existed before the restriction. */
  examine(): AsyncIterable<Finding>;
}

interface FolderRootsOptions {
  /** `security/`. */
  readonly folder: string;
  /** FOLDER_ROOTS. */
  readonly roots: readonly string[];
  readonly domains: Pick<DomainStore, "list">;
  readonly access: Pick<Access, "hasWayIn">;
  /** Reads only, as the doctor does: writes nothing. */
  readonly readOnly: boolean;
}

/** On its first start with a storage, records the folders of the existing sources: they stay allowed. */
export async function openFolderRoots(options: FolderRootsOptions): Promise<FolderRoots> {
  const { roots, domains, access } = options;
  const earlier = await readEarlier(options);
  const isOpen = async (): Promise<boolean> => roots.length === 0 && !(await access.hasWayIn());
  return {
    forChanges: async () => ((await isOpen()) ? "anywhere" : roots),
    forSources: async () => ((await isOpen()) ? "anywhere" : [...roots, ...earlier]),
    async *examine() {
      if (earlier.length === 0 || (await isOpen())) return;
      for (const { domainId, sourceId, root } of await foldersIn(domains)) {
        const isAllowed = roots.some((folder) => isWithin(root, folder));
        if (!isAllowed && earlier.includes(root)) yield keptOpen(`${domainId} › ${sourceId}`, root);
      }
    },
  };
}

function keptOpen(source: string, root: string): Finding {
  return {
    subject: `Folder of ${source}`,
    outcome: "ok",
    detail: `'${root}' is read although FOLDER_ROOTS does not name it: the source was there before keys asked for that.`,
    remedy: `Add '${root}', or a folder above it, to FOLDER_ROOTS; until then the source cannot be changed.`,
  };
}

interface FolderOf {
  readonly domainId: string;
  readonly sourceId: string;
  readonly root: string;
}

async function foldersIn(domains: Pick<DomainStore, "list">): Promise<readonly FolderOf[]> {
  return (await domains.list()).domains.flatMap(({ domainId, sources }) =>
    sources
      .filter(isFolderSource)
      .filter(({ root }) => root !== UPLOADS)
      .map(({ sourceId, root }) => ({ domainId, sourceId, root })),
  );
}

/**
 * Reads `security/earlier-roots.json`; see docs/formats/keys.md. A damaged file allows nothing. The file is written only if all domains
 * could be read: a domain that is repaired later had its folders before, too. Folders that FOLDER_ROOTS excluded already are not added.
 */
async function readEarlier({ folder, roots, domains, readOnly }: FolderRootsOptions): Promise<readonly string[]> {
  const path = join(folder, "earlier-roots.json");
  const bytes = await readFileIfExists(path).catch((error: unknown) => {
    if (!isErrno(error, "EACCES")) throw error;
    throw new BadInputError(
      `'${path}' cannot be read: it belongs to another account, probably one that ran a command on this storage. Give it to the account that runs the server (chown).`,
    );
  });
  if (bytes === undefined) {
    const found = roots.length > 0 ? [] : [...new Set((await foldersIn(domains)).map(({ root }) => root))];
    if (readOnly || (await domains.list()).broken.length > 0) return found;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFileAtomic(path, `${JSON.stringify({ version: 1, roots: found }, null, 2)}\n`, { mode: 0o600 });
    return found;
  }
  const listed = parseJsonObject(bytes.toString("utf8"))?.["roots"];
  return Array.isArray(listed) ? listed.filter((root) => typeof root === "string") : [];
}
