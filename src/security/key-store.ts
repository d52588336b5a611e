import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { fileStamp } from "../lib/file-stamp.ts";
import { nowUtcMicros } from "../lib/time.ts";
import type { KeyFacts, KeyStore } from "./access.ts";
import { formatKeys, type KeptKey, parseKeys } from "./key-file.ts";
import { hasHash, hashSecret } from "./secret-hash.ts";

const KEY = /^lk_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u;

/** The store with what only this room needs: to tell a key that is brought, and whether one still counts. */
export interface VerifyingKeyStore extends KeyStore {
  /** Was there ever a key here? An empty list counts: taking the last one away must not open the door. */
  exists(): Promise<boolean>;
  /** undefined: unknown, removed or expired. */
  verify(key: string): Promise<KeyFacts | undefined>;
  /** Likewise, by its id. */
  current(id: string): Promise<KeyFacts | undefined>;
}

export interface KeyStoreOptions {
  /** Somebody is an administrator without any key of the store. */
  readonly hasOtherAdmin?: boolean;
}

export function createKeyStore(folder: string, { hasOtherAdmin = false }: KeyStoreOptions = {}): VerifyingKeyStore {
  const path = join(folder, "keys.json");
  let seen: { readonly stamp: string; readonly keys: readonly KeptKey[] } | undefined;

  /** Read again only when the file was replaced, so that a key removed by another process stops working at once. */
  async function read(): Promise<readonly KeptKey[]> {
    const stamp = await fileStamp(path);
    if (seen?.stamp !== stamp) seen = { stamp, keys: await readKeys(path) };
    return seen.keys;
  }

  /** Exclusive among processes. */
  async function change<T>(
    work: (keys: readonly KeptKey[]) => { keys: readonly KeptKey[]; result: T },
    dryRun: boolean | undefined,
  ): Promise<T> {
    if (dryRun) return work(await read()).result;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return withFileLock(join(folder, "keys.lock"), async () => {
      const { keys, result } = work(await readKeys(path));
      await writeFileAtomic(path, formatKeys(keys), { mode: 0o600 });
      return result;
    });
  }

  const current: VerifyingKeyStore["current"] = async (id) => {
    const found = (await read()).find((one) => one.id === id);
    return found && !isExpired(found) ? toFacts(found) : undefined;
  };

  return {
    current,
    exists: async () => (await fileStamp(path)) !== "",
    list: async () => (await read()).map(toFacts),
    async verify(key) {
      const id = KEY.exec(key)?.[1];
      const found = (await read()).find((one) => one.id === id);
      return found && hasHash(key, found.hash) ? current(found.id) : undefined;
    },
    async create({ name, role, expiresAt }, { dryRun } = {}) {
      checkName(name);
      checkExpiry(expiresAt);
      const id = randomBytes(6).toString("hex");
      const key = `lk_${id}_${randomBytes(32).toString("base64url")}`;
      const facts: KeyFacts = { id, name, role, createdAt: nowUtcMicros(), expiresAt };
      await change((keys) => {
        if (keys.length === 0 && role !== "admin" && !hasOtherAdmin) throw new BadInputError(FIRST_KEY);
        if (keys.some((one) => one.name === name)) throw new BadInputError(`There is already a key named '${name}'.`);
        return { keys: [...keys, { ...facts, hash: hashSecret(key) }], result: undefined };
      }, dryRun);
      return dryRun ? { ...facts, id: "", key: "" } : { ...facts, key };
    },
    remove: (idOrName, { dryRun } = {}) =>
      change((keys) => {
        const found = keys.find((one) => one.id === idOrName) ?? keys.find((one) => one.name === idOrName);
        if (!found) throw new NotFoundError(`There is no key '${idOrName}'.`);
        return { keys: keys.filter((one) => one !== found), result: toFacts(found) };
      }, dryRun),
  };
}

const FIRST_KEY =
  "The first key must have the role 'admin': from then on everybody has to bring one, and nobody could manage the server. Make one with 'lockstep keys add NAME --role admin', then this one.";

/** Whether it could be a key of ours, by its spelling. */
export function isKeyShaped(key: string): boolean {
  return KEY.test(key);
}

async function readKeys(path: string): Promise<KeptKey[]> {
  const bytes = await readFileIfExists(path);
  return bytes === undefined ? [] : parseKeys(bytes.toString("utf8"));
}

function toFacts({ id, name, role, createdAt, expiresAt }: KeptKey): KeyFacts {
  return { id, name, role, createdAt, expiresAt };
}

function isExpired({ expiresAt }: KeyFacts): boolean {
  return expiresAt !== "" && Date.parse(expiresAt) <= Date.now();
}

function checkName(name: string): void {
  if (NAME.test(name)) return;
  throw new BadInputError(
    "The name of a key must be 1 to 64 letters, digits, blanks or . _ @ - and begin with a letter or digit.",
  );
}

function checkExpiry(expiresAt: string): void {
  if (expiresAt === "" || Date.parse(expiresAt) > Date.now()) return;
  throw new BadInputError("A key must expire in the future, for example 2030-01-01; leave it out for never.");
}
