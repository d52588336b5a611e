// An admin can do a whole day's work by clicking from page to page.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { NotFoundError } from "../../src/contracts/errors.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { BrowserStage } from "./browser-stage.ts";
import { assertAccessible, leave, unfold, type Visit } from "./visit.ts";

const HR = parseDomainId("HR");

/** What an admin does with a knowledge base from its first day to its last, in one window, by clicking from page to page. */
describe("an admin's day in a browser", () => {
  let stage: BrowserStage;
  let visited: Visit;
  let page: Page;
  before(async () => {
    stage = await BrowserStage.open({ seed: "company" });
    visited = await stage.visit("/");
    page = visited.page;
  });
  after(() => stage?.close());

  const inState = (state: string): Promise<unknown> => page.waitForSelector(`#console[data-state="${state}"]`);
  const go = (name: string): Promise<void> =>
    page.getByRole("navigation").getByRole("link", { name, exact: true }).click();

  it("creates a domain", async () => {
    await go("Domains");
    await page.getByRole("link", { name: "New domain" }).click();
    const form = page.locator("[data-domain-editor]");
    await form.getByLabel("Name", { exact: true }).fill("People");
    await unfold(form);
    await form.getByLabel("Domain id").fill(HR);
    await form.getByRole("button", { name: "Add document library" }).click();
    const source = form.locator("[data-part=rows] [data-source-row=file_sources]");
    await unfold(source);
    await source.getByLabel("Source id").fill("docs");
    await source.getByLabel("Site address").fill(stage.world.sandbox.siteUrl);
    await source.getByLabel("Library, or a folder in it").fill("/Shared Documents");
    await source.locator(".finding.good").waitFor();
    await form.getByRole("button", { name: "Create without crawling" }).click();
    await page.getByRole("heading", { name: "People", level: 1 }).waitFor();
    await assertAccessible(page);
  });

  it("looks at the plan of a crawl, then crawls and watches it", async () => {
    await go("Crawler");
    await page.locator("select[name=domain_id]").selectOption(HR);
    await page.getByLabel("Dry run").check();
    await page.getByRole("button", { name: "Make the plan" }).click();
    await page.locator("#plan").getByRole("link", { name: "Look at the whole plan" }).click();
    await page.locator("#plan").getByText("Travel.docx").first().waitFor();
    await page.goBack();
    assert.equal((await stage.world.app.domains.get(HR)).vectorStoreId, "");
    await stage.world.fault({ url: "\\$value", times: "always" }, { delayMs: 3000 });
    await page.locator("#plan").getByRole("button", { name: "Apply this plan" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await inState("paused");
    await page.getByRole("button", { name: "Resume" }).click();
    await page.locator("#console .crawl-steps").waitFor();
    await page.locator(".log-fold summary").click();
    await page.getByRole("log").getByText("Resumed.").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await inState("cancelled");
    await stage.world.control("DELETE", "faults");
    await page.getByLabel("Dry run").uncheck();
    await page.getByRole("button", { name: "Start" }).click();
    await inState("completed");
    await assertAccessible(page);
  });

  it("finds a passage and opens its source", async () => {
    await go("Search");
    await page.locator("select[name=domain_id]").selectOption(HR);
    await page.getByRole("searchbox", { name: "Search for" }).fill("hotel night in Copenhagen");
    await page.getByRole("searchbox", { name: "Search for" }).press("Enter");
    const result = page.locator(".result").filter({ hasText: "Copenhagen" }).first();
    await result.waitFor();
    assert.deepEqual((await result.locator("mark").allInnerTexts()).slice(0, 3), ["hotel", "night", "Copenhagen"]);
    const address = `${stage.world.sandbox.siteUrl}/Shared%20Documents/Policies/Travel.docx`;
    const opened = page.context().waitForEvent("page");
    const asked = page.context().waitForEvent("request", (request) => request.url() === address);
    await result.getByRole("link", { name: "Travel Policy", exact: true }).click();
    await asked;
    await (await opened).close();
  });

  it("reads the report", async () => {
    await go("Reports");
    await page.getByRole("link", { name: /^View/ }).first().click();
    await page.getByRole("heading", { name: /^Crawl of HR/ }).waitFor();
    await page.getByRole("navigation", { name: "Files of the report" }).getByText("vectorstore_map.csv").click();
    await page.getByRole("searchbox", { name: "Filter" }).fill("Travel.docx");
    await page.waitForURL(/[?&]filter=Travel/);
    await page.locator("#map tbody tr").filter({ hasText: "Travel.docx" }).first().waitFor();
    await assertAccessible(page);
  });

  it("sees in the inventory what the backend holds", async () => {
    await go("Inventory");
    await page
      .getByRole("link", { name: /Vector stores/ })
      .first()
      .click();
    await page.getByRole("cell", { name: /HR/ }).first().waitFor();
    await assertAccessible(page);
  });

  it("deletes the domain, and it is gone from every page", async () => {
    await go("Domains");
    await page.getByRole("link", { name: "Delete People" }).click();
    await page.getByRole("button", { name: "Delete People" }).click();
    await page.waitForURL(/\/v2\/domains\?/);
    assert.equal(await page.getByText("People", { exact: true }).count(), 0);
    await assert.rejects(stage.world.app.domains.get(HR), NotFoundError);
    await go("Overview");
    assert.equal(await page.getByRole("article", { name: "People" }).count(), 0);
    await leave(visited);
  });
});
