import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { World } from "../engine/world.ts";
import { parseDomainInput } from "../kinds.ts";
import { openBrowser } from "./open-browser.ts";
import { assertForEverybody, leave, visit } from "./visit.ts";

describe("a link in a mail, in a browser", () => {
  let world: World;
  let server: RunningServer;
  let browser: Browser;
  before(async () => {
    world = await World.open();
    server = await serveHttp(world.app, { host: "127.0.0.1", port: 0 });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await world?.close();
  });

  const names = async (): Promise<string[]> =>
    (await world.app.domains.list()).domains.map(({ domainId }) => domainId).sort();
  const LINK = "/v2/domains/delete?domain_id=OLD&format=html";

  it("asks, and deletes only for who says yes", async () => {
    await world.app.domains.create(parseDomainInput({ domain_id: "OLD", name: "Old handbook" }));
    const visited = await visit(browser, server.url, LINK);
    const { page } = visited;
    await page.getByRole("heading", { name: "Is this meant?" }).waitFor();
    await assertForEverybody(page);
    await page.reload();
    assert.deepEqual(await names(), ["OLD", "STORY"]);
    await page.getByRole("link", { name: "No, change nothing" }).click();
    await page.getByRole("heading", { name: "Domains" }).waitFor();
    assert.deepEqual(await names(), ["OLD", "STORY"]);
    await page.goto(server.url + LINK);
    await page.getByRole("button", { name: "Yes, do it" }).click();
    await page.getByRole("heading", { name: "/v2/domains/delete" }).waitFor();
    assert.deepEqual(await names(), ["STORY"]);
    await leave(visited);
  });

  it("asks also where it is the address of a document, on a page of ours", async () => {
    await world.app.domains.create(parseDomainInput({ domain_id: "OLD", name: "Old handbook" }));
    const made = await fetch(`${server.url}/api/AddUrlDocument`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ url: server.url + LINK, domain_id: "OLD" }),
    });
    const { id } = (await made.json()) as { id: string };
    assert.equal(made.status, 202);
    const visited = await visit(browser, server.url, `/v2/ingest/items/get?item_id=${id}&format=html`);
    const opened = visited.page.waitForEvent("popup");
    await visited.page.getByRole("link", { name: "Open the page" }).click();
    await (await opened).getByRole("heading", { name: "Is this meant?" }).waitFor();
    assert.deepEqual(await names(), ["OLD", "STORY"]);
    await leave(visited);
  });

  it("of who is signed in, too; and an incremental crawl is one call", async () => {
    const { key } = await world.app.access.keys.create({ name: "ada", role: "admin", expiresAt: "" });
    const visited = await visit(browser, server.url, "/sign-in");
    const { page } = visited;
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${server.url}/`);
    await page.goto(server.url + LINK);
    await page.getByRole("button", { name: "Yes, do it" }).click();
    await page.getByRole("heading", { name: "/v2/domains/delete" }).waitFor();
    assert.deepEqual(await names(), ["STORY"]);
    await page.goBack();
    await page.goto(`${server.url}/v2/crawler/crawl?domain_id=STORY&mode=incremental&format=html`);
    await page.getByRole("heading", { name: "/v2/crawler/crawl" }).waitFor();
    assert.equal((await world.app.jobs.list()).length, 1);
    await leave(visited);
  });
});
