// A link that deletes something asks first, also when it comes from a mail or from one of our pages.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseDomainInput } from "../kinds.ts";
import { BrowserStage } from "./browser-stage.ts";
import { assertForEverybody, leave } from "./visit.ts";

describe("a link in a mail, in a browser", () => {
  let stage: BrowserStage;
  before(async () => {
    stage = await BrowserStage.open();
  });
  after(() => stage?.close());

  const names = async (): Promise<string[]> =>
    (await stage.world.app.domains.list()).domains.map(({ domainId }) => domainId).sort();
  const LINK = "/v2/domains/delete?domain_id=OLD&format=html";

  it("asks, and deletes only for who says yes", async () => {
    await stage.world.app.domains.create(parseDomainInput({ domain_id: "OLD", name: "Old handbook" }));
    const visited = await stage.visit(LINK);
    const { page } = visited;
    await page.getByRole("heading", { name: "Is this meant?" }).waitFor();
    await assertForEverybody(page);
    await page.reload();
    assert.deepEqual(await names(), ["OLD", "STORY"]);
    await page.getByRole("link", { name: "No, change nothing" }).click();
    await page.getByRole("heading", { name: "Domains" }).waitFor();
    assert.deepEqual(await names(), ["OLD", "STORY"]);
    await page.goto(stage.url + LINK);
    await page.getByRole("button", { name: "Yes, do it" }).click();
    await page.getByRole("heading", { name: "Done" }).waitFor();
    assert.deepEqual(await names(), ["STORY"]);
    await leave(visited);
  });

  it("asks also where it is the address of a document, on a page of ours", async () => {
    await stage.world.app.domains.create(parseDomainInput({ domain_id: "OLD", name: "Old handbook" }));
    const made = await fetch(`${stage.url}/api/AddUrlDocument`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ url: stage.url + LINK, domain_id: "OLD" }),
    });
    const { id } = (await made.json()) as { id: string };
    assert.equal(made.status, 202);
    const visited = await stage.visit(`/v2/ingest/items/get?item_id=${id}&format=html`);
    const opened = visited.page.waitForEvent("popup");
    await visited.page.getByRole("link", { name: "Open the page" }).click();
    await (await opened).getByRole("heading", { name: "Is this meant?" }).waitFor();
    assert.deepEqual(await names(), ["OLD", "STORY"]);
    await leave(visited);
  });

  it("of who is signed in, too; and an incremental crawl is one call", async () => {
    const { key } = await stage.world.app.access.keys.create({ name: "ada", role: "admin", expiresAt: "" });
    const visited = await stage.visit("/sign-in");
    const { page } = visited;
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${stage.url}/`);
    await page.goto(stage.url + LINK);
    await page.getByRole("button", { name: "Yes, do it" }).click();
    await page.getByRole("heading", { name: "Done" }).waitFor();
    assert.deepEqual(await names(), ["STORY"]);
    await page.goBack();
    await page.goto(`${stage.url}/v2/crawler/crawl?domain_id=STORY&mode=incremental&format=html`);
    await page.getByRole("heading", { name: /^Crawl of STORY, incremental/ }).waitFor();
    assert.equal((await stage.world.app.jobs.list()).length, 1);
    await leave(visited);
  });
});
