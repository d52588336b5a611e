import type { Principal } from "../contracts/access.ts";

/** What the middlewares leave for those who answer. */
export interface HttpEnv {
  Variables: {
    client: Client;
    /** Absent where everybody may come in: the sign-in page, assets, health. */
    principal: Principal | undefined;
  };
}

/** Where a request comes from. */
export interface Client {
  /** "" when it came from no network, as in a test of the app alone. */
  readonly address: string;
  readonly https: boolean;
}
