// The connection test shows its findings on the dashboard, with and without scripts.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { BrowserStage } from "./browser-stage.ts";

describe("testing the connection in a browser", () => {
  let stage: BrowserStage;
  before(async () => {
    stage = await BrowserStage.open();
  });
  after(() => stage?.close());

  it("shows the findings in the card, and newer ones in their place", async () => {
    const page = await stage.browser.newPage();
    const troubles: string[] = [];
    page.on("pageerror", (error) => troubles.push(error.message));
    page.on("console", (message) => troubles.push(message.text()));
    await page.goto(stage.url);
    const card = page.getByRole("article", { name: "Story" });
    const button = card.getByRole("button", { name: "Test connection of Story" });
    await button.click();
    await card.getByText("Everything a crawl needs is there.").waitFor();
    stage.world.sandbox.state.settings.roles = ["Sites.Selected"];
    await button.click();
    await card.getByText("1 problem keeps a crawl from working.").waitFor();
    assert.match(await card.innerText(), /Grant-PnPEntraIDAppSitePermission/);
    assert.equal(await card.locator("[data-findings]").count(), 1);
    assert.equal(new URL(page.url()).pathname, "/");
    assert.deepEqual(troubles, []);
    await page.close();
  });

  it("works without scripts, on a page of its own", async () => {
    stage.world.sandbox.state.settings.roles = ["Sites.Read.All"];
    const context = await stage.browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(stage.url);
    await page.getByRole("button", { name: "Test connection of Story" }).click();
    await page.getByRole("heading", { name: "Connection of STORY" }).waitFor();
    assert.match(await page.locator("main").innerText(), /Everything a crawl needs is there/);
    await context.close();
  });
});
