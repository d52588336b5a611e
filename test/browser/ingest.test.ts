// Web addresses are added, inspected and forced in a browser, also on a phone.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { formatSource } from "../../src/domains/source-codec.ts";
import { type SandboxSite, startCompanySite } from "../../src/sandbox/site/start-site.ts";
import { type OpenServer, openServer } from "../http/open-server.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, assertStacked, expectRefusal, leave, unfold, visit } from "./visit.ts";

const TABLE = "/v2/ingest/items?format=ui";

describe("the registry in a browser", () => {
  let site: SandboxSite;
  let server: OpenServer;
  let browser: Browser;
  before(async () => {
    site = await startCompanySite();
    server = await openServer({ WEB_ALLOW_PRIVATE_NETWORKS: "true", WEB_HOST_DELAY_MS: "0" });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await site?.close();
  });

  const look = async (): Promise<void> => {
    while (await server.app.ingest.workOne("test", AbortSignal.timeout(600_000)));
  };

  it("adds an address, telling before under what it will be known", async () => {
    const visited = await visit(browser, server.url, TABLE);
    const { page } = visited;
    await page.getByText("No address is known yet.").waitFor();
    await assertAccessible(page);
    const address = page.getByLabel("Address", { exact: true });
    await address.fill("ftp://example.com/file");
    await page.locator("[data-part=preview]").getByText(/http/).waitFor();
    await expectRefusal(visited);
    await address.fill(`${site.origin}/guides/winter?utm_source=mail#top`);
    await page.getByText(`Will be known as ${site.origin}/guides/winter`).waitFor();
    assert.equal((await server.app.ingest.summary()).total, 0, "a preview registers nothing");
    await page.getByLabel("Title").fill("Winter <b>tyres</b>");
    await page.getByLabel("Keep its pictures, too").check();
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.waitForURL(/items\/get\?item_id=url_/);
    await page.getByRole("heading", { name: "Winter <b>tyres</b>", level: 1 }).waitFor();
    await page.getByText("It was not fetched yet.").waitFor();
    await page.getByText("registered", { exact: true }).waitFor();
    await leave(visited);
  });

  it("shows it in the table, by its state, and forces it from there", async () => {
    await look();
    const visited = await visit(browser, server.url, TABLE);
    const { page } = visited;
    const row = page.getByRole("row", { name: /guides\/winter/ });
    await row.getByText("Crawled").waitFor();
    await page.getByRole("link", { name: "1 crawled" }).click();
    await page.waitForURL(/status=Crawled/);
    await row.getByRole("button", { name: /^Force/ }).press("Enter");
    await page.locator("#announcer").getByText("indexed again soon").waitFor({ state: "attached" });
    const { items } = await server.app.ingest.items({ offset: 0, limit: 5 });
    assert.deepEqual(
      items.map(({ reindexGeneration, reindexRequested }) => [reindexGeneration, reindexRequested]),
      [[1, true]],
    );
    await page.getByLabel("Filter", { exact: true }).fill("nothing like it");
    await page.locator(".table-empty").getByText("Nothing matches").waitFor();
    await page.getByLabel("Filter", { exact: true }).fill("winter");
    await row.waitFor();
    await assertAccessible(page);
    await leave(visited);
  });

  it("tells its history, its pictures and where it is found", async () => {
    await look();
    const visited = await visit(browser, server.url, TABLE, { colorScheme: "dark" });
    const { page } = visited;
    await page.getByRole("link", { name: /guides\/winter/ }).click();
    await page.waitForURL(/items\/get/);
    const events = await page.locator(".timeline strong").allInnerTexts();
    assert.equal(events.at(-1), "registered");
    assert.ok(events.includes("new") && events.includes("requested"), events.join());
    const picture = page.getByAltText("A Dray on studded tyres in the snow");
    await picture.waitFor();
    assert.ok(await picture.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth > 100)));
    await page.getByText("What the server said").click();
    await page.getByText("image/jpeg").or(page.getByText("text/html")).first().waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: "INGEST" }).click();
    await page.waitForURL(/\/v2\/search/);
    await leave(visited);
  });

  it("edits a web site as a source, and looks at it while it is typed", async () => {
    const visited = await visit(browser, server.url, "/v2/domains?format=ui#new-domain");
    const { page } = visited;
    const form = page.locator("[data-domain-editor='']");
    await form.getByLabel("Name", { exact: true }).fill("Help centre");
    await form.getByRole("button", { name: "Add web site" }).click();
    const row = form.locator("[data-part=rows] [data-source-row=web_sources]");
    await unfold(form);
    await row.getByLabel("Source id").fill("help");
    await row.getByLabel("Start addresses").fill(`${site.origin}/\n${site.origin}/trial`);
    await row.locator(".finding.good").waitFor();
    await row.getByLabel("Take only").fill("/guides/**\n**/*.{pdf,docx}");
    await row.getByLabel("Depth").fill("3");
    await assertAccessible(page);
    await form.getByRole("button", { name: "Create without crawling" }).click();
    await page.waitForURL(/domains\/get\?domain_id=HELP_CENTRE/);
    const [source] = (await server.app.domains.get(parseDomainId("HELP_CENTRE"))).sources;
    const { start_urls, include, max_depth } = source ? formatSource(source) : {};
    assert.deepEqual(
      [start_urls, include, max_depth],
      [[`${site.origin}/`, `${site.origin}/trial`], ["/guides/**", "**/*.{pdf,docx}"], 3],
    );
    await leave(visited);
  });

  it("fits a phone", async () => {
    const options = { viewport: { width: 390, height: 800 }, hasTouch: true };
    const { items } = await server.app.ingest.items({ offset: 0, limit: 1 });
    for (const path of [TABLE, `/v2/ingest/items/get?item_id=${items[0]?.id}&format=html`]) {
      const visited = await visit(browser, server.url, path, options);
      const { page } = visited;
      await page.getByRole("heading", { level: 1 }).waitFor();
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), path);
      await assertStacked(page);
      await assertAccessible(page);
      await leave(visited);
    }
  });
});
