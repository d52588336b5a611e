import { readFileSync } from "node:fs";
import { createHttpLine, DEFAULT_TIMEOUTS, type Timeouts } from "./http-line.ts";
import { createRestClient, type RestClient } from "./rest-client.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "./retry.ts";
import { type ClientCertificate, createSignIn } from "./sign-in.ts";
import { createThrottleGate } from "./throttle-gate.ts";

export interface SharePointConnectionOptions {
  readonly tenantId: string;
  readonly clientId: string;
  readonly certificate: ClientCertificate;
  /** Replaces Microsoft's sign-in address. */
  readonly tokenEndpoint?: string | undefined;
  /** Requests under way at the same time, over all sources of the tenant. */
  readonly concurrency?: number;
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetryPolicy>;
}

/** One per tenant: its sources share the sign-in and, because the tenant throttles the app as a whole, the pauses. */
export interface SharePointConnection {
  readonly rest: RestClient;
  /** Ends what is under way. */
  close(): Promise<void>;
}

const DEFAULT_CONCURRENCY = 4;

export function createSharePointConnection(options: SharePointConnectionOptions): SharePointConnection {
  const line = createHttpLine({ ...DEFAULT_TIMEOUTS, ...options.timeouts });
  const policy = { ...DEFAULT_RETRY_POLICY, ...options.retry };
  const signIn = createSignIn({ ...options, line, policy });
  const gate = createThrottleGate(options.concurrency ?? DEFAULT_CONCURRENCY);
  return {
    rest: createRestClient({ line, gate, signIn, policy, userAgent: userAgent() }),
    async close() {
      signIn.close();
      await line.close();
    },
  };
}

/** Microsoft slows down traffic that does not say who it is, in exactly this form. */
function userAgent(): string {
  const manifest: { version?: string } = JSON.parse(
    readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
  );
  return `NONISV|lockstep|lockstep/${manifest.version ?? "0"}`;
}
