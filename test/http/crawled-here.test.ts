// A web site that links to the server that crawls it causes nothing there.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { parseDomainInput } from "../kinds.ts";
import { ask } from "./ask.ts";
import { type OpenServer, openServer } from "./open-server.ts";

const DELETE = "/v2/domains/delete?domain_id=DEMO";
const TEXT = "<p>The shop in Ghent opens at nine and closes at six, on Saturdays at noon.</p>";

describe("a site that leads a crawl to the server that crawls, which has no keys", () => {
  let site: Server;
  let server: OpenServer;
  let origin = "";
  before(async () => {
    server = await openServer({ WEB_ALLOW_PRIVATE_NETWORKS: "true", WEB_HOST_DELAY_MS: "0" });
    const { port } = new URL(server.url);
    const here = [server.url, `http://localhost:${port}`, `http://[::ffff:127.0.0.1]:${port}`];
    const images = here.map((url) => `<img src="${url}${DELETE}" alt="The shop, seen from the street">`);
    const jobs = `${server.url}/v2/crawler/crawl?domain_id=DEMO&mode=incremental`;
    site = createServer((request, response) => {
      if (request.url === "/images") response.setHeader("content-type", "text/html");
      if (request.url === "/images")
        response.end(`<title>Shop</title><main>${TEXT.repeat(5)}${images.join("")}</main>`);
      else if (request.url === "/moved") response.writeHead(302, { location: jobs }).end();
      else response.writeHead(404).end();
    }).listen(0, "127.0.0.1");
    await once(site, "listening");
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const input = { domain_id: "DEMO", name: "Demo", description: "", vector_store_name: "demo" };
    await server.app.domains.create(parseDomainInput(input));
  });
  after(async () => {
    await server?.close();
    site?.close();
  });

  it("deletes nothing, starts nothing and finds nothing to index", async () => {
    const register = async (url: string): Promise<string> => {
      const reply = await ask(server.url, "POST /api/AddUrlDocument", { json: { url, includeImages: true } });
      assert.equal(reply.status, 202, reply.text);
      return String(reply.json["id"]);
    };
    const [page, moved, own] = [
      await register(`${origin}/images`),
      await register(`${origin}/moved`),
      await register(`${server.url}/v2/domains?format=html`),
    ];
    while (await server.app.ingest.workOne("test", AbortSignal.timeout(600_000)));
    const crawl = await ask(server.url, "GET /v2/crawler/crawl?domain_id=INGEST&mode=incremental&scope=web");
    assert.equal(crawl.status, 200, crawl.text);
    assert.deepEqual((await server.app.domains.list()).domains.map(({ domainId }) => domainId).toSorted(), [
      "DEMO",
      "INGEST",
    ]);
    const { entries } = await server.app.audit.list({ limit: 100, offset: 0, filter: "DEMO" });
    assert.deepEqual(
      entries.map(({ action }) => action),
      [],
    );
    const statusOf = async (id: string): Promise<unknown> =>
      (await ask(server.url, `GET /v2/ingest/items/get?item_id=${id}`)).json["data"]?.["status"];
    assert.equal(await statusOf(page), "Indexed");
    for (const id of [moved, own]) assert.notEqual(await statusOf(id), "Indexed");
  });
});
