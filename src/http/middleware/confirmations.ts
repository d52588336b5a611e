import { randomBytes } from "node:crypto";

const LIFETIME_MS = 10 * 60 * 1000;
const MOST_OPEN = 1000;

/** What people were asked, and have not answered yet. */
export interface Confirmations {
  /** A token with which `what` is meant. */
  issue(what: string): string;
  /** true once, in the next ten minutes, for the very same thing. */
  redeem(token: string, what: string): boolean;
}

export function createConfirmations(): Confirmations {
  const open = new Map<string, { readonly what: string; readonly endsAtMs: number }>();
  return {
    issue(what) {
      // The oldest comes first in a Map, and all live equally long.
      for (const [token, { endsAtMs }] of open) {
        if (endsAtMs > Date.now() && open.size < MOST_OPEN) break;
        open.delete(token);
      }
      const token = randomBytes(24).toString("base64url");
      open.set(token, { what, endsAtMs: Date.now() + LIFETIME_MS });
      return token;
    },
    redeem(token, what) {
      const asked = open.get(token);
      if (asked?.what !== what) return false;
      open.delete(token);
      return asked.endsAtMs > Date.now();
    },
  };
}
