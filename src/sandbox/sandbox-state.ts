import { FaultPlan } from "./control/fault-plan.ts";
import type { OperationTarget } from "./control/operations.ts";
import { RequestLog } from "./control/request-log.ts";
import { Throttle } from "./control/throttle.ts";
import { AppAccess } from "./entra/app-access.ts";
import type { SignIn } from "./entra/token-endpoint.ts";
import { DEFAULT_SETTINGS, type SandboxSettings } from "./sandbox-settings.ts";
import { type SeedName, seedTenant } from "./seed/seed-tenant.ts";
import { Tenant } from "./tenant/tenant.ts";

/** Everything a running sandbox knows. It lives in memory and ends with the process. */
export class SandboxState implements OperationTarget {
  readonly tenant = new Tenant();
  readonly settings: SandboxSettings;
  readonly faults = new FaultPlan();
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
