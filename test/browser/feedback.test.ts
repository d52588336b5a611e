// Readers vote on the answer above the results, with and without scripts; what was asked in vain is a page for those who look after the domain.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, assertForEverybody, leave, visit } from "./visit.ts";

const PAGE = `/v2/domains/feedback?domain_id=${FOLDERS}&format=html`;
const ANSWERED = "How many days of vacation does everybody have?";
const IN_VAIN = "Who won the football world cup in 1998?";

describe("feedback in a browser", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let browser: Browser;
  before(async () => {
    stage = await FolderStage.open();
    await stage.write("vacation.md", "# Vacation\n\nEverybody has thirty days of vacation a year.\n");
    await stage.write("travel.md", "# Travel\n\nA hotel night may cost 120 Euro.\n");
    await stage.write("football scores.pdf", "%PDF-1.4 cut off");
    await stage.tryCrawl();
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await stage?.close();
  });
  const asked = (query: string): string =>
    `/v2/search?${new URLSearchParams({ format: "ui", domain_id: FOLDERS, query })}`;
  const votes = async (): Promise<number[]> => {
    const { up, down } = await stage.app.feedback.list(FOLDERS);
    return [up, down];
  };

  it("is given below an answer, and changed", async () => {
    const visited = await visit(browser, server.url, asked(ANSWERED));
    const { page } = visited;
    const block = page.locator("[data-answer]");
    assert.match(await block.innerText(), /thirty days[\s\S]*Was this right\?/);
    await block.getByRole("button", { name: "the answer is right" }).click();
    await block.getByText("Thank you, it is noted.").waitFor();
    assert.deepEqual(await votes(), [1, 0]);
    await assertAccessible(page);
    await block.getByRole("button", { name: "the answer is wrong" }).click();
    await block.locator("button[aria-pressed=true][value=down]").waitFor();
    assert.deepEqual(await votes(), [0, 1], "one vote, changed");
    const [open] = (await stage.app.feedback.list(FOLDERS)).questions;
    assert.match(open?.answers[0] ?? "", /thirty days of vacation/);
    await leave(visited);
  });

  it("is given without scripts, and leads back to the question", async () => {
    const visited = await visit(browser, server.url, asked(ANSWERED), { javaScriptEnabled: false });
    const { page } = visited;
    await page.getByRole("button", { name: "the answer is right" }).click();
    assert.match(await page.locator("main").innerText(), /Thank you\. Your vote is noted/);
    assert.deepEqual(await votes(), [1, 0]);
    await page.getByRole("link", { name: `Back to “${ANSWERED}”` }).click();
    assert.match(await page.locator("[data-answer]").innerText(), /thirty days/);
    await leave(visited);
  });

  it("lists a question that nothing answers, with the failed file that may, until it is done", async () => {
    const search = await visit(browser, server.url, asked(IN_VAIN));
    await leave(search);
    const visited = await visit(browser, server.url, PAGE);
    const { page } = visited;
    const main = page.locator("main");
    assert.match(
      await main.innerText(),
      /Who won the football[\s\S]*1 person[\s\S]*nothing was found[\s\S]*football scores\.pdf/,
    );
    await assertForEverybody(page);
    await page.getByRole("button", { name: /^Done.*football/ }).click();
    await main.getByText("Nothing was asked in vain.").waitFor();
    await leave(visited);
  });
});
