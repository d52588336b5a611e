import type { App } from "../app/app.ts";
import type { Principal } from "../contracts/access.ts";
import type { SourceKinds } from "../contracts/source-kind.ts";
import { releaseNumber } from "../lib/release.ts";

/** What the middleware sets for the handlers. */
export interface HttpEnv {
  Variables: {
    client: Client;
    /** Where the caller reaches this server, without a slash at its end: PUBLIC_URL, or what the request was sent to. */
    origin: string;
    /** Absent where no authentication is needed: sign-in page, assets, health. */
    principal: Principal | undefined;
  };
}

/** Where a request comes from. */
export interface Client {
  /** "" if it came from no network, as in a test of the app alone. */
  readonly address: string;
  readonly https: boolean;
}

export interface ProductFacts {
  readonly version: string;
  readonly backend: string;
  readonly kinds: SourceKinds;
}

export function describeProduct(app: App): ProductFacts {
  return { version: releaseNumber(), backend: app.config.backend.kind, kinds: app.domains.kinds };
}
