// The log of a job with many thousand lines stays usable and keeps every error.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type Served, serveScripted } from "../http/scripted-app.ts";
import { CRAWL, FINE, heldWork } from "../jobs/job-fixture.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, leave, visit } from "./visit.ts";

const STEPS = [
  ["Source 'b': /srv/b", ["running", "waiting", "waiting"]],
  ["[ 1 / 3 ] Downloaded 'a.md' (9 bytes): new at the source.", ["1 of 3", "waiting", "waiting"]],
  ["[ 2 / 3 ] ERROR: download 'b.md': it is busy", ["2 of 3", "waiting", "waiting"]],
  ["Texts to be kept: 2 documents.", ["done", "running", "waiting"]],
  ["[ 1 / 2 ] Kept 'a.md'.", ["done", "1 of 2", "waiting"]],
  ["[ 2 / 4 ] Indexing 'a.md'.", ["done", "done", "2 of 4"]],
  ["Source 'b': removing 2 documents from the index.", ["done", "done", "2 of 4"]],
  ["Source 'c': /srv/c", ["running", "waiting", "waiting"]],
  ["Index: 4 added.", ["done", "done", "running"]],
  ["[ 500 / 900 ] Embedding passages with e", ["done", "done", "500 of 900"]],
] as const;

const LINES = 20_000;
/** So many lines are kept beside the alarms. */
const KEPT = 5_000;
/** All of them are older than what is kept. */
const ERRORS = [1, 2_000, 9_999];

const line = (at: number): string =>
  ERRORS.includes(at) ? `ERROR: file ${at} cannot be read.` : `[ ${at} / ${LINES} ] Processing file '${at}.docx'...`;

/** What a page is asked for before its own scripts run: how often the log is measured, and how many frames there were. */
const COUNTERS = `
  window.measured = 0;
  window.frames = 0;
  const { get } = Object.getOwnPropertyDescriptor(Element.prototype, "scrollHeight");
  Object.defineProperty(Element.prototype, "scrollHeight", { get() { window.measured++; return get.call(this); } });
  const count = () => { window.frames++; requestAnimationFrame(count); };
  requestAnimationFrame(count);
`;

describe("the log of a long job in a browser", () => {
  let served: Served;
  let browser: Browser;
  before(async () => {
    served = await serveScripted();
    browser = await openBrowser();
    const { done } = await served.app.runner.start(CRAWL, async (job) => {
      for (let at = 1; at <= LINES; at++) job.log(line(at));
      return FINE;
    });
    await done;
  });
  after(async () => {
    await browser?.close();
    await served?.close();
  });

  it("is laid out once per frame, not once per line, and ends at its last line", async () => {
    const visited = await visit(browser, served.url, "/v2/jobs?format=ui");
    const { page } = visited;
    await page.addInitScript(COUNTERS);
    await page.goto(`${served.url}/v2/jobs/get?job_id=jb_1&format=html`);
    await page.waitForSelector('#console[data-state="completed"]');
    const [measured, frames] = (await page.evaluate("[window.measured, window.frames]")) as [number, number];
    // Beside the frames: at the end, and whenever as many lines wait as are kept.
    assert.ok(measured <= frames + 1 + LINES / KEPT, `${measured} times in ${frames} frames`);
    const log = page.getByRole("log");
    assert.equal(await page.locator("#console details").getAttribute("open"), "", "there are errors in it");
    assert.equal(await log.locator("p").last().innerText(), line(LINES));
    assert.equal(await log.locator("p").count(), KEPT + ERRORS.length);
    const distance = await log.evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight);
    assert.ok(distance < 2, `${distance} px above its end`);
    await leave(visited);
  });

  it("keeps every error, and says that older lines are not shown", async () => {
    const visited = await visit(browser, served.url, "/v2/jobs/get?job_id=jb_1&format=html");
    const { page } = visited;
    await page.waitForSelector('#console[data-state="completed"]');
    await page.getByLabel("Errors and warnings only").check();
    assert.deepEqual(await page.getByRole("log").locator("p:visible").allInnerTexts(), ERRORS.map(line));
    const note = page.locator("#console").getByText("Older lines are not shown");
    await note.waitFor();
    assert.equal(
      await note.getByRole("link", { name: "event stream" }).getAttribute("href"),
      "/v2/jobs/monitor?job_id=jb_1&format=stream",
    );
    await assertAccessible(page);
    await leave(visited);
  });

  it("answers while the log pours in", async () => {
    const { work, release } = heldWork();
    const { jobId, done } = await served.app.runner.start(CRAWL, async (job) => {
      for (let at = 1; at <= 200; at++) job.log(line(at + 1));
      const result = await work(job);
      for (let at = 201; at <= LINES; at++) job.log(line(at));
      return result;
    });
    const visited = await visit(browser, served.url, `/v2/jobs/get?job_id=${jobId}&format=html`);
    const { page } = visited;
    await page.locator(".log-fold summary").click();
    const log = page.getByRole("log");
    await log.getByText("Working.").waitFor();
    assert.equal(await page.locator("#console").getByText("Older lines are not shown").isVisible(), false);
    release(FINE);
    await page.getByLabel("Errors and warnings only").check();
    await page.waitForSelector('#console[data-state="completed"]');
    await done;
    assert.deepEqual(await log.locator("p:visible").allInnerTexts(), ERRORS.slice(1).map(line));
    await leave(visited);
  });

  it("shows the steps of a crawl as they go on, with and without scripts, and its log when something fails", async () => {
    const { work, started, release } = heldWork();
    const { jobId, done } = await served.app.runner.start(CRAWL, work);
    const job = await started;
    const path = `/v2/jobs/get?job_id=${jobId}&format=html`;
    const live = await visit(browser, served.url, path);
    const plain = await visit(browser, served.url, path, { javaScriptEnabled: false });
    const shown = (page: Page): Promise<string[]> => page.locator(".crawl-steps [data-part=words]").allInnerTexts();
    const isOpen = (page: Page): Promise<string | null> => page.locator(".log-fold").getAttribute("open");
    await live.page.locator(".crawl-steps").getByText("running").waitFor();
    assert.equal(await isOpen(live.page), null);
    for (const [line, words] of STEPS) {
      job.log(line);
      await live.page.locator("[data-part=log] p", { hasText: line }).waitFor({ state: "attached" });
      assert.deepEqual(await shown(live.page), words, line);
      await plain.page.reload();
      if (!line.includes("ERROR")) assert.deepEqual(await shown(plain.page), words, `${line} (without scripts)`);
    }
    assert.equal(await isOpen(live.page), "", "something has failed");
    assert.equal(await isOpen(plain.page), null);
    await assertAccessible(live.page);
    release({ ok: false, error: "One file failed.", data: null });
    await live.page.waitForSelector('#console[data-state="completed"]');
    await done;
    await plain.page.reload();
    assert.equal(await isOpen(plain.page), "");
    for (const { page } of [live, plain]) assert.deepEqual(await shown(page), ["done", "done", "done"]);
    await leave(live);
    await leave(plain);
  });

  it("tells how long a step will take once its rate is known, and nothing before", async () => {
    const { work, started, release } = heldWork();
    const { jobId, done } = await served.app.runner.start(CRAWL, work);
    const job = await started;
    job.log("[ 400 / 10000 ] Indexing 'a.md'.");
    const visited = await visit(browser, served.url, "/");
    const { page } = visited;
    await page.clock.install();
    await page.goto(`${served.url}/v2/jobs/get?job_id=${jobId}&format=html`);
    const left = page.locator("[data-part=left]");
    const words = page.locator(".crawl-steps [data-part=words]").last();
    await words.getByText("400 of 10000").waitFor();
    for (const at of [410, 420, 430, 440]) {
      assert.equal(await left.innerText(), "", "too little is known");
      const asked = page.waitForResponse(/jobs\/get/);
      job.log(`[ ${at} / 10000 ] Indexing 'a.md'.`);
      await page.clock.runFor(2000);
      await asked;
    }
    await left.getByText(/^About \d+ min left in this step\.$/).waitFor();
    job.log("[ 1 / 20 ] Embedding passages with e");
    await page.clock.runFor(20);
    await words.getByText("1 of 20").waitFor();
    assert.equal(await left.innerText(), "");
    release(FINE);
    await done;
    await leave(visited);
  });
});
