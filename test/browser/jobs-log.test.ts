// The log of a job with many thousand lines stays usable and keeps every error.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { type Served, serveScripted } from "../http/scripted-app.ts";
import { CRAWL, FINE, heldWork } from "../jobs/job-fixture.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, leave, visit } from "./visit.ts";

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
    assert.equal(await log.locator("p").last().innerText(), line(LINES));
    assert.equal(await log.locator("p").count(), KEPT + ERRORS.length);
    assert.equal(await page.locator("[data-part=count]").innerText(), `${LINES} / ${LINES}`);
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
});
