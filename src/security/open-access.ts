import { randomBytes } from "node:crypto";
import type { Principal } from "../contracts/access.ts";
import type { Access, Comparing, Credentials, Identity, KeyFacts } from "./access.ts";
import { createEntraTokens, type EntraOptions } from "./entra-tokens.ts";
import { createKeyStore, hasHash, hashSecret, isKeyShaped } from "./key-store.ts";
import { looksRandom } from "./looks-random.ts";

export interface AccessOptions {
  /** Holds the hashes of the keys. */
  readonly folder: string;
  /** An admin key that is not stored in the folder; "" for none. */
  readonly adminKey: string;
  /** null: tokens of Entra ID are not accepted. */
  readonly entra: EntraOptions | null;
  readonly withoutKeys: WithoutKeys;
}

/**
 * Who has access while there are no keys: the account that runs the server (and root); nobody once the network can reach it; or everybody
 * if configured so.
 */
export type WithoutKeys = "own account" | "everybody" | "nobody";

export const LOCAL: Principal = { kind: "local", id: "local", name: "local", role: "admin" };
const ADMIN: Principal = { kind: "key", id: "ADMIN_API_KEY", name: "ADMIN_API_KEY", role: "admin" };

const EVERYTHING: Comparing = { onlyUnguessable: false };

/** Reads nothing yet: keys and Entra ID are read at the first request. */
export function openAccess({ folder, adminKey, entra, withoutKeys }: AccessOptions): Access {
  const keys = createKeyStore(folder, { hasOtherAdmin: adminKey !== "" || entra !== null });
  const sessions = createSessions();
  const tokens = entra && createEntraTokens(entra);
  const adminHash = adminKey === "" ? undefined : hashSecret(adminKey);

  const hasWayIn = async (): Promise<boolean> => adminHash !== undefined || tokens !== null || (await keys.exists());
  const isRequired = async (): Promise<boolean> => withoutKeys === "nobody" || (await hasWayIn());

  /** A key that people chose can be guessed if attempts are not limited. */
  const isAdminKey = (key: string, { onlyUnguessable }: Comparing): boolean =>
    adminHash !== undefined && (!onlyUnguessable || looksRandom(adminKey)) && hasHash(key, adminHash);

  async function byKey(key: string, comparing: Comparing): Promise<Principal | undefined> {
    if (comparing.onlyUnguessable && !isKeyShaped(key) && !looksRandom(key)) return undefined;
    if (isAdminKey(key, comparing)) return ADMIN;
    return toPrincipal(await keys.verify(key));
  }

  async function current(id: string): Promise<Principal | undefined> {
    if (id === ADMIN.id) return adminHash === undefined ? undefined : ADMIN;
    return toPrincipal(await keys.current(id));
  }

  async function bySession(session: string): Promise<Principal | undefined> {
    const id = sessions.find(session);
    return id === undefined ? undefined : current(id);
  }

  async function bySecret(secret: string, comparing: Comparing): Promise<Identity> {
    const principal = await byKey(secret, comparing);
    if (principal) return { status: "known", principal };
    return tokens && isTokenShaped(secret) ? tokens.verify(secret) : { status: "unproved" };
  }

  return {
    isRequired,
    hasWayIn,
    keys,
    async authenticate(credentials, comparing = EVERYTHING) {
      if (!(await isRequired())) return { status: "known", principal: LOCAL };
      const secret = bearer(credentials) ?? credentials.apiKey;
      if (secret !== undefined) return bySecret(secret.trim(), comparing);
      if (credentials.session === undefined) return { status: "anonymous" };
      const principal = await bySession(credentials.session);
      return principal ? { status: "known", principal } : { status: "anonymous" };
    },
    async signIn(key, comparing = EVERYTHING) {
      const principal = await byKey(key.trim(), comparing);
      return principal && { principal, ...sessions.open(principal.id) };
    },
    isCurrent: async ({ kind, id }) => kind !== "key" || (await current(id)) !== undefined,
    signOut: (session) => sessions.end(session),
    close: async () => tokens?.close(),
  };
}

/** Other schemes are for a proxy in front of the server. */
function bearer({ authorization }: Credentials): string | undefined {
  return /^bearer +(.+)$/i.exec(authorization ?? "")?.[1];
}

function isTokenShaped(secret: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(secret);
}

function toPrincipal(key: KeyFacts | undefined): Principal | undefined {
  return key && { kind: "key", id: key.id, name: key.name, role: key.role };
}

const LIFETIME_MS = 12 * 60 * 60 * 1000;
const MAX_SESSIONS = 10_000;

/** The sessions of this process: a restart signs everybody out. Only hashes are held in memory. */
interface Sessions {
  /** For the key of this id. */
  open(keyId: string): { readonly cookie: string; readonly expiresAt: string };
  /** The id of the key it was opened with; undefined: unknown or over. */
  find(cookie: string): string | undefined;
  end(cookie: string): void;
}

function createSessions(): Sessions {
  const sessions = new Map<string, { readonly keyId: string; readonly endsAtMs: number }>();
  return {
    open(keyId) {
      // The oldest comes first in a Map, and all live equally long.
      for (const [hash, { endsAtMs }] of sessions) {
        if (endsAtMs > Date.now() && sessions.size < MAX_SESSIONS) break;
        sessions.delete(hash);
      }
      const cookie = randomBytes(32).toString("base64url");
      const endsAtMs = Date.now() + LIFETIME_MS;
      sessions.set(hashSecret(cookie), { keyId, endsAtMs });
      return { cookie, expiresAt: new Date(endsAtMs).toISOString() };
    },
    find(cookie) {
      const session = sessions.get(hashSecret(cookie));
      return session && session.endsAtMs > Date.now() ? session.keyId : undefined;
    },
    end(cookie) {
      sessions.delete(hashSecret(cookie));
    },
  };
}
