import { createPace, type Waited } from "../../lib/pace.ts";
import { releaseNumber } from "../../lib/release.ts";
import {
  createHttpTransport,
  DEFAULT_RETRY_POLICY,
  DEFAULT_TIMEOUTS,
  firstValue,
  type RetryPolicy,
  type Timeouts,
} from "./http.ts";
import { createRestClient, type RestClient } from "./rest-client.ts";
import { type ClientCertificate, createSignIn, type SignIn } from "./sign-in.ts";

export interface SharePointConnectionOptions {
  readonly tenantId: string;
  readonly clientId: string;
  readonly certificate: ClientCertificate;
  /** Replaces Microsoft's sign-in URL. */
  readonly tokenEndpoint?: string | undefined;
  /** Requests under way at the same time, over all sources of the tenant. */
  readonly concurrency?: number;
  /** Company name for the User-Agent, as Microsoft asks for it. */
  readonly company?: string | undefined;
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetryPolicy>;
}

/** One per tenant: its sources share the sign-in and, because the tenant throttles the app as a whole, the pauses. */
export interface SharePointConnection {
  readonly rest: RestClient;
  readonly signIn: SignIn;
  readonly identity: { readonly tenantId: string; readonly clientId: string };
  /** How far the servers' clock is ahead of ours, by the last response; undefined before the first. */
  clockSkewMs(): number | undefined;
  /** Returns how long requests have waited because of throttling. */
  waited(): Waited;
  /** Cancels requests under way. */
  close(): Promise<void>;
}

const DEFAULT_CONCURRENCY = 4;

export function createSharePointConnection(options: SharePointConnectionOptions): SharePointConnection {
  let skewMs: number | undefined;
  const transport = createHttpTransport({ ...DEFAULT_TIMEOUTS, ...options.timeouts }, ({ headers }) => {
    const atMs = Date.parse(firstValue(headers["date"]));
    if (!Number.isNaN(atMs)) skewMs = atMs - Date.now();
  });
  const policy = { ...DEFAULT_RETRY_POLICY, ...options.retry };
  const signIn = createSignIn({ ...options, transport, policy });
  const pace = createPace({
    concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
    patienceMs: policy.maxWaitMs,
  });
  return {
    signIn,
    identity: { tenantId: options.tenantId, clientId: options.clientId },
    clockSkewMs: () => skewMs,
    rest: createRestClient({ transport, pace, signIn, policy, userAgent: userAgent(options.company) }),
    waited: () => pace.waited(),
    async close() {
      signIn.close();
      await transport.close();
    },
  };
}

/** Microsoft throttles traffic without a User-Agent of exactly this form. */
function userAgent(company = "lockstep"): string {
  return `NONISV|${company}|lockstep/${releaseNumber()}`;
}
