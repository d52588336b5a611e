// Every line of the specification's list of endpoints holds for the real product.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { type SandboxSite, startCompanySite } from "../../src/sandbox/site/start-site.ts";
import { World } from "../engine/world.ts";
import { ask } from "./ask.ts";
import { ADDITIONS, EXCEPTIONS, expand, SPECIFICATION, WITH_A_KEY } from "./notation.ts";
import { checkExpected } from "./notation-checks.ts";
import { keysOf, thingsOf } from "./notation-things.ts";

describe("the endpoints of the specification, line by line, against the real product", () => {
  let world: World;
  let server: RunningServer;
  let site: SandboxSite;
  let notes: string;
  before(async () => {
    notes = await mkdtemp(join(tmpdir(), "lockstep-notes-"));
    site = await startCompanySite();
    world = await World.open({ settings: { WEB_ALLOW_PRIVATE_NETWORKS: "true" } });
    await world.change("add", { path: "Handbook.md", text: "# Handbook\n\nHotels cost up to 180 EUR." });
    const { result } = await world.crawl();
    assert.deepEqual(result.problems, []);
    server = await serveHttp(world.app, { host: "127.0.0.1", port: 0 });
  });
  after(async () => {
    await world.close();
    await server.close();
    await site.close();
    await rm(notes, { recursive: true });
  });

  const things = thingsOf(() => ({ world, url: server.url, site, notes }));
  for (const line of [...SPECIFICATION, ...ADDITIONS]) {
    describe(line.trim(), () => {
      for (const expected of expand(line)) {
        const thing = things[expected.resource] ?? assert.fail(`nobody says how to get ${expected.resource}`);
        checkExpected(() => server.url, expected, thing);
      }
    });
  }

  it("every exception is still one", () => {
    for (const [resource, [from, to]] of Object.entries(EXCEPTIONS)) {
      const line = SPECIFICATION.find((one) => one.includes(`\`${resource}`)) ?? "";
      assert.ok(line.includes(from) && !line.includes(to), resource);
    }
  });

  it("every address of the product follows from a line", async () => {
    const { paths } = (await ask(server.url, "GET /openapi.json")).json as unknown as {
      paths: Record<string, unknown>;
    };
    const lines: readonly string[] = [...SPECIFICATION, ...ADDITIONS, ...WITH_A_KEY];
    const told = lines.flatMap((line) => expand(line).map(({ path }) => path));
    const real = Object.keys(paths).filter((path) => path.startsWith("/v2/"));
    assert.deepEqual(real.toSorted(), [...new Set(told)].toSorted());
  });

  it("the documentation of a resource names all its actions", async () => {
    for (const line of SPECIFICATION) {
      const [list, ...actions] = expand(line);
      const { text } = await ask(server.url, `GET ${list?.path}`);
      for (const { methods, path } of actions) assert.ok(text.includes(`${methods.join(", ")} ${path} `), path);
    }
  });
});

describe("the endpoints that everybody has to bring a key to", () => {
  let world: World;
  let server: RunningServer;
  let key = "";
  before(async () => {
    world = await World.open({ settings: { RATE_LIMIT_PER_SECOND: "0" } });
    server = await serveHttp(world.app, { host: "127.0.0.1", port: 0 });
    key = (await world.app.access.keys.create({ name: "ada", role: "admin", expiresAt: "" })).key;
  });
  after(async () => {
    await server.close();
    await world.close();
  });

  const thing = keysOf(() => ({ world, key }));
  for (const line of WITH_A_KEY) {
    describe(line, () => {
      for (const expected of expand(line)) checkExpected(() => server.url, expected, thing);
    });
  }
});
