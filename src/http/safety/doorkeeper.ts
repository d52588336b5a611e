import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { createOneAtATime } from "../../lib/one-at-a-time.ts";
import type { Access, Credentials, Identity } from "../../security/access.ts";
import type { HttpEnv } from "../http-env.ts";
import { networkOf } from "./address-of.ts";
import { createBuckets } from "./buckets.ts";

export const SESSION_COOKIE = "lockstep_session";

/** How often one network may bring something that proves nothing. */
const FAILURES = { perSecond: 1 / 3, burst: 20 };

/** Who asks; or that too much came from there that proved nothing, of which this is more. */
export type Asker = Identity | { readonly status: "slowed"; readonly waitMs: number };

export interface Doorkeeper {
  /** Everybody who tells right secrets from wrong ones asks here, so that all attempts are counted. Rejects as `Access.authenticate` does. */
  identify(c: Context<HttpEnv>): Promise<Asker>;
}

/** What is right is heard however often others at the same address were wrong: many share one, and the keys are not to be guessed. */
export function createDoorkeeper(access: Access): Doorkeeper {
  const failures = createBuckets(FAILURES);
  const oneAtATime = createOneAtATime();
  return {
    async identify(c) {
      const credentials = credentialsOf(c);
      const { authorization, apiKey } = credentials;
      if (authorization === undefined && apiKey === undefined) return access.authenticate(credentials);
      const network = networkOf(c);
      // Taken beforehand, and given back to who was right: many may be on their way at once.
      const waitMs = failures.take(network);
      let identity: Identity;
      try {
        const check = (): Promise<Identity> => access.authenticate(credentials);
        // Right ones are still heard, but one after the other: a flood from one network must not slow down the others.
        identity = await (waitMs > 0 ? oneAtATime(network, check) : check());
      } catch (error) {
        if (waitMs > 0) return { status: "slowed", waitMs };
        throw error;
      }
      if (identity.status === "unproved") return waitMs > 0 ? { status: "slowed", waitMs } : identity;
      if (waitMs === 0) failures.giveBack(network);
      return identity;
    },
  };
}

function credentialsOf(c: Context): Credentials {
  return {
    authorization: /^bearer /i.test(c.req.header("authorization") ?? "") ? c.req.header("authorization") : undefined,
    apiKey: c.req.header("x-api-key") ?? c.req.header("api-key"),
    session: getCookie(c, SESSION_COOKIE),
  };
}
