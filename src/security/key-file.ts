import { ROLES, type Role } from "../contracts/access.ts";
import { ConflictError } from "../contracts/errors.ts";
import { isJsonObject } from "../lib/json-object.ts";
import type { KeyFacts } from "./access.ts";

/** A key as it is kept: what it is compared with, never the key. */
export interface KeptKey extends KeyFacts {
  readonly hash: string;
}

/** `security/keys.json`; see docs/formats/keys.md. */
export function formatKeys(keys: readonly KeptKey[]): string {
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

/** Throws at the first thing it does not understand: half a list of keys must not pass for a whole one. */
export function parseKeys(text: string): KeptKey[] {
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

function parseKey(row: unknown): KeptKey {
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
