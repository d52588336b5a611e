// The documents of a folder, their versions and changes can be read by everybody.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FolderStage } from "../engine/folder-stage.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, leave, visit } from "./visit.ts";

const LIST = "/v2/documents?domain_id=FOLDERS&format=html";

describe("the documents of a folder in a browser", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let browser: Browser;
  before(async () => {
    stage = await FolderStage.open();
    await stage.write("handbook/a file with a rather long name that has to go somewhere.md", "# Travel\n\nBy plane.");
    await stage.write("gone.txt", "Soon gone.");
    for (let i = 0; i < 50; i++) await stage.write(`notes/${i}.md`, `Note ${i}.`);
    await stage.crawl();
    await stage.write("handbook/a file with a rather long name that has to go somewhere.md", "# Travel\n\nBy train.");
    await stage.remove("gone.txt");
    await stage.crawl();
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0 });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await stage?.close();
  });

  it("leads from the table to a document, its versions and what changed", async () => {
    const visited = await visit(browser, server.url, LIST);
    const { page } = visited;
    await page.getByText("1–50 of 52").waitFor();
    await page.getByLabel("State").selectOption("missing");
    await page.getByText("1–50 of 52").waitFor({ state: "detached" });
    assert.equal(await page.locator("#documents tbody tr").count(), 1);
    await page.getByRole("link", { name: "gone.txt" }).waitFor();
    await page.getByLabel("State").selectOption("");
    await page.getByRole("searchbox", { name: "Filter" }).fill("long name");
    await page.getByRole("searchbox", { name: "Filter" }).press("Enter");
    await page.getByRole("link", { name: "long name" }).click();
    await page.getByRole("link", { name: "Read version v1" }).click();
    assert.match(await page.locator("pre").innerText(), /By plane\./);
    await page.getByRole("link", { name: "All versions" }).click();
    await page.getByRole("link", { name: "What changed in version v2" }).click();
    assert.deepEqual(await page.locator("ins, del").allInnerTexts(), ["- By plane.", "+ By train."]);
    await page.getByRole("link", { name: "All versions" }).click();
    await page.getByRole("link", { name: "Its sections" }).click();
    assert.match(await page.locator("#section-1").innerText(), /^Travel level 1 .*By train\.$/s);
    await leave(visited);
  });

  it("holds a document, lifts the hold, and erases it, each in two steps", async () => {
    const { docId } = await stage.document("notes/7.md");
    const visited = await visit(
      browser,
      server.url,
      `/v2/documents/get?domain_id=FOLDERS&document=${docId}&format=html`,
    );
    const { page } = visited;
    await page.getByText("Hold it", { exact: true }).click();
    await page.getByRole("button", { name: "Hold this document" }).click();
    await page.getByRole("heading", { name: "Erased and held" }).waitFor();
    assert.match(await page.getByRole("group", { name: "What is held" }).innerText(), new RegExp(docId));
    await assertAccessible(page);
    await page.getByText("Lift the hold").first().click();
    await page.getByRole("button", { name: "Lift the hold" }).click();
    await page.getByText("Nothing is held.").waitFor();
    await page.goto(`${server.url}/v2/documents/get?domain_id=FOLDERS&document=${docId}&format=html`);
    await page.getByText("Erase it", { exact: true }).click();
    await page.getByRole("button", { name: "Erase this document for good" }).click();
    await page.getByText("erasures/").first().waitFor();
    await page.goto(`${server.url}/v2/documents/erased?domain_id=FOLDERS&format=html`);
    assert.match(await page.getByRole("group", { name: "What was erased" }).innerText(), new RegExp(docId));
    await assertAccessible(page);
    await leave(visited);
  });

  const LOOKS = [
    { name: "light", options: { colorScheme: "light" }, pages: ["list", "get?", "sections?"] },
    { name: "dark", options: { colorScheme: "dark" }, pages: ["get?", "difference?from=v1&to=v2&", "sections?"] },
    {
      name: "phone",
      options: { viewport: { width: 390, height: 844 } },
      pages: ["list", "get?", "version?", "sections?"],
    },
  ] as const;
  for (const { name, options, pages } of LOOKS) {
    it(`can be read by everybody: ${name}`, async () => {
      const { docId } = await stage.document("handbook/a file with a rather long name that has to go somewhere.md");
      for (const about of pages) {
        const one = `/v2/documents/${about}domain_id=FOLDERS&document=${docId}&format=html`;
        const visited = await visit(browser, server.url, about === "list" ? LIST : one, options);
        await assertAccessible(visited.page);
        const wide = await visited.page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
        assert.ok(Number(wide) <= 0, `${about} is ${wide} pixels too wide`);
        await leave(visited);
      }
    });
  }
});
