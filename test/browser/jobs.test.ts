// The jobs page pages, filters, controls and deletes jobs, with and without scripts.
import assert from "node:assert/strict";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { JobStart } from "../../src/jobs/job-runner.ts";
import { type Served, serveScripted } from "../http/scripted-app.ts";
import { CRAWL, endlessWork, FINE, heldWork, untilLogged } from "../jobs/job-fixture.ts";
import { parseDomainInput } from "../kinds.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, leave, visit } from "./visit.ts";

const JOBS = 120;

const job = (object: string): JobStart => ({ ...CRAWL, object, endpoint: `/v2/crawler/crawl?domain_id=${object}` });

/** As if its process had given no sign of life for ten minutes. */
function age(folder: string, jobId: string): void {
  const name = readdirSync(folder).find((candidate) => candidate.includes(`[${jobId}]`)) ?? assert.fail(jobId);
  const then = new Date(Date.now() - 10 * 60_000);
  utimesSync(join(folder, name), then, then);
}

describe("the jobs page in a browser", () => {
  let served: Served;
  let browser: Browser;
  before(async () => {
    served = await serveScripted();
    browser = await openBrowser();
    for (let at = 1; at <= JOBS; at++) {
      const object = at % 10 === 0 ? "TENTH" : "DEMO";
      await (await served.app.runner.start(job(object), async () => FINE)).done;
    }
  });
  after(async () => {
    await browser?.close();
    await served?.close();
  });

  const ids = (page: Page): Promise<string[]> => page.locator("#jobs-table tbody td:first-child a").allInnerTexts();
  const from = (highest: number, count: number): string[] =>
    Array.from({ length: count }, (_, i) => `jb_${highest - i}`);

  it("pages, sorts and filters in place, and the address says so", async () => {
    const visited = await visit(browser, served.url, "/v2/jobs?format=ui");
    const { page } = visited;
    await page.evaluate(() => document.body.setAttribute("data-same-page", ""));
    assert.deepEqual(await ids(page), from(120, 50));
    await page.getByRole("link", { name: "Next" }).click();
    await page.locator(".pager").getByText("51–100 of 120").waitFor();
    assert.deepEqual(await ids(page), from(70, 50));
    await page.getByRole("link", { name: "Next" }).click();
    await page.locator(".pager").getByText("101–120 of 120").waitFor();
    assert.equal(await page.getByRole("link", { name: "Next" }).count(), 0);
    await page.getByRole("columnheader", { name: "Job" }).getByRole("link").click();
    await page.waitForURL(/sort=job_id/);
    assert.deepEqual((await ids(page)).slice(0, 3), ["jb_1", "jb_2", "jb_3"]);
    assert.equal(await page.getByRole("columnheader", { name: "Job" }).getAttribute("aria-sort"), "ascending");
    const focused = await page.evaluate(() => document.activeElement?.id);
    assert.equal(focused, "jobs-table-by-job_id", "the head that was pressed keeps the focus");
    await page.getByRole("searchbox", { name: "Filter" }).pressSequentially("tenth");
    await page.waitForURL(/filter=tenth/);
    assert.equal((await ids(page)).length, 12);
    await page.getByLabel("State").selectOption("cancelled");
    await page.locator(".table-empty").getByText("Nothing matches").waitFor();
    assert.equal(await page.locator("body[data-same-page]").count(), 1, "the page was never left");
    await page.reload();
    await page.locator(".table-empty").getByText("Nothing matches").waitFor();
    assert.equal(await page.getByLabel("State").inputValue(), "cancelled");
    await leave(visited);
  });

  it("shows the jobs of one domain, and of one kind", async () => {
    await served.app.domains.create(parseDomainInput({ domain_id: "TENTH", name: "Tenth" }));
    const visited = await visit(browser, served.url, "/v2/jobs?format=ui");
    const { page } = visited;
    await page.getByRole("combobox", { name: "Domain" }).selectOption("TENTH");
    await page.waitForURL(/object=TENTH/);
    assert.deepEqual(
      await ids(page),
      Array.from({ length: 12 }, (_, i) => `jb_${120 - 10 * i}`),
    );
    await page.getByRole("combobox", { name: "Router" }).selectOption("inventory");
    await page.locator(".table-empty").waitFor();
    await leave(visited);
  });

  it("does the same with links and a form, without scripts", async () => {
    const visited = await visit(browser, served.url, "/v2/jobs?format=ui", { javaScriptEnabled: false });
    const { page } = visited;
    await page.getByRole("link", { name: "Next" }).click();
    await page.waitForURL(/offset=50/);
    assert.deepEqual((await ids(page))[0], "jb_70");
    await page.getByRole("searchbox", { name: "Filter" }).fill("tenth");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/filter=tenth/);
    assert.equal((await ids(page)).length, 12);
    await leave(visited);
  });

  it("deletes a job after asking back", async () => {
    const visited = await visit(browser, served.url, "/v2/jobs?format=ui");
    const { page } = visited;
    await page.getByRole("button", { name: "Delete jb_120" }).click();
    await page.getByRole("dialog", { name: "Delete jb_120?" }).getByRole("button", { name: "Keep it" }).click();
    assert.equal((await served.app.jobs.list({ limit: 1 }))[0]?.jobId, "jb_120");
    await page.getByRole("button", { name: "Delete jb_120" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("link", { name: "jb_120", exact: true }).waitFor({ state: "detached" });
    assert.equal((await served.app.jobs.list({ limit: 1 }))[0]?.jobId, "jb_119");
    await leave(visited);
  });

  it("shows what runs in the console and cancels it from its row", async () => {
    const running = await served.app.runner.start(job("DEMO"), endlessWork);
    const visited = await visit(browser, served.url, "/v2/jobs?format=ui");
    const { page } = visited;
    await page.locator("#console summary").click();
    await page.getByRole("log").getByText("Working.").waitFor();
    await page.locator("#jobs-table").getByRole("button", { name: "Cancel" }).click();
    await page.waitForSelector('#console[data-state="cancelled"]');
    assert.equal((await running.done).state, "cancelled");
    await leave(visited);
  });

  it("shows a stalled job boldly and ends it by force", async () => {
    const { work, release } = heldWork();
    const { jobId, done } = await served.app.runner.start(job("LOST"), work);
    await untilLogged(served.app.jobs, jobId, "Working.");
    age(join(served.folder, "jobs", "crawler"), jobId);
    const visited = await visit(browser, served.url, "/v2/jobs?format=ui");
    const { page } = visited;
    await page.getByRole("alert").getByText(`${jobId} has stalled.`).waitFor();
    await assertAccessible(page);
    await page.getByRole("alert").getByRole("button", { name: "Force cancel" }).click();
    await page.getByRole("alert").waitFor({ state: "detached" });
    assert.equal((await served.app.jobs.get(jobId)).state, "cancelled");
    release(FINE);
    await done;
    await leave(visited);
  });

  it("says in words what a job ended with, and folds away the rest", async () => {
    const failing: JobStart = job("FAILING");
    const result = { ok: false, error: "Source 'docs' cannot be read.", data: { added: 3 } };
    const { jobId, done } = await served.app.runner.start(failing, async () => result);
    await done;
    const visited = await visit(browser, served.url, "/v2/jobs?format=ui");
    const { page } = visited;
    await page.getByRole("link", { name: `Result of ${jobId}` }).click();
    await page.getByRole("heading", { name: new RegExp(`FAILING .*${jobId}`) }).waitFor();
    await page.getByText("completed with problems").waitFor();
    await page.getByText(result.error).first().waitFor();
    assert.equal(await page.getByRole("table").first().isVisible(), false);
    await page.getByText("Everything it returned").click();
    await page.getByRole("cell", { name: "3", exact: true }).waitFor();
    await leave(visited);
  });

  it("is accessible and fits, in light, dark and on a phone; one job's page as well", async () => {
    for (const path of [
      "/v2/jobs?format=ui",
      "/v2/jobs/get?job_id=jb_7&format=html",
      "/v2/jobs/results?job_id=jb_7&format=html",
    ]) {
      for (const options of [
        { colorScheme: "light" },
        { colorScheme: "light", viewport: { width: 390, height: 844 }, isMobile: true },
      ] as const) {
        const visited = await visit(browser, served.url, path, options);
        await assertAccessible(visited.page);
        const [content, screen] = await visited.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.equal(content, screen, path);
        await leave(visited);
      }
    }
  });
});
