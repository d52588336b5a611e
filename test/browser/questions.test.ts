// The page of a domain's questions: they are written and made there, and what a crawl held is looked at and made visible.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, assertForEverybody, expectRefusal, leave, type Visit, visit } from "./visit.ts";

const PAGE = `/v2/domains/questions?domain_id=${FOLDERS}&format=html`;
const RIVERS = ["Aare", "Birs", "Drau", "Elbe", "Fulda", "Gurk", "Havel", "Isar", "Jagst", "Kocher", "Lech", "Mosel"];

describe("questions in a browser", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let browser: Browser;
  before(async () => {
    stage = await FolderStage.open();
    for (const [at, river] of RIVERS.entries()) {
      await stage.write(
        `${river}.md`,
        `# ${river}\n\nThe ${river} is ${at + 3} metres deep where the old bridge stands.`,
      );
    }
    await stage.crawl();
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await stage?.close();
  });
  const open = (options = {}): Promise<Visit> => visit(browser, server.url, PAGE, options);

  it("takes a question by its form, without scripts, refuses a document that is not there, and makes the others", async () => {
    const visited = await open({ javaScriptEnabled: false });
    const { page } = visited;
    assert.match(await page.locator("main").innerText(), /No questions yet\. Crawls ask from 10 on/);
    const add = async (document: string): Promise<void> => {
      await page.getByLabel("Question", { exact: true }).fill("How deep is the Elbe?");
      await page.getByLabel("Document that answers it").fill(document);
      await page.getByLabel("Words of the answer").fill("6 metres; bridge");
      await page.getByRole("button", { name: "Add", exact: true }).click();
    };
    await add("Elbe.md");
    assert.match(
      await page.locator("table").innerText(),
      /How deep is the Elbe\?[\s\S]*Elbe\.md[\s\S]*6 metres; bridge/,
    );
    await page.getByText("Make some from the documents").click();
    await page.getByRole("button", { name: "Make 50" }).click();
    assert.match(await page.locator("main").innerText(), /11 questions made/);
    assert.equal(await page.locator("tbody tr").count(), 12);
    await page.getByRole("link", { name: "Ask them now" }).click();
    assert.equal(await page.getByText("result 1", { exact: true }).count(), 12);
    await add("Rhine.md");
    assert.match(await page.locator("body").innerText(), /has no document 'Rhine\.md'/);
    await expectRefusal(visited);
    await leave(visited);
  });

  it("shows what a crawl held, and makes it visible", async () => {
    for (const river of RIVERS.slice(0, 4)) await stage.write(`${river}.md`, "This page has moved.");
    const held = await stage.tryCrawl();
    assert.equal(held.result.questions?.verdict, "held");
    const visited = await open();
    const { page } = visited;
    assert.match(
      await page.locator("main").innerText(),
      /would have answered 8 of 12 questions, after 12 before it: 4 additions and changes are held/,
    );
    assert.equal(await page.getByRole("group", { name: "Questions that got lost" }).locator("tbody tr").count(), 4);
    await assertAccessible(page);
    await page.getByRole("link", { name: "Show it to readers" }).click();
    assert.ok(await page.getByLabel("Confirm worse answers to questions").isChecked());
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator("#console").getByText("completed").first().waitFor();
    const { sources } = await stage.app.query({ text: "moved", limit: 3, domainId: FOLDERS, vectorStoreId: undefined });
    assert.match(sources[0]?.text ?? "", /This page has moved/);
    await leave(visited);
  });

  it("draws how they were answered on the domain's page, from the third time on", async () => {
    await stage.write("Nahe.md", "The Nahe is new.");
    await stage.crawl();
    const visited = await visit(browser, server.url, `/v2/domains/get?domain_id=${FOLDERS}&format=html`, {});
    const chart = visited.page.locator("section", {
      has: visited.page.getByRole("heading", { name: "Questions answered" }),
    });
    assert.match(
      (await chart.locator("svg").getAttribute("aria-label")) ?? "",
      /Asked 3 times: 8 of 12 answered the last time; 1 held/,
    );
    assert.equal(await chart.locator("rect.warn").count(), 2);
    await leave(visited);
  });

  it("is for everybody", async () => {
    const visited = await open();
    await assertForEverybody(visited.page);
    await leave(visited);
  });
});
