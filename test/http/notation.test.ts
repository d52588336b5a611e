// Every line of the specification's list of endpoints holds for the real product.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type SandboxSite, startCompanySite } from "../../src/sandbox/site/start-site.ts";
import { ask } from "./ask.ts";
import { ADDITIONS, EXCEPTIONS, expand, SPECIFICATION, WITH_A_KEY, WITH_BYTES } from "./notation.ts";
import { checkExpected } from "./notation-checks.ts";
import { keysOf, thingsOf } from "./notation-things.ts";
import { type ServedWorld, serveWorld } from "./served-world.ts";

describe("the endpoints of the specification, line by line, against the real product", () => {
  let served: ServedWorld;
  let site: SandboxSite;
  let notes: string;
  before(async () => {
    notes = await mkdtemp(join(tmpdir(), "lockstep-notes-"));
    site = await startCompanySite();
    served = await serveWorld({ settings: { WEB_ALLOW_PRIVATE_NETWORKS: "true" } }, async (world) => {
      await world.change("add", { path: "Handbook.md", text: "# Handbook\n\nHotels cost up to 180 EUR." });
      const { result } = await world.crawl();
      assert.deepEqual(result.problems, []);
    });
  });
  after(async () => {
    await served?.close();
    await site.close();
    await rm(notes, { recursive: true });
  });

  const things = thingsOf(() => ({ world: served.world, url: served.url, site, notes }));
  for (const line of [...SPECIFICATION, ...ADDITIONS]) {
    describe(line.trim(), () => {
      for (const expected of expand(line)) {
        const thing = things[expected.resource] ?? assert.fail(`nobody says how to get ${expected.resource}`);
        checkExpected(() => served.url, expected, thing);
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
    const { paths } = (await ask(served.url, "GET /openapi.json")).json as unknown as {
      paths: Record<string, unknown>;
    };
    const lines: readonly string[] = [...SPECIFICATION, ...ADDITIONS, ...WITH_A_KEY];
    const told = lines.flatMap((line) => expand(line).map(({ path }) => path));
    const real = Object.keys(paths).filter((path) => path.startsWith("/v2/"));
    assert.deepEqual(real.toSorted(), [...new Set([...told, ...WITH_BYTES])].toSorted());
  });

  it("the documentation of a resource names all its actions", async () => {
    for (const line of SPECIFICATION) {
      const [list, ...actions] = expand(line);
      const { text } = await ask(served.url, `GET ${list?.path}`);
      for (const { methods, path } of actions) assert.ok(text.includes(`${methods.join(", ")} ${path} `), path);
    }
  });
});

describe("the endpoints that everybody has to bring a key to", () => {
  let served: ServedWorld;
  let key = "";
  before(async () => {
    served = await serveWorld({ settings: { RATE_LIMIT_PER_SECOND: "0" } });
    key = (await served.world.app.access.keys.create({ name: "ada", role: "admin", expiresAt: "" })).key;
  });
  after(() => served?.close());

  const thing = keysOf(() => ({ world: served.world, key }));
  for (const line of WITH_A_KEY) {
    describe(line, () => {
      for (const expected of expand(line)) checkExpected(() => served.url, expected, thing);
    });
  }
});
