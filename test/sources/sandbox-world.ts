import { after, afterEach, before, beforeEach } from "node:test";
import type { Sighting, Source } from "../../src/contracts/source.ts";
import { runOperation } from "../../src/sandbox/control/operations.ts";
import type { FaultEffect, FaultMatch } from "../../src/sandbox/faults.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { openSharePointLibrary } from "../../src/sources/sharepoint/open-sharepoint-library.ts";
import {
  createSharePointConnection,
  type SharePointConnection,
  type SharePointConnectionOptions,
} from "../../src/sources/sharepoint/sharepoint-connection.ts";
import { clientCertificateOf, listAll, QUICK, sourceConfig } from "./scripted-tenant.ts";

export const DOCS = "/sites/demo/Shared Documents";

export interface SandboxWorld {
  readonly sandbox: Sandbox;
  connect(options?: Partial<SharePointConnectionOptions>): SharePointConnection;
  open(options?: { urlPart?: string; filter?: string; pageSize?: number; waits?: string[] }): Source;
  add(path: string, text?: string, more?: Record<string, unknown>): void;
  /** Something a user or administrator does. */
  act(operation: string, fields: Record<string, unknown>): void;
  strike(match: FaultMatch, effect: FaultEffect): void;
  /** The one item of the source. */
  theItem(source: Source): Promise<Sighting>;
}

export function paths(sightings: readonly Sighting[]): string[] {
  return sightings.map((sighting) => sighting.path).toSorted();
}

/** A sandbox for the tests of one describe block, emptied before each; connections close after each. */
export function useSandbox(): SandboxWorld {
  let sandbox: Sandbox | undefined;
  let connections: SharePointConnection[] = [];
  before(async () => {
    sandbox = await startSandbox({ seed: "empty" });
  });
  after(() => sandbox?.stop());
  beforeEach(() => sandbox?.state.reset());
  afterEach(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
    connections = [];
  });

  const world: SandboxWorld = {
    get sandbox() {
      if (!sandbox) throw new Error("use the sandbox: it runs only inside a test");
      return sandbox;
    },
    connect(options = {}) {
      const { tenantId, clientId, certificatePem, tokenEndpoint } = world.sandbox;
      const certificate = clientCertificateOf(certificatePem);
      const defaults = { tenantId, clientId, certificate, tokenEndpoint, ...QUICK };
      const connection = createSharePointConnection({ ...defaults, ...options });
      connections.push(connection);
      return connection;
    },
    open(options = {}) {
      const config = sourceConfig(world.sandbox.siteUrl, options.urlPart, options.filter);
      return openSharePointLibrary(config, world.connect(), {
        ...(options.pageSize ? { pageSize: options.pageSize } : {}),
        onWait: (reason) => options.waits?.push(reason),
      });
    },
    add: (path, text = `text of ${path}`, more = {}) => world.act("add", { path: `${DOCS}/${path}`, text, ...more }),
    act(operation, fields) {
      runOperation(world.sandbox.state, { operation, ...fields });
    },
    strike(match, effect) {
      world.sandbox.state.faults.add(match, effect);
    },
    async theItem(source) {
      const [sighting, ...more] = (await listAll(source)).sightings;
      if (!sighting || more.length > 0) throw new Error(`list the source: ${more.length + 1} items instead of one`);
      return sighting;
    },
  };
  return world;
}
