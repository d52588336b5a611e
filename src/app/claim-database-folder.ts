import { randomUUID } from "node:crypto";
import { globSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import { isErrno, readFileIfExists } from "../lib/atomic-file.ts";
import { parseJsonObject } from "../lib/json-object.ts";
import { PRIVATE_FOLDER } from "../mirror/layout.ts";
import type { Config } from "./config.ts";

/** Says which databases belong to a storage folder. The same record is in the storage folder and in the folder of the databases. */
interface Claim {
  readonly id: string;
  /** The machine that wrote the record; shown to people. */
  readonly host: string;
  readonly folder: string;
  readonly storage: string;
}

const NAME = "database.json";
const OWN_DATABASES = ["index/*.sqlite", "crawler/*/ledger.sqlite"];

/**
 * With DATABASE_FOLDER, the storage folder may be on a network disk that several machines see, while its SQLite files are on one of them. A
 * record in the storage says which. Throws BadInputError on every other machine: it would start with empty databases beside the real ones.
 */
export async function claimDatabaseFolder(
  { database, storagePath }: Pick<Config, "database" | "storagePath">,
  { readOnly = false }: { readonly readOnly?: boolean } = {},
): Promise<void> {
  if (database.kind !== "sqlite") return;
  const { folder } = database;
  const claimed = await readClaim(storagePath);
  if (folder === storagePath) {
    if (claimed) throw new BadInputError(`${sayWhere(claimed)} Set DATABASE_FOLDER, ${WAYS_OUT}`);
    return;
  }
  const held = await readClaim(folder);
  if (claimed) {
    if (claimed.id === held?.id) return;
    const isEmptied = !held && claimed.folder === folder && claimed.host === hostname();
    const where = isEmptied
      ? `The databases of this storage folder are not in '${folder}' any more. Mount or restore it,`
      : `${sayWhere(claimed)} They are not in '${folder}' on ${hostname()}. Work there,`;
    throw new BadInputError(`${where} ${WAYS_OUT}`);
  }
  if (held && held.storage !== storagePath) {
    const whose = `DATABASE_FOLDER: '${folder}' has the databases of the storage folder '${held.storage}'.`;
    throw new BadInputError(`${whose} Name another folder for those of '${storagePath}'.`);
  }
  const own = OWN_DATABASES.flatMap((pattern) => globSync(pattern, { cwd: storagePath })).sort();
  if (own.length > 0) throw new BadInputError(sayOwn(own, { storagePath, folder }));
  if (readOnly) return;
  const claim = held ?? { id: randomUUID(), host: hostname(), folder, storage: storagePath };
  // The storage is written last: after a crash in between, the next start continues with the record in the folder.
  for (const root of [folder, storagePath]) await writeClaim(root, claim);
  // If two processes start at once, the one whose record is in the storage continues; the other throws here.
  await claimDatabaseFolder({ database, storagePath });
}

const WAYS_OUT =
  "or let all machines use PostgreSQL (DATABASE_URL). If the databases are lost, delete .lockstep/database.json in the storage folder: the next crawl builds the ledgers again. Vector stores were there, too, unless a service has them: clear vector_store_id of the domains, and it fills new ones.";

function sayWhere({ host, folder }: Claim): string {
  return `The databases of this storage folder are in '${folder}' on the machine ${host}.`;
}

function sayOwn(own: readonly string[], { storagePath, folder }: { storagePath: string; folder: string }): string {
  const [first, ...others] = own;
  const more = others.length > 0 ? ` and ${others.length} more` : "";
  return `DATABASE_FOLDER: this storage folder has databases of its own (${first}${more}). Stop lockstep, move all ${OWN_DATABASES.join(" and ")} with their -wal and -shm from '${storagePath}' to the same places below '${folder}', and start it again.`;
}

async function readClaim(root: string): Promise<Claim | undefined> {
  const bytes = await readFileIfExists(join(root, PRIVATE_FOLDER, NAME));
  if (!bytes) return undefined;
  const { id, host, folder, storage } = parseJsonObject(bytes.toString("utf8")) ?? {};
  if (typeof id !== "string") {
    throw new BadInputError(`'${join(root, PRIVATE_FOLDER, NAME)}' cannot be read. Restore it, or delete it.`);
  }
  return { id, host: String(host), folder: String(folder), storage: String(storage) };
}

/** Keeps an existing record. */
async function writeClaim(root: string, claim: Claim): Promise<void> {
  await mkdir(join(root, PRIVATE_FOLDER), { recursive: true });
  try {
    await writeFile(join(root, PRIVATE_FOLDER, NAME), `${JSON.stringify(claim, null, 2)}\n`, {
      flag: "wx",
      flush: true,
    });
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
  }
}
