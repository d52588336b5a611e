import { once } from "node:events";
import { createServer } from "node:http";
import { BadInputError } from "../contracts/errors.ts";
import { answerRequest } from "./answer-request.ts";
import { type ClientCertificate, makeCertificate } from "./certificates.ts";
import { SandboxState } from "./sandbox-state.ts";
import type { SeedName } from "./seed/seed-tenant.ts";
import { AccessTokens } from "./sharepoint/entra.ts";
import type { Tenant } from "./sharepoint/tenant/tenant.ts";

export interface SandboxOptions {
  /** 0, the default, lets the operating system choose. */
  readonly port?: number;
  /** A loopback address: the sandbox gives itself to whoever can reach it. */
  readonly host?: string;
  readonly seed?: SeedName;
  /** The certificate the app signs in with; a new one when absent. */
  readonly certificate?: ClientCertificate;
}

/** A running tenant, and what a client needs to sign in to it. */
export interface Sandbox {
  readonly url: string;
  readonly siteUrl: string;
  readonly tenantId: string;
  readonly clientId: string;
  readonly tokenEndpoint: string;
  /** Certificate and private key in one PEM text. */
  readonly certificatePem: string;
  /** SHA-1, upper-case hex. */
  readonly certificateThumbprint: string;
  readonly certificateThumbprintSha256: string;
  /** The state itself: tests in the same process may change it directly. */
  readonly tenant: Tenant;
  readonly state: SandboxState;
  /** Ends at once, whatever is still being answered. */
  stop(): Promise<void>;
}

const TENANT_ID = "7c1e5f0a-3b52-4d0e-9a57-5a2d3c8e4b11";
const CLIENT_ID = "e2b6f5d4-90c3-4f7b-8d21-6c0a9b7f3e55";
/** Public, like everything here: it opens only a tenant of one's own making. */
const CLIENT_SECRET = "sandbox-client-secret";
const LOOPBACK = ["127.0.0.1", "localhost", "::1"];

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, host = "127.0.0.1", seed = "company" } = options;
  if (!LOOPBACK.includes(host)) {
    throw new BadInputError(`Start sandbox on '${host}': only ${LOOPBACK.join(", ")} are allowed.`);
  }
  const [certificate, tokens] = await Promise.all([options.certificate ?? makeCertificate(), AccessTokens.create()]);
  const server = createServer();
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  const boundPort = typeof address === "object" && address ? address.port : port;
  const origins = originsOf(host, boundPort);
  const registration = { tenantId: TENANT_ID, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, certificate };
  const state = new SandboxState({ registration, tokens, origins }, seed);
  const stopping = new AbortController();
  server.on("request", (request, response) => void answerRequest(request, response, state, stopping.signal));
  return {
    ...state.describe(),
    certificatePem: certificate.pem,
    certificateThumbprint: certificate.thumbprint,
    certificateThumbprintSha256: certificate.thumbprintSha256,
    tenant: state.tenant,
    state,
    stop: async () => {
      stopping.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The chosen host first, then every other spelling of this machine. */
function originsOf(host: string, port: number): string[] {
  return [...new Set([host, ...LOOPBACK])].map((each) => `http://${each.includes(":") ? `[${each}]` : each}:${port}`);
}
