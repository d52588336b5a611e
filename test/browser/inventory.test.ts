// The inventory of the backend is browsed, edited and deleted from, and asks before it deletes.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type InventoryStage, openInventoryStage } from "../http/inventory-stage.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, assertForEverybody, expectRefusal, leave, visit } from "./visit.ts";

const STORES = "/v2/inventory/vector_stores?format=ui";

describe("the inventory in a browser", () => {
  let stage: InventoryStage;
  let browser: Browser;
  let [file, store, assistant, response] = ["", "", "", ""];
  before(async () => {
    stage = await openInventoryStage();
    file = await stage.upload("handbook.txt");
    store = await stage.store("handbook", [file, await stage.upload("broken.pdf", "this is no PDF")]);
    await stage.useInDomain(store);
    ({ id: assistant } = await stage.client.beta.assistants.create({ model: "gpt-4o", name: "Help desk" }));
    ({ id: response } = await stage.client.responses.create({ model: "lockstep-extractive", input: "Hello" }));
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await stage?.close();
  });

  const row = (page: Page, name: string) => page.locator("tbody tr", { hasText: name });

  it("has no serious accessibility problem on any page, wide or narrow, light or dark", async () => {
    const ids = `vector_store_id=${store}`;
    const pages = [
      "/v2/inventory?format=ui",
      "/v2/inventory/files?format=ui",
      STORES,
      `/v2/inventory/vector_stores/get?${ids}&format=html`,
      `/v2/inventory/vector_stores/files?${ids}&format=html`,
      `/v2/inventory/vector_stores/files/get?${ids}&file_id=${file}&format=html`,
      "/v2/inventory/assistants?format=ui",
      "/v2/inventory/responses?format=html",
      `/v2/inventory/files/get?file_id=${file}&format=html`,
      `/v2/inventory/assistants/get?assistant_id=${assistant}&format=html`,
      `/v2/inventory/responses/get?response_id=${response}&format=html`,
    ];
    for (const path of pages) {
      const visited = await visit(browser, stage.url, path);
      await assertForEverybody(visited.page);
      await leave(visited);
    }
  });

  it("leads from the overview to the files of a store, and finds the one that failed", async () => {
    const visited = await visit(browser, stage.url, "/v2/inventory?format=ui");
    const { page } = visited;
    await page.getByRole("link", { name: "Vector stores" }).click();
    await row(page, "handbook").getByRole("link", { name: /^2/ }).click();
    // The page before has a filter, too.
    await page.waitForURL(/vector_stores\/files/);
    await page.getByRole("searchbox", { name: "Filter" }).fill("failed");
    await row(page, "handbook.txt").waitFor({ state: "detached" });
    assert.match(await row(page, "broken.pdf").innerText(), /failed/);
    await leave(visited);
  });

  it("creates a vector store and edits it", async () => {
    const visited = await visit(browser, stage.url, STORES);
    const { page } = visited;
    await page.getByText("Create a vector store").click();
    const form = page.locator("form", { hasText: "Create vector store" });
    await form.getByLabel("Name").fill("drafts");
    await form.getByLabel("Metadata, as JSON").fill("{");
    await form.getByRole("button").click();
    await form.getByText("'metadata' must be a JSON object").waitFor();
    await form.getByLabel("Metadata, as JSON").fill('{"team":"HR"}');
    await form.getByRole("button").click();
    await row(page, "drafts").waitFor();
    await page.getByRole("button", { name: "Edit drafts" }).click();
    const dialog = page.getByRole("dialog", { name: "Edit vector store" });
    assert.equal(await dialog.getByLabel("Metadata, as JSON").inputValue(), '{"team":"HR"}');
    await assertAccessible(page);
    await dialog.getByLabel("Name").fill("notes");
    await dialog.getByRole("button", { name: "Save" }).click();
    await row(page, "notes").waitFor();
    const { json } = await stage.ask("GET vector_stores?format=json&filter=notes");
    assert.deepEqual([json.data.length, json.data[0]?.metadata], [1, { team: "HR" }]);
    await expectRefusal(visited);
    await leave(visited);
  });

  it("asks before it deletes, by the name of the domain where one uses the store", async () => {
    const visited = await visit(browser, stage.url, STORES);
    const { page } = visited;
    await page.getByRole("link", { name: "Delete handbook" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete vector store?" });
    await dialog.getByText("HANDBOOK").first().waitFor();
    await assertAccessible(page);
    await dialog.getByRole("button", { name: "Delete" }).click();
    assert.ok(await dialog.isVisible(), "the box has to be ticked");
    assert.equal((await stage.ask(`GET vector_stores/get?vector_store_id=${store}`)).status, 200);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "Delete notes" }).click();
    await dialog.getByText("notes").first().waitFor();
    assert.equal(await dialog.getByText("HANDBOOK").first().isVisible(), false);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await row(page, "notes").waitFor({ state: "detached" });
    await row(page, "handbook").waitFor();
    await leave(visited);
  });

  it("copies files between stores, and asks before it takes others out", async () => {
    const target = await stage.store("copy", [await stage.upload("other.txt")]);
    const visited = await visit(browser, stage.url, STORES);
    const { page } = visited;
    await page.getByText("Copy files between vector stores").click();
    await page.getByRole("combobox", { name: "Sources" }).fill(store);
    await page.getByRole("combobox", { name: "Targets" }).fill(target);
    await page.getByLabel("Then take files out of the targets").check();
    await page.getByRole("button", { name: "Copy files" }).click();
    const dialog = page.getByRole("dialog", { name: "Take files out of the targets?" });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal((await stage.held(target)).length, 1);
    await page.getByRole("button", { name: "Copy files" }).click();
    await dialog.getByRole("button", { name: "Copy and take out" }).click();
    await page.waitForURL(/\/v2\/jobs\/get\?job_id=jb_\d+/);
    await page.getByText("[ 1 / 1 ] Removing file 'other.txt'").waitFor();
    await page.getByText("completed").first().waitFor();
    assert.deepEqual(await stage.held(target), [file]);
    await leave(visited);
  });

  it("deletes without scripts, from the page of the object", async () => {
    await stage.upload("old.txt");
    const context = { javaScriptEnabled: false };
    const visited = await visit(browser, stage.url, "/v2/inventory/files?format=ui&filter=old.txt", context);
    const { page } = visited;
    await page.getByRole("link", { name: "Delete old.txt" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.waitForURL(/files\/delete/);
    assert.equal((await stage.ask("GET files?format=json&filter=old.txt")).json.data.length, 0);
    await leave(visited);
  });
});
