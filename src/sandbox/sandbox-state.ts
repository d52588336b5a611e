import type { OperationTarget } from "./control/operations.ts";
import { FaultInjector } from "./faults.ts";
import { RequestLog } from "./request-log.ts";
import { type SeedName, seedTenant } from "./seed/seed-tenant.ts";
import { AppAccess, type SignIn } from "./sharepoint/entra.ts";
import { Tenant } from "./sharepoint/tenant/tenant.ts";
import { Throttle } from "./throttle.ts";

/** Everything a running sandbox knows. It lives in memory and ends with the process. */
export class SandboxState implements OperationTarget {
  readonly tenant = new Tenant();
  readonly settings: SandboxSettings;
  readonly faults = new FaultInjector();
  readonly log = new RequestLog();
  readonly access = new AppAccess();
  readonly throttle = new Throttle();
  readonly signIn: SignIn;
  #seed: SeedName;

  constructor(signIn: Omit<SignIn, "settings" | "access">, seed: SeedName) {
    this.settings = { ...DEFAULT_SETTINGS };
    this.signIn = { ...signIn, settings: this.settings, access: this.access };
    this.#seed = seed;
    seedTenant(this.tenant, seed);
  }

  /** Content, clock, settings, permissions, limits, faults and log as at the start. Tokens and certificate stay valid. */
  reset(seed: SeedName = this.#seed): void {
    this.#seed = seed;
    this.tenant.clear();
    seedTenant(this.tenant, seed);
    Object.assign(this.settings, DEFAULT_SETTINGS);
    this.access.reset();
    this.faults.clear();
    this.throttle.set(null);
    this.log.clear();
  }

  revokeTokens(): void {
    this.signIn.tokens.revokeAll();
  }

  describe() {
    const [url = ""] = this.signIn.origins;
    const { tenantId, clientId } = this.signIn.registration;
    return {
      url,
      siteUrl: `${url}/sites/demo`,
      tenantId,
      clientId,
      tokenEndpoint: `${url}/${tenantId}/oauth2/v2.0/token`,
    };
  }
}

/** What can be turned while the sandbox runs. */
export interface SandboxSettings {
  /** Whether `$value` honours Range: undocumented for the real one, so a client must live with both. */
  rangeRequests: "honoured" | "ignored";
  tokenLifetimeSeconds: number;
  /** The application permissions the app was granted on SharePoint. */
  roles: readonly string[];
  /** And on Graph: a resource of its own, whose permissions open nothing in SharePoint's REST. */
  graphRoles: readonly string[];
  /** How a missing permission is answered by REST, which has been seen to use either. */
  missingPermissionStatus: 401 | 403;
  /** Every sign-in fails with this AADSTS code; 0 for none. */
  signInError: number;
  /** Whether the app sees drafts (level 2), or the last published version in their place. */
  drafts: "visible" | "hidden";
  /** 5000 in the real one; smaller, so that a test needs no long list. */
  listViewThreshold: number;
}

export const DEFAULT_SETTINGS: SandboxSettings = {
  rangeRequests: "honoured",
  tokenLifetimeSeconds: 3599,
  roles: ["Sites.Read.All"],
  graphRoles: ["Sites.Read.All"],
  missingPermissionStatus: 403,
  signInError: 0,
  drafts: "visible",
  listViewThreshold: 5000,
};
