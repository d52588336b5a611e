// The log of a job with many thousand lines stays usable and keeps every error.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { ProgressChange } from "../../src/contracts/job.ts";
import { ask } from "../http/ask.ts";
import { type Served, serveScripted } from "../http/scripted-app.ts";
import { CRAWL, FINE, heldWork } from "../jobs/job-fixture.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, leave, visit } from "./visit.ts";

/** What a crawl of three sources says, and the words and states of its bar then. */
const SAID = [
  [
    { source: "a", sources: { at: 1, of: 3 }, step: "download" },
    "Listing.",
    ["source 1 of 3", "waiting", "waiting"],
    "running waiting waiting",
  ],
  [{}, "[ 2 / 4 ] Downloaded.", ["source 1 of 3, 2 of 4", "waiting", "waiting"], "running waiting waiting"],
  [
    { step: "embed" },
    "[ 1 / 2 ] Indexing.",
    ["1 of 3 sources", "1 of 3 sources", "source 1 of 3, 1 of 2"],
    "waiting waiting running",
  ],
  [
    { source: "b", sources: { at: 2, of: 3 }, step: "download" },
    "Next.",
    ["source 2 of 3", "1 of 3 sources", "1 of 3 sources"],
    "running waiting waiting",
  ],
  [{ hasFailed: true }, "It is away.", ["source 2 of 3", "1 of 3 sources", "1 of 3 sources"], "failed waiting waiting"],
  [
    { source: "c", sources: { at: 3, of: 3 }, step: "process" },
    "Last.",
    ["failed", "source 3 of 3", "2 of 3 sources"],
    "failed running waiting",
  ],
] as const satisfies readonly (readonly [ProgressChange, string, readonly string[], string])[];

const FOLDER = { folder_sources: [{ source_id: "notes", root: "/srv/notes" }] };

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

  /** A crawl that says and logs what the test wants, until it is let go. */
  async function crawlHere() {
    const { work, started, release } = heldWork();
    const { jobId, done } = await served.app.runner.start(CRAWL, async (job) => {
      const result = await work(job);
      await job.checkpoint();
      return result;
    });
    return { jobId, done, release, job: await started, path: `/v2/jobs/get?job_id=${jobId}&format=html` };
  }
  const shown = (page: Page): Promise<string[]> => page.locator(".crawl-steps [data-part=words]").allInnerTexts();
  const states = (page: Page): Promise<string> =>
    page.locator(".crawl-steps li").evaluateAll((all) => all.map((one) => one.getAttribute("data-state")).join(" "));
  const shares = (page: Page): Promise<number[]> =>
    page
      .locator(".crawl-steps progress")
      .evaluateAll((all) => (all as HTMLProgressElement[]).map(({ value }) => value));
  const isOpen = (page: Page): Promise<string | null> => page.locator(".log-fold").getAttribute("open");

  it("shows the steps of a crawl over all its sources as it says them, never back, with and without scripts", async () => {
    const { job, path, release, done } = await crawlHere();
    const live = await visit(browser, served.url, path);
    const plain = await visit(browser, served.url, path, { javaScriptEnabled: false });
    let before = [0, 0, 0];
    for (const [change, line, words, now] of SAID) {
      job.progress?.(change);
      job.log(line);
      await live.page.locator("[data-part=log] p", { hasText: line }).waitFor({ state: "attached" });
      await plain.page.reload();
      assert.deepEqual([await shown(plain.page), await states(plain.page)], [words, now], `${line} (without scripts)`);
      const drawn = await shares(plain.page);
      assert.ok(
        drawn.every((share, at) => share >= (before[at] ?? 0)),
        `${line} ${drawn} after ${before}`,
      );
      before = drawn;
    }
    const [, , words, now] = SAID.at(-1) ?? assert.fail();
    await live.page.locator(".crawl-steps").getByText("source 3 of 3").waitFor();
    assert.deepEqual([await shown(live.page), await states(live.page)], [words, now]);
    assert.equal(await isOpen(live.page), null);
    job.log("ERROR: download 'b.md': it is busy");
    await live.page.locator(".log-fold[open]").waitFor();
    await assertAccessible(live.page);
    release({ ok: false, error: "Source 'b': it is away.", data: null });
    await live.page.waitForSelector('#console[data-state="completed"]');
    await done;
    await plain.page.reload();
    assert.equal(await isOpen(plain.page), "");
    await assertAccessible(live.page);
    for (const { page } of [live, plain]) {
      assert.deepEqual([await shown(page), await states(page)], [["failed", "done", "done"], "failed done done"]);
      await leave(page === live.page ? live : plain);
    }
  });

  it("tells where a crawl was cancelled, and draws no steps of one that never said any", async () => {
    const { jobId, job, path, release, done } = await crawlHere();
    const visited = await visit(browser, served.url, path);
    const { page } = visited;
    job.progress?.({ source: "a", sources: { at: 1, of: 1 }, step: "process" });
    job.log("[ 3 / 4 ] Processed.");
    await page.locator(".crawl-steps").getByText("3 of 4").waitFor();
    const asked = once(job.signal, "abort");
    await served.app.jobs.control(jobId, "cancel");
    await asked;
    release(FINE);
    await done;
    await page.waitForSelector('#console[data-state="cancelled"]');
    assert.deepEqual(
      [await shown(page), await states(page)],
      [["done", "stopped at 3 of 4", "not begun"], "done stopped waiting"],
    );
    await page.goto(`${served.url}/v2/jobs/get?job_id=jb_1&format=html`);
    assert.equal(await page.locator(".crawl-steps").isVisible(), false, "its file names no steps");
    await leave(visited);
  });

  it("is headed by what it is in words, also when it was started here", async () => {
    const { json } = await ask(served.url, "POST /v2/domains/create", {
      json: { domain_id: "NOTES", name: "Notes", ...FOLDER },
    });
    assert.equal(json["error"], "");
    const visited = await visit(browser, served.url, "/v2/crawler?format=ui&domain_id=NOTES");
    const { page } = visited;
    await page.getByRole("button", { name: "Start" }).click();
    await page
      .locator("#console-title")
      .getByText(/^Crawl of NOTES, incremental$/)
      .waitFor();
    await page.waitForSelector('#console[data-state="completed"]');
    await page.reload();
    assert.match(await page.locator("#console-title").innerText(), /^Crawl of NOTES, incremental jb_\d+$/);
    await leave(visited);
  });

  it("tells how long a step will take once its rate is known, and nothing before", async () => {
    const { job, path, release, done } = await crawlHere();
    job.progress?.({ source: "a", sources: { at: 1, of: 1 }, step: "embed" });
    job.log("[ 400 / 10000 ] Indexing 'a.md'.");
    const visited = await visit(browser, served.url, "/");
    const { page } = visited;
    await page.clock.install({ time: 0 });
    await page.goto(served.url + path);
    // From here on, time passes by ticks alone.
    await page.clock.pauseAt(3_600_000);
    const left = page.locator("[data-part=left]");
    const words = page.locator(".crawl-steps [data-part=words]").last();
    const tickUntil = async (count: string): Promise<void> => {
      do {
        await Promise.all([page.waitForResponse(/jobs\/get.*format=html/), page.clock.runFor(2000)]);
      } while ((await words.getByText(count).count()) === 0);
    };
    for (let tick = 0; tick < 5; tick++) await tickUntil("400 of 10000");
    assert.equal(await left.innerText(), "", "too little is known");
    job.log("[ 1400 / 10000 ] Indexing 'a.md'.");
    await tickUntil("1400 of 10000");
    await left.getByText(/^About \d+ min left in this step\.$/).waitFor();
    job.log("[ 1 / 20 ] Embedding passages with e");
    await tickUntil("1 of 20");
    await left.getByText(/./).waitFor({ state: "detached" });
    release(FINE);
    await done;
    await leave(visited);
  });
});
