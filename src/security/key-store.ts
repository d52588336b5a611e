import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ROLES, type Role } from "../contracts/access.ts";
import { BadInputError, ConflictError, NotFoundError } from "../contracts/errors.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { fileStamp } from "../lib/file-system.ts";
import { sha256Of } from "../lib/hash.ts";
import { isJsonObject } from "../lib/json-object.ts";
import { nowUtcMicros } from "../lib/time.ts";
import type { KeyFacts, KeyStore } from "./access.ts";

const KEY = /^lk_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u;

/** The store, with checks for this folder only. */
interface VerifyingKeyStore extends KeyStore {
  /** Whether there was ever a key. An empty list counts: removing the last key must not open the server. */
  exists(): Promise<boolean>;
  /** undefined: unknown, removed or expired. */
  verify(key: string): Promise<KeyFacts | undefined>;
  /** Likewise, by its id. */
  current(id: string): Promise<KeyFacts | undefined>;
}

interface KeyStoreOptions {
  /** There is an administrator without a key of the store. */
  readonly hasOtherAdmin?: boolean;
}

export function createKeyStore(folder: string, { hasOtherAdmin = false }: KeyStoreOptions = {}): VerifyingKeyStore {
  const path = join(folder, "keys.json");
  let seen: { readonly stamp: string; readonly keys: readonly StoredKey[] } | undefined;

  /** Read again only when the file was replaced, so that a key removed by another process stops working at once. */
  async function read(): Promise<readonly StoredKey[]> {
    const stamp = await fileStamp(path);
    if (seen?.stamp !== stamp) seen = { stamp, keys: await readKeys(path) };
    return seen.keys;
  }

  /** Exclusive among processes. */
  async function change<T>(
    work: (keys: readonly StoredKey[]) => { keys: readonly StoredKey[]; result: T },
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

/** Tells whether it has the form of lockstep's keys. */
export function isKeyShaped(key: string): boolean {
  return KEY.test(key);
}

async function readKeys(path: string): Promise<StoredKey[]> {
  const bytes = await readFileIfExists(path);
  return bytes === undefined ? [] : parseKeys(bytes.toString("utf8"));
}

function toFacts({ id, name, role, createdAt, expiresAt }: StoredKey): KeyFacts {
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

/** A key as it is stored: its hash, never the key. */
interface StoredKey extends KeyFacts {
  readonly hash: string;
}

/** `security/keys.json`; see docs/formats/keys.md. */
function formatKeys(keys: readonly StoredKey[]): string {
  const rows = keys.map(({ id, name, role, createdAt, expiresAt, hash }) => ({
    id,
    name,
    role,
    created_utc: createdAt,
    expires_utc: expiresAt,
    sha256: hash,
  }));
  return `${JSON.stringify({ version: 1, keys: rows }, null, 2)}\n`;
}

/** Throws at the first problem: half a list of keys must not pass for a whole one. */
function parseKeys(text: string): StoredKey[] {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw broken("it is not JSON", cause);
  }
  if (!isJsonObject(content) || content["version"] !== 1 || !Array.isArray(content["keys"])) {
    throw broken("it is not a list of keys of version 1");
  }
  return content["keys"].map(parseKey);
}

function parseKey(row: unknown): StoredKey {
  if (!isJsonObject(row)) throw broken("an entry is not an object");
  const { id, name, role, created_utc, expires_utc, sha256 } = row;
  const texts = [id, name, created_utc, expires_utc, sha256];
  const expires = String(expires_utc);
  if (
    texts.some((value) => typeof value !== "string") ||
    !ROLES.some((known) => known === role) ||
    !/^[0-9a-f]{64}$/.test(String(sha256)) ||
    (expires !== "" && Number.isNaN(Date.parse(expires)))
  ) {
    throw broken("an entry lacks a field or has a wrong one");
  }
  return {
    id: String(id),
    name: String(name),
    role: role as Role,
    createdAt: String(created_utc),
    expiresAt: expires,
    hash: String(sha256),
  };
}

function broken(reason: string, cause?: unknown): ConflictError {
  return new ConflictError(
    `The file of API keys (security/keys.json) cannot be read: ${reason}. Nobody gets in by a key until it is mended or restored.`,
    { cause },
  );
}

/** A fast hash is enough for 256 random bits; slow hashes are for passwords. */
export function hashSecret(secret: string): string {
  return sha256Of(secret);
}

/** Compares in constant time. */
export function hasHash(secret: string, hash: string): boolean {
  const wanted = Buffer.from(hash, "hex");
  const given = createHash("sha256").update(secret).digest();
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}

/** When a key ends: `2027-01-01` is the first moment of that day in UTC. "" for never. */
export function readExpiry(given: string): string {
  if (given === "") return "";
  const ms = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(ms)) throw new BadInputError("The expiry must be a day like 2027-01-01, or empty for never.");
  return new Date(ms).toISOString();
}
