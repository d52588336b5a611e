import { randomBytes } from "node:crypto";
import { hashSecret } from "./secret-hash.ts";

const LIFETIME_MS = 12 * 60 * 60 * 1000;
const MAX_SESSIONS = 10_000;

/** Who is signed in, in this process: a restart signs everybody out. Only hashes are held, so a dump of memory opens nothing. */
export interface Sessions {
  /** For the key of this id. */
  open(keyId: string): { readonly cookie: string; readonly expiresAt: string };
  /** The id of the key it was opened with; undefined: unknown or over. */
  find(cookie: string): string | undefined;
  end(cookie: string): void;
}

export function createSessions(): Sessions {
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
