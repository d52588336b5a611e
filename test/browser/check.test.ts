import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { World } from "../engine/world.ts";
import { openBrowser } from "./open-browser.ts";

describe("testing the connection in a browser", () => {
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

  it("shows the findings in the card, and newer ones in their place", async () => {
    const page = await browser.newPage();
    const troubles: string[] = [];
    page.on("pageerror", (error) => troubles.push(error.message));
    page.on("console", (message) => troubles.push(message.text()));
    await page.goto(server.url);
    const card = page.getByRole("article", { name: "Story" });
    const button = card.getByRole("button", { name: "Test connection of Story" });
    await button.click();
    await card.getByText("Everything a crawl needs is there.").waitFor();
    world.sandbox.state.settings.roles = ["Sites.Selected"];
    await button.click();
    await card.getByText("1 problem keeps a crawl from working.").waitFor();
    assert.match(await card.innerText(), /Grant-PnPEntraIDAppSitePermission/);
    assert.equal(await card.locator("[data-findings]").count(), 1);
    assert.equal(new URL(page.url()).pathname, "/");
    assert.deepEqual(troubles, []);
    await page.close();
  });

  it("works without scripts, on a page of its own", async () => {
    world.sandbox.state.settings.roles = ["Sites.Read.All"];
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByRole("button", { name: "Test connection of Story" }).click();
    await page.getByRole("heading", { name: "Connection of STORY" }).waitFor();
    assert.match(await page.locator("main").innerText(), /Everything a crawl needs is there/);
    await context.close();
  });
});
