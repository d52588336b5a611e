// The search page marks what it found, says why, and explains what is missing.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { BrowserStage } from "./browser-stage.ts";
import { assertAccessible, assertForEverybody, leave } from "./visit.ts";

const SEARCH = "/v2/search?format=ui";

describe("searching in a browser", () => {
  let stage: BrowserStage;
  before(async () => {
    stage = await BrowserStage.open({ seed: "company" }, async (world) => {
      await world.change("add", {
        path: "odd &lt; name's.txt",
        text: "The xylophone <b>room</b> is on the third floor.",
      });
      await world.crawl();
    });
  });
  after(() => stage?.close());

  const search = async (page: Page, query: string): Promise<void> => {
    await page.getByRole("searchbox", { name: "Search for" }).fill(query);
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page
      .getByRole("status")
      .filter({ hasText: `“${query}”` })
      .waitFor();
  };
  const firstResult = (page: Page) => page.locator(".result").first();

  it("marks what was found, says why, and opens the source", async () => {
    const visited = await stage.visit(SEARCH);
    const { page } = visited;
    await search(page, "hotel night in Copenhagen");
    const result = firstResult(page);
    assert.equal(await result.getByRole("heading").innerText(), "Travel Policy");
    assert.deepEqual((await result.locator("mark").allInnerTexts()).slice(0, 3), ["hotel", "night", "Copenhagen"]);
    await result.getByText("Why?").first().click();
    assert.match(
      await result.locator(".reason").first().innerText(),
      /Words[\s\S]*hotel, night, copenhagen[\s\S]*generation 1/,
    );
    await result.getByRole("link", { name: "Its whole way, from the source on" }).first().click();
    await page
      .getByText(/^Found at place 1/)
      .first()
      .waitFor();
    await page.goBack();
    const address = `${stage.world.sandbox.siteUrl}/Shared%20Documents/Policies/Travel.docx`;
    const asked = page.context().waitForEvent("request", (request) => request.url() === address);
    const opened = page.context().waitForEvent("page");
    await result.getByRole("link", { name: "Travel Policy", exact: true }).click();
    await asked;
    await (await opened).close();
    await leave(visited);
  });

  it("shows names and passages as text, whatever they hold", async () => {
    const visited = await stage.visit(`${SEARCH}&query=xylophone`);
    const result = firstResult(visited.page);
    assert.equal(await result.getByRole("heading").innerText(), "odd &lt; name's.txt");
    assert.match(await result.locator(".passage").first().innerText(), /xylophone <b>room<\/b>/);
    await leave(visited);
  });

  it("narrows, asks for more, and says what was ignored", async () => {
    const visited = await stage.visit(SEARCH);
    const { page } = visited;
    await search(page, "policy");
    await page.getByRole("link", { name: "Show up to 20" }).click();
    await page.waitForURL(/results=20/);
    assert.ok((await page.locator(".result .reason").count()) > 10);
    await page.getByText("Narrow it").click();
    await page.getByLabel("File types").fill("pdf");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.waitForURL(/file_type=pdf/);
    for (const text of await page.locator(".result").allInnerTexts()) assert.match(text, /\.pdf\b/);
    await page.getByLabel("File types").fill("");
    await search(page, '"zebra crossing of hotels" hotel');
    await page.getByText(/What stands in quotes occurs nowhere/).waitFor();
    await leave(visited);
  });

  it("explains a document that is missing, on the page and without scripts", async () => {
    await stage.world.change("add", { path: "new plan.txt", text: "The walrus plan." });
    const visited = await stage.visit(`${SEARCH}&query=walrus`);
    const { page } = visited;
    await page.getByLabel("Name, path or address").fill("Travel.docx");
    await page.getByRole("button", { name: "Explain" }).click();
    await page.locator("[data-explanation]").getByText("In the search").waitFor();
    assert.match(
      await page.locator("[data-explanation]").innerText(),
      /Travel\.docx[\s\S]*At the source[\s\S]*In the index/,
    );
    await page.getByLabel("Name, path or address").fill("new plan.txt");
    await page.getByRole("button", { name: "Explain" }).click();
    await page.locator("[data-explanation]").getByText("new plan.txt").first().waitFor();
    await assertAccessible(page);
    assert.equal(new URL(page.url()).pathname, "/v2/search");
    await leave(visited);
    const plain = await stage.visit(`${SEARCH}&query=walrus`, { javaScriptEnabled: false });
    await plain.page.getByLabel("Name, path or address").fill("Travel.docx");
    await plain.page.getByRole("button", { name: "Explain" }).click();
    await plain.page.getByRole("heading", { name: "Why is it found, or not?" }).waitFor();
    await leave(plain);
  });

  it("says on the page what is wrong with a question", async () => {
    const visited = await stage.visit(`${SEARCH}&query=hotel&domain_id=NONE`);
    await visited.page.getByRole("alert").getByText(/NONE/).waitFor();
    await leave(visited);
  });

  it("everybody can use it, wide in light, on a phone in dark", async () => {
    const explain = "/v2/search/explain?domain_id=STORY&query=hotel&document=Travel.docx&format=html";
    for (const path of [SEARCH, `${SEARCH}&query=hotel+night`, explain, "/query2?query=hotel"]) {
      const visited = await stage.visit(path);
      await visited.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
      await assertForEverybody(visited.page);
      await leave(visited);
    }
  });
});
