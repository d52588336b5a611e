import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { CRAWLER_AGENT } from "../../contracts/web.ts";
import { createOneAtATime } from "../../lib/one-at-a-time.ts";
import type { Access, Credentials, Identity } from "../../security/access.ts";
import type { WithoutKeys } from "../../security/open-access.ts";
import type { HttpEnv } from "../http-env.ts";
import { networkOf } from "./address-of.ts";
import { type Buckets, createBuckets } from "./buckets.ts";
import { createOwnAccountCheck } from "./peer-account.ts";

export const SESSION_COOKIE = "lockstep_session";

/** How often one network may bring something that proves nothing. */
const FAILURES = { perSecond: 1 / 3, burst: 20 };

/** Who asks; or that too much came from there that proved nothing, of which this is more; or why not even a server without keys lets them in. */
export type Asker =
  | Identity
  | { readonly status: "slowed"; readonly waitMs: number }
  | { readonly status: "not let in"; readonly reason: string };

const OTHER_ACCOUNT =
  "This server has no keys, so it answers only to the account that runs it and to root; this connection belongs to another account, or nobody can tell whose it is. " +
  "Make a key with 'lockstep keys add NAME --role admin' and send it along, or set ALLOW_UNAUTHENTICATED_NETWORK_ACCESS=true to let everybody in who reaches the server.";

/** A link in a crawled page may lead here, by whichever name or proxy, and the account is our own. */
const CRAWL = "A crawl of lockstep came here by a link or a redirect; this server answers to no crawl.";

export interface Doorkeeper {
  /** Everybody who tells right secrets from wrong ones asks here, so that all attempts are counted. Rejects as `Access.authenticate` does. */
  identify(c: Context<HttpEnv>): Promise<Asker>;
  /** By network. Signing in counts here, too: who guessed by one way is slowed by the other. */
  readonly failures: Buckets;
}

/**
 * What is right is heard however often others at the same address were wrong: many share one, and the keys are not to be guessed.
 * What could be guessed, an ADMIN_API_KEY of words, is not heard then.
 */
export function createDoorkeeper(access: Access, withoutKeys: WithoutKeys): Doorkeeper {
  const failures = createBuckets(FAILURES);
  const oneAtATime = createOneAtATime();
  const isOwnAccount = createOwnAccountCheck();
  /** Elsewhere than on Linux nobody tells whose a connection is; without one, a test asks the app itself. */
  const whyNot = async (c: Context, identity: Identity): Promise<string | undefined> => {
    if (identity.status !== "known" || identity.principal.kind !== "local") return undefined;
    if (c.req.header("user-agent")?.startsWith(CRAWLER_AGENT)) return CRAWL;
    if (withoutKeys !== "own account" || process.platform !== "linux") return undefined;
    const socket = (c.env as Partial<HttpBindings> | undefined)?.incoming?.socket;
    return socket === undefined || (await isOwnAccount(socket)) ? undefined : OTHER_ACCOUNT;
  };
  const identify: Doorkeeper["identify"] = async (c) => {
    const credentials = credentialsOf(c);
    const { authorization, apiKey } = credentials;
    if (authorization === undefined && apiKey === undefined) return access.authenticate(credentials);
    const network = networkOf(c);
    // Taken beforehand, and given back to who was right: many may be on their way at once.
    const waitMs = failures.take(network);
    let identity: Identity;
    try {
      const check = (): Promise<Identity> => access.authenticate(credentials, { onlyUnguessable: waitMs > 0 });
      // Right ones are still heard, but one after the other: a flood from one network must not slow down the others.
      identity = await (waitMs > 0 ? oneAtATime(network, check) : check());
    } catch (error) {
      if (waitMs > 0) return { status: "slowed", waitMs };
      throw error;
    }
    if (identity.status === "unproved") return waitMs > 0 ? { status: "slowed", waitMs } : identity;
    if (waitMs === 0) failures.giveBack(network);
    return identity;
  };
  return {
    failures,
    async identify(c) {
      const asker = await identify(c);
      if (asker.status === "slowed" || asker.status === "not let in") return asker;
      const reason = await whyNot(c, asker);
      return reason === undefined ? asker : { status: "not let in", reason };
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
