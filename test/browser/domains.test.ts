// Domains are created, edited, renamed, rolled back and deleted in a browser, with and without scripts.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Locator } from "playwright-core";
import { NotFoundError } from "../../src/contracts/errors.ts";
import { parseDomainId, type VectorStoreId } from "../../src/contracts/ids.ts";
import { formatSource } from "../../src/domains/source-codec.ts";
import { BrowserStage } from "./browser-stage.ts";
import { assertAccessible, assertForEverybody, assertStacked, expectRefusal, leave, unfold } from "./visit.ts";

const LIST = "/v2/domains?format=ui";
const HANDBOOK = parseDomainId("HANDBOOK");
const RENAMED = parseDomainId("HANDBOOK-2");
const DRIVE = parseDomainId("DRIVE");

describe("domains in a browser", () => {
  let stage: BrowserStage;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-drive-"));
    await mkdir(join(folder, "Coast notes"));
    await writeFile(
      join(folder, "Coast notes", "gulls.md"),
      "# Gulls\n\nThe herring gull nests on the harbour roof.\n",
    );
    await writeFile(join(folder, "draft.tmp.md"), "The herring gull is left out here.\n");
    stage = await BrowserStage.open({ seed: "company" });
  });
  after(async () => {
    await stage?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const fill = async (row: Locator, fields: Record<string, string>): Promise<void> => {
    for (const [label, value] of Object.entries(fields)) await row.getByLabel(label, { exact: true }).fill(value);
  };

  it("creates one with sources that the tenant has checked", async () => {
    const visited = await stage.visit(LIST);
    const { page } = visited;
    await page.getByRole("link", { name: "New domain" }).click();
    const form = page.locator("[data-domain-editor]");
    await unfold(form);
    await fill(form, { Name: "Handbook", Description: "Travel <b>and</b> leave" });
    assert.equal(await form.getByLabel("Domain id").inputValue(), "HANDBOOK");
    await form.getByRole("button", { name: "Add document library" }).click();
    const library = form.locator("[data-part=rows] [data-source-row=file_sources]");
    await unfold(library);
    await fill(library, { "Source id": "docs", "Site address": stage.world.sandbox.siteUrl });
    await library.getByText("There is:").waitFor();
    assert.equal(await library.locator(".finding.bad").count(), 0, "what was not typed yet is no mistake");
    await fill(library, { "Library, or a folder in it": "/Xyzzy" });
    const mistake = library.locator(".finding.bad");
    await mistake.getByText("check 'Library, or a folder in it'").waitFor();
    assert.doesNotMatch(await mistake.innerText(), /sharepoint_url_part/);
    await fill(library, { "Library, or a folder in it": "/Shared Dokuments" });
    await library
      .getByText(/no library|not found|does not exist|There is/i)
      .first()
      .waitFor();
    await library.getByRole("button", { name: "/Shared Documents", exact: true }).click();
    await library.locator(".finding.good").waitFor();
    assert.equal(await library.locator(".finding.bad").count(), 0);
    await form.getByRole("button", { name: "Add list" }).click();
    const list = form.locator("[data-part=rows] [data-source-row=list_sources]");
    await unfold(list);
    await fill(list, {
      "Source id": "suppliers",
      "Site address": stage.world.sandbox.siteUrl,
      "Title of the list": "Suppliers",
    });
    await list.locator(".finding.good").waitFor();
    await list.getByLabel("Items").fill("3");
    await assertAccessible(page);
    await form.getByRole("button", { name: "Create without crawling" }).click();
    await page.getByRole("heading", { name: "Handbook", level: 1 }).waitFor();
    const { sources, description } = await stage.world.app.domains.get(HANDBOOK);
    assert.equal(description, "Travel <b>and</b> leave");
    assert.deepEqual(
      sources.map((source) => [
        source.sourceType,
        source.sourceId,
        "siteUrl" in source && source.siteUrl,
        source.limits.maxRemovals,
      ]),
      [
        ["file_sources", "docs", stage.world.sandbox.siteUrl, 25],
        ["list_sources", "suppliers", stage.world.sandbox.siteUrl, 3],
      ],
    );
    assert.equal(sources[0] && formatSource(sources[0])["sharepoint_url_part"], "/Shared Documents");
    await leave(visited);
  });

  it("changes it: another schedule, one source duplicated, one removed", async () => {
    const visited = await stage.visit(LIST);
    const { page } = visited;
    await page.getByRole("link", { name: "Edit Handbook" }).click();
    const form = page.locator("[data-domain-editor=HANDBOOK]");
    const schedule = form.getByLabel("Crawl by itself");
    await schedule.fill("every day");
    await form.getByText(/'Crawl by itself'/).waitFor();
    await expectRefusal(visited);
    await schedule.fill("0 2 * * *");
    await form.getByText(/^Next: /).waitFor();
    const rows = form.locator("[data-part=rows] [data-source-row]");
    await rows.first().getByRole("button", { name: "Duplicate" }).click();
    assert.equal(await rows.count(), 3);
    await rows.nth(1).getByLabel("Source id").fill("contracts");
    await rows.nth(1).getByLabel("Library, or a folder in it").fill("/Nowhere");
    await rows.nth(1).getByText("It can be saved all the same.").waitFor();
    await rows.last().getByRole("button", { name: "Remove" }).click();
    await form.getByRole("button", { name: "Save" }).click();
    await page.getByText("0 2 * * *").waitFor();
    const { sources, schedule: saved } = await stage.world.app.domains.get(HANDBOOK);
    assert.equal(saved, "0 2 * * *");
    assert.deepEqual(
      sources.map((source) => `${source.sourceId} ${"urlPart" in source ? source.urlPart : ""}`),
      ["docs /Shared Documents", "contracts /Nowhere"],
    );
    await leave(visited);
  });

  it("says why it could not be saved, and keeps what was typed", async () => {
    const visited = await stage.visit("/v2/domains/get?domain_id=HANDBOOK&format=html#edit");
    const { page } = visited;
    const form = page.locator("[data-domain-editor]");
    await form.getByLabel("Name", { exact: true }).fill("Other name");
    await form.getByLabel("Domain id").fill("STORY");
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByRole("alert").getByText(/STORY/).waitFor();
    assert.equal(await form.getByLabel("Name", { exact: true }).inputValue(), "Other name");
    assert.equal((await stage.world.app.domains.get(HANDBOOK)).name, "Handbook");
    await expectRefusal(visited);
    await leave(visited);
  });

  it("overwrites nothing that changed meanwhile and was not edited", async () => {
    const visited = await stage.visit("/v2/domains/get?domain_id=HANDBOOK&format=html#edit");
    const { page } = visited;
    const form = page.locator("[data-domain-editor]");
    const earlier = await stage.world.app.domains.get(HANDBOOK);
    await stage.world.app.domains.update({ ...earlier, vectorStoreId: "vs_new" as VectorStoreId }, earlier);
    await form.getByLabel("Description").fill("Other words");
    await form.getByRole("button", { name: "Save" }).click();
    await page.getByText("Other words").first().waitFor();
    const { vectorStoreId, description } = await stage.world.app.domains.get(HANDBOOK);
    assert.deepEqual([vectorStoreId, description], ["vs_new", "Other words"]);
    await stage.world.app.domains.update(
      { ...earlier, vectorStoreId: "" },
      { ...earlier, vectorStoreId: "vs_new" as VectorStoreId },
    );
    await leave(visited);
  });

  it("renames it", async () => {
    const visited = await stage.visit("/v2/domains/get?domain_id=HANDBOOK&format=html#edit");
    const { page } = visited;
    const form = page.locator("[data-domain-editor]");
    await form.getByLabel("Domain id").fill("HANDBOOK-2");
    await form.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/domain_id=HANDBOOK-2/);
    await page.getByRole("heading", { name: "Handbook", level: 1 }).waitFor();
    assert.equal((await stage.world.app.domains.get(RENAMED)).sources.length, 2);
    await assert.rejects(stage.world.app.domains.get(HANDBOOK), NotFoundError);
    await leave(visited);
  });

  it("deletes it in two steps", async () => {
    const visited = await stage.visit(LIST);
    const { page } = visited;
    await page.getByRole("link", { name: "Delete Handbook" }).click();
    await page.getByText(/Deletes Handbook \(HANDBOOK-2\)/).waitFor();
    await page.getByRole("button", { name: "Delete Handbook" }).click();
    await page.waitForURL((url) => url.pathname === "/v2/domains");
    assert.equal(await page.getByText("HANDBOOK-2").count(), 0);
    await assert.rejects(stage.world.app.domains.get(RENAMED), NotFoundError);
    await leave(visited);
  });

  it("rolls readers back to a generation, and releases them", async () => {
    await stage.world.crawl();
    await stage.world.change("add", { path: "news.txt", text: "The canteen serves pelmeni." });
    await stage.world.crawl();
    const visited = await stage.visit("/v2/domains/generations?domain_id=STORY&format=html");
    const { page } = visited;
    await page.getByRole("link", { name: "What changed in generation 2" }).click();
    await page.getByRole("row", { name: /added news\.txt/ }).waitFor();
    await page.getByRole("link", { name: "All generations" }).click();
    await page.getByText("Roll back to 1").click();
    await page.getByRole("button", { name: "Show readers generation 1" }).click();
    await page.getByText(/Rolled back: readers see generation 1/).waitFor();
    assert.deepEqual(await stage.world.found("pelmeni"), []);
    await assertAccessible(page);
    await page.getByRole("button", { name: "Release" }).click();
    await page.getByText(/Rolled back/).waitFor({ state: "detached" });
    await stage.world.crawl();
    assert.deepEqual(await stage.world.found("pelmeni"), ["news.txt"]);
    await leave(visited);
  });

  it("takes in a folder: from the editor over the plan to the answer and its documents", async () => {
    const visited = await stage.visit(LIST);
    const { page } = visited;
    await page.getByRole("link", { name: "New domain" }).click();
    const form = page.locator("[data-domain-editor]");
    await fill(form, { Name: "Drive" });
    await form.getByRole("button", { name: "Add folder" }).click();
    const row = form.locator("[data-part=rows] [data-source-row=folder_sources]");
    await unfold(row);
    await fill(row, { "Source id": "drive", Folder: join(folder, "nowhere") });
    await row.locator(".finding.bad").waitFor();
    await fill(row, { Folder: folder, "Take only": "Coast notes/**\n*.md", "Leave out": "*.tmp.*" });
    await row.locator(".finding.good").waitFor();
    assert.equal(await row.locator(".finding.bad").count(), 0);
    await form.getByRole("button", { name: "Add web site" }).click();
    const site = form.locator("[data-part=rows] [data-source-row=web_sources]");
    await unfold(site);
    const asked = page.waitForRequest((request) => request.url().includes("web_sources"));
    await fill(site, { "Take only": "/guide/** /news/**", "Start addresses": "http://127.0.0.1:9/" });
    const wanted = new URL((await asked).url()).searchParams.get("include");
    assert.equal(wanted, "/guide/**\n/news/**", "globs of addresses hold no blanks");
    await site.locator(".finding.bad").first().waitFor();
    await site.getByRole("button", { name: "Remove" }).click();
    await unfold(form);
    await assertAccessible(page);
    await form.getByRole("button", { name: "Create without crawling" }).click();
    await page.getByRole("heading", { name: "Drive", level: 1 }).waitFor();
    const [source] = (await stage.world.app.domains.get(DRIVE)).sources;
    const { root, include, exclude } = source ? formatSource(source) : {};
    assert.deepEqual([root, include, exclude], [folder, ["Coast notes/**", "*.md"], ["*.tmp.*"]]);
    await page.getByRole("link", { name: "Crawl", exact: true }).click();
    await page.getByLabel("Dry run").check();
    await page.getByRole("button", { name: "Make the plan" }).click();
    const plan = page.locator("#plan");
    await plan.getByRole("link", { name: "Look at the whole plan" }).click();
    await plan.getByText("Coast notes/gulls.md").first().waitFor();
    assert.equal(await plan.getByText("draft.tmp.md").count(), 0);
    await page.goBack();
    await page.getByRole("button", { name: "Apply this plan" }).click();
    await page.locator("#standings tr").filter({ hasText: "Drive" }).getByText("in step").waitFor();
    await page.goto(`${stage.url}/v2/search?format=ui&domain_id=DRIVE&query=herring+gull`);
    const result = page.locator(".result");
    await result.getByText("gulls.md").first().waitFor();
    assert.equal(await result.count(), 1);
    assert.equal(await result.locator("a[href^='file:']").count(), 0, "no browser follows such a link");
    await result.getByRole("heading").getByRole("link").click();
    await page.getByText("The herring gull nests on the harbour roof.").first().waitFor();
    await page.goto(`${stage.url}/v2/domains/get?domain_id=DRIVE&format=html`);
    await page.getByRole("link", { name: "Documents of drive" }).click();
    await page.getByText("gulls.md").first().waitFor();
    await assertAccessible(page);
    await leave(visited);
  });

  it("creates one without scripts", async () => {
    const visited = await stage.visit(LIST, { javaScriptEnabled: false });
    const { page } = visited;
    await page.getByText("New domain").last().click();
    await page.getByLabel("Name", { exact: true }).fill("Plain");
    await page.getByLabel("Domain id").fill("PLAIN");
    await page.getByRole("button", { name: "Create domain" }).click();
    await page.waitForURL(/\/v2\/domains\/create/);
    assert.equal((await stage.world.app.domains.get(parseDomainId("PLAIN"))).sources[0]?.sourceId, "documents");
    await leave(visited);
  });

  it("everybody can use the pages, wide in light, on a phone in dark", async () => {
    for (const path of [
      LIST,
      "/v2/domains/get?domain_id=STORY&format=html",
      "/v2/domains/get?domain_id=DRIVE&format=html",
      "/v2/domains/generations?domain_id=STORY&format=html",
      "/v2/domains/generations/difference?domain_id=STORY&from=1&to=2&format=html",
      "/v2/domains/check?domain_id=STORY&format=html",
    ]) {
      const visited = await stage.visit(path);
      await visited.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
      await assertForEverybody(visited.page);
      await assertStacked(visited.page);
      await leave(visited);
    }
  });
});
