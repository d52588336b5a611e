// The page of what failed: grouped, with what to do, acknowledged by its buttons, also without scripts; a web site's remedy fits.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { ask } from "../http/ask.ts";
import { openBrowser } from "./open-browser.ts";
import { assertForEverybody, assertStacked, leave, unfold, visit } from "./visit.ts";

const PAGE = `/v2/documents/failed?domain_id=${FOLDERS}&format=html`;

describe("what failed, in a browser", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let browser: Browser;
  before(async () => {
    stage = await FolderStage.open();
    await stage.write("fine.md", "All is well.");
    for (const name of ["one", "two"]) await stage.write(`a rather long folder name/${name}.pdf`, `%PDF-1.4 ${name}`);
    await stage.write("letter.docx", "no Word document");
    await stage.tryCrawl();
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await stage?.close();
  });

  /** As everybody sees it, with all of it unfolded. */
  async function looks(path = PAGE): Promise<void> {
    const visited = await visit(browser, server.url, path);
    await unfold(visited.page.locator("main"));
    await assertForEverybody(visited.page);
    await assertStacked(visited.page);
    await leave(visited);
  }

  it("is reached from the domain, and each button acknowledges what it says, without scripts", async () => {
    const visited = await visit(browser, server.url, "/", { javaScriptEnabled: false });
    const { page } = visited;
    await page.getByRole("link", { name: "See what failed" }).click();
    const main = page.locator("main");
    assert.match(
      await main.innerText(),
      /2 items could not be[\s\S]*damaged[\s\S]*What to do: Open it in its own program/,
    );
    await page.getByRole("button", { name: "Acknowledge all 2" }).click();
    assert.match(await main.innerText(), /2 acknowledged\.[\s\S]*letter\.docx[\s\S]*Acknowledged \(2\)/);
    await page.getByRole("button", { name: "Acknowledge letter.docx" }).click();
    assert.match(await main.innerText(), /Acknowledged \(3\)/);
    await looks();
    await page.goto(server.url);
    assert.equal(await page.getByRole("link", { name: "See what failed" }).count(), 0);
    assert.match(await main.innerText(), /Nothing needs a look/);
    await page.goto(server.url + PAGE);
    await page.getByText("Acknowledged (3)").click();
    await page.getByRole("button", { name: "Make new again letter.docx" }).click();
    assert.match(await main.innerText(), /1 new again/);
    await page.goto(server.url);
    await page.getByRole("link", { name: "See what failed" }).click();
    await leave(visited);
  });

  it("says of an intranet address which setting lets it in, and nothing of its owner", async () => {
    const sources = { web_sources: [{ source_id: "intranet", start_urls: [`${server.url}/`] }] };
    const json = { domain_id: "INTRANET", name: "Intranet", ...sources };
    assert.equal((await ask(server.url, "POST /v2/domains/create", { json })).status, 200);
    await ask(server.url, "GET /v2/crawler/crawl?domain_id=INTRANET&mode=full&format=json");
    const path = "/v2/documents/failed?domain_id=INTRANET&format=html";
    const visited = await visit(browser, server.url, path);
    const { page } = visited;
    const text = await page.locator("main").innerText();
    assert.match(
      text,
      /intranet could not be read whole[\s\S]*set WEB_ALLOW_PRIVATE_NETWORKS=true where lockstep runs/,
    );
    assert.doesNotMatch(text, /owner/);
    await looks(path);
    await page.goto(server.url);
    await page.locator("article", { hasText: "Intranet" }).getByRole("link", { name: "See what failed" }).click();
    await leave(visited);
  });
});
