import { afterEach, before } from "node:test";
import type { Source } from "../../src/contracts/source.ts";
import { makeCertificate } from "../../src/sandbox/certificates.ts";
import { openSharePointLibrary } from "../../src/sources/sharepoint/open-sharepoint-library.ts";
import {
  createSharePointConnection,
  type SharePointConnection,
} from "../../src/sources/sharepoint/sharepoint-connection.ts";
import type { ClientCertificate } from "../../src/sources/sharepoint/sign-in.ts";
import {
  clientCertificateOf,
  QUICK,
  type Script,
  type ScriptedTenant,
  sourceConfig,
  startScriptedTenant,
} from "./scripted-tenant.ts";

export interface OpenOptions {
  readonly idleMs?: number;
  readonly urlPart?: string;
  readonly onWait?: (reason: string, ms: number) => void;
}

export interface ScriptedWorld {
  /** Of the latest `open`. */
  readonly tenant: ScriptedTenant;
  readonly connection: SharePointConnection;
  /** A source whose tenant follows the script. */
  open(script: Script, options?: OpenOptions): Promise<Source>;
}

/** For the tests of one describe block; everything opened closes after each. */
export function useScriptedTenant(): ScriptedWorld {
  let certificate: ClientCertificate | undefined;
  const tenants: ScriptedTenant[] = [];
  const connections: SharePointConnection[] = [];
  before(async () => {
    certificate = clientCertificateOf((await makeCertificate()).pem);
  });
  afterEach(async () => {
    await Promise.all(connections.splice(0).map((each) => each.close()));
    await Promise.all(tenants.splice(0).map((each) => each.close()));
  });
  return {
    get tenant() {
      return latest(tenants);
    },
    get connection() {
      return latest(connections);
    },
    async open(script, options = {}) {
      if (!certificate) throw new Error("open a scripted tenant: only inside a test");
      const tenant = await startScriptedTenant(script);
      tenants.push(tenant);
      const connection = createSharePointConnection({
        tenantId: "tenant",
        clientId: "client",
        certificate,
        tokenEndpoint: tenant.tokenEndpoint,
        retry: QUICK.retry,
        timeouts: { ...QUICK.timeouts, ...(options.idleMs ? { idleMs: options.idleMs } : {}) },
      });
      connections.push(connection);
      const config = sourceConfig(tenant.siteUrl, options.urlPart);
      return openSharePointLibrary(config, connection, options.onWait ? { onWait: options.onWait } : {});
    },
  };
}

function latest<T>(opened: readonly T[]): T {
  const last = opened.at(-1);
  if (last === undefined) throw new Error("use a scripted tenant: open one first");
  return last;
}
