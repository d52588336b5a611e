// /v2/domains/check reports what is missing, and never a key.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { parseSourceId, type VectorStoreId } from "../../src/contracts/ids.ts";
import type { PlacedFinding } from "../../src/engine/doctor.ts";
import type { FindingRow } from "../../src/http/endpoints/doctor-endpoints.ts";
import { DOMAIN, World } from "../engine/world.ts";
import { type ServedWorld, serveWorld } from "./served-world.ts";

interface Answer {
  readonly ok: boolean;
  readonly error: string;
  readonly data: { readonly domain_id: string; readonly findings: readonly FindingRow[] };
}

describe("/v2/domains/check", () => {
  let served: ServedWorld;
  before(async () => {
    served = await serveWorld({ seed: "company" }, async (world) => {
      const domain = await world.app.domains.get(DOMAIN);
      const [docs] = domain.sources;
      assert.ok(docs);
      const again = { ...docs, sourceId: parseSourceId("again") };
      await world.app.domains.update({ ...domain, sources: [docs, again] }, domain);
    });
  });
  after(() => served?.close());

  async function check(): Promise<Answer> {
    const response = await fetch(`${served.url}/v2/domains/check?domain_id=STORY`);
    assert.equal(response.status, 200);
    return (await response.json()) as Answer;
  }

  it("tells that everything is there, the same thing once", async () => {
    const { ok, error, data } = await check();
    assert.deepEqual([ok, error, data.domain_id], [true, "", "STORY"]);
    const subjects = data.findings.map(({ subject }) => subject.split(" ")[0]);
    assert.deepEqual(subjects, [
      ...["Settings", "Certificate", "Storage", "Rights", "Index", "Readers", "Vector"],
      ...["Sign-in", "Clock", "Permission", "Site", "Library"],
    ]);
    assert.deepEqual([...new Set(data.findings.map(({ source_id }) => source_id))], ["", "docs"]);
  });

  it("tells what is missing, and never the key", async () => {
    served.world.sandbox.state.settings.roles = ["Sites.Selected"];
    try {
      const { ok, error, data } = await check();
      assert.deepEqual([ok, error], [false, "1 problem was found."]);
      assert.equal(data.findings.filter(({ outcome }) => outcome === "not checked").length, 2, "one for each source");
      assert.doesNotMatch(JSON.stringify(data), /PRIVATE KEY|eyJ/);
      const page = await (await fetch(`${served.url}/v2/domains/check?domain_id=STORY&format=html`)).text();
      assert.match(page, /data-findings/);
      assert.match(page, /1 problem keeps a crawl from working/);
      assert.match(page, /&quot;roles&quot;:\[&quot;read&quot;\]/, "escaped");
    } finally {
      served.world.sandbox.state.settings.roles = ["Sites.Read.All"];
    }
  });

  it("looks at the vector store that the domain names", async () => {
    const domain = await served.world.app.domains.get(DOMAIN);
    await served.world.app.domains.update({ ...domain, vectorStoreId: "vs_gone" as VectorStoreId }, domain);
    const { data } = await check();
    const store = data.findings.find(({ subject }) => subject.startsWith("Vector store"));
    assert.equal(store?.outcome, "problem");
    assert.match(store?.detail ?? "", /'vs_gone'.*does not exist any more/);
    assert.match(store?.remedy ?? "", /^Clear vector_store_id/);
  });

  it("refuses an unknown domain, and explains itself", async () => {
    const unknown = await fetch(`${served.url}/v2/domains/check?domain_id=NOPE`);
    assert.equal(unknown.status, 404);
    const bare = await fetch(`${served.url}/v2/domains/check`);
    assert.match(await bare.text(), /Tests the connection/);
  });
});

describe("a backend that refuses the key", () => {
  it("is a finding, without the key", async () => {
    const service = createServer((_request, response) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "Incorrect API key provided: sk-very-secret." } }));
    });
    await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
    const { port } = service.address() as AddressInfo;
    const settings = {
      OPENAI_SERVICE_TYPE: "openai",
      OPENAI_API_KEY: "sk-very-secret",
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    };
    const world = await World.open({ settings });
    try {
      const findings: PlacedFinding[] = [];
      for await (const finding of world.app.examine(DOMAIN, new AbortController().signal)) findings.push(finding);
      const problems = findings.filter(({ outcome }) => outcome === "problem");
      assert.deepEqual(
        problems.map(({ subject }) => subject),
        ["Vector store"],
      );
      assert.match(problems[0]?.detail ?? "", /the key was refused \(401\)/);
      assert.match(problems[0]?.remedy ?? "", /the owner of the account/);
      assert.doesNotMatch(JSON.stringify(findings), /sk-very-secret/);
    } finally {
      await world.close();
      service.closeAllConnections();
      service.close();
    }
  });
});
