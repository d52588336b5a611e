import { mkdtemp, rm } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { html } from "hono/html";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import { BadInputError, NotFoundError } from "../../src/contracts/errors.ts";
import type { HttpEnv } from "../../src/http/http-env.ts";
import { layout } from "../../src/http/pages/layout.ts";
import { type Endpoint, endpoint, ok, okPart } from "../../src/http/routing/endpoint.ts";
import { listing, takePart } from "../../src/http/routing/listing.ts";
import { mountEndpoints } from "../../src/http/routing/mount-endpoints.ts";
import { optional, required, withDefault } from "../../src/http/routing/parameters.ts";
import { trueOrFalse, words } from "../../src/http/routing/values.ts";
import { createJobRunner } from "../../src/jobs/job-runner.ts";
import { createJobStore } from "../../src/jobs/job-store.ts";
import { createAuditLog } from "../../src/security/audit-log.ts";
import { LOCAL } from "../../src/security/open-access.ts";

interface Icecream {
  readonly icecream_id: string;
  readonly name: string;
}

export interface Stand {
  readonly url: string;
  readonly stock: Map<string, Icecream>;
  close(): Promise<void>;
}

const dryRun = withDefault(trueOrFalse, false, "true changes nothing.");
const icecreamId = required(words, "The icecream.");

/** The example of the specification, declared like every endpoint, and served by the grammar alone. */
export async function openStand(): Promise<Stand> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-icecream-"));
  const runner = createJobRunner({ jobsFolder: folder });
  const stock = new Map<string, Icecream>();
  const http = new Hono<HttpEnv>({ strict: false });
  http.use(async (c, next) => {
    c.set("principal", LOCAL);
    c.set("client", { address: "127.0.0.1", https: false });
    await next();
  });
  mountEndpoints(http, [...icecreams(stock), ...flavours()], {
    runner,
    jobs: createJobStore(folder),
    audit: createAuditLog(join(folder, "audit")),
    product: { version: "1.2.3", backend: "none", kinds: BUILT_IN_KINDS },
    keepAliveMs: 1000,
    logError: (about, error) => process.stderr.write(`${about}: ${String(error)}\n`),
  });
  const server = createAdaptorServer({ fetch: http.fetch }) as Server;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stock,
    async close() {
      await runner.stop("Over.");
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function icecreams(stock: Map<string, Icecream>): Endpoint[] {
  const path = "/v2/icecreams";
  const find = (id: string): Icecream => {
    const found = stock.get(id);
    if (!found) throw new NotFoundError(`Icecream '${id}' does not exist.`);
    return found;
  };
  const put = (icecream: Icecream, dry: boolean): Icecream => {
    if (!dry) stock.set(icecream.icecream_id, icecream);
    return icecream;
  };
  return [
    endpoint({
      path,
      methods: ["GET"],
      formats: ["json", "html", "ui"],
      description: "Icecream stock.",
      changes: null,
      query: listing(["icecream_id", "name"]),
      examples: ["?format=json"],
      run: async (args) => okPart(takePart([...stock.values()], args)),
      ui: (_answer, _args, frame) => layout({ title: "Icecreams", frame, body: html`<button>Create</button>` }),
    }),
    endpoint({
      path: `${path}/create`,
      methods: ["POST"],
      formats: ["json"],
      description: "Makes an icecream.",
      changes: "The stock.",
      query: { dry_run: dryRun },
      body: { name: required(words, "What it is called.") },
      examples: [],
      run: async ({ body, dry_run }) => ok(put({ icecream_id: `ice_${stock.size + 1}`, ...body }, dry_run)),
    }),
    endpoint({
      path: `${path}/get`,
      methods: ["GET"],
      formats: ["json", "html"],
      description: "One icecream.",
      changes: null,
      query: { icecream_id: icecreamId },
      examples: ["?icecream_id=ice_1"],
      run: async ({ icecream_id }) => ok(find(icecream_id)),
    }),
    endpoint({
      path: `${path}/update`,
      methods: ["PUT"],
      formats: ["json"],
      description: "Changes an icecream.",
      changes: "The stock.",
      query: { icecream_id: optional(words, "Here or in the body."), dry_run: dryRun },
      body: { icecream_id: optional(words, "Here or in the query."), name: optional(words, "What it is called.") },
      examples: [],
      async run({ icecream_id, body, dry_run }) {
        const id = icecream_id ?? body.icecream_id;
        if (id === undefined) throw new BadInputError("Missing 'icecream_id'.");
        const before = find(id);
        return ok(put({ ...before, name: body.name ?? before.name }, dry_run));
      },
    }),
    endpoint({
      path: `${path}/delete`,
      methods: ["DELETE", "GET"],
      formats: ["json", "html"],
      description: "Eats an icecream.",
      changes: "The stock.",
      query: { icecream_id: icecreamId, dry_run: dryRun },
      examples: ["?icecream_id=ice_1"],
      async run({ icecream_id, dry_run }) {
        const eaten = find(icecream_id);
        if (!dry_run) stock.delete(icecream_id);
        return ok(eaten);
      },
    }),
  ];
}

function flavours(): Endpoint[] {
  const path = "/v2/icecreams/flavours";
  const flavour = { flavour_id: "vanilla", colour: "yellow" };
  return [
    endpoint({
      path,
      methods: ["GET"],
      formats: ["json", "html", "ui"],
      description: "Available icecream flavours.",
      changes: null,
      query: {},
      examples: ["?format=json"],
      run: async () => ok([flavour]),
    }),
    endpoint({
      path: `${path}/get`,
      methods: ["GET"],
      formats: ["json", "html"],
      description: "One flavour.",
      changes: null,
      query: { flavour_id: required(words, "The flavour.") },
      examples: ["?flavour_id=vanilla"],
      async run({ flavour_id }) {
        if (flavour_id !== flavour.flavour_id) throw new NotFoundError(`Flavour '${flavour_id}' does not exist.`);
        return ok(flavour);
      },
    }),
  ];
}
