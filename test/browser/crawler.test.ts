// The crawler page shows the exact request, its plan and its progress, and controls the job.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { parseSourceId } from "../../src/contracts/ids.ts";
import { summarizeCrawl } from "../../src/http/pages/crawl-summary.ts";
import { DOMAIN } from "../engine/world.ts";
import { BrowserStage } from "./browser-stage.ts";
import { assertAccessible, assertForEverybody, leave, unfold } from "./visit.ts";

describe("the crawler page in a browser", () => {
  let stage: BrowserStage;
  before(async () => {
    stage = await BrowserStage.open({ seed: "company" });
  });
  after(() => stage?.close());

  const inState = (page: Page, state: string): Promise<unknown> =>
    page.waitForSelector(`#console[data-state="${state}"]`);
  const address = (page: Page): Promise<string> => page.locator("[data-part=address]").innerText();

  it("shows the very address while it is chosen, and sends that one; what the domain does not have is hidden", async () => {
    const alone = await stage.visit("/v2/crawler?format=ui");
    await alone.page.locator("select[name=mode]").waitFor();
    for (const part of ["scope", "source"])
      assert.equal(
        await alone.page.locator(`[data-part=${part}]`).isVisible(),
        false,
        "there is one source: nothing to choose",
      );
    await leave(alone);
    const before = await stage.world.app.domains.get(DOMAIN);
    const [docs] = before.sources;
    assert.ok(docs);
    const more = { ...before, sources: [docs, { ...docs, sourceId: parseSourceId("more") }] };
    await stage.world.app.domains.update(more, before);
    const visited = await stage.visit("/v2/crawler?format=ui");
    const { page } = visited;
    const crawl = `${stage.url}/v2/crawler/crawl?domain_id=STORY&mode=incremental&scope=all`;
    assert.equal(await address(page), crawl);
    await page.getByLabel("What to do").selectOption({ label: "Download only" });
    assert.equal(await page.getByLabel("Scope").isVisible(), false, "both are libraries");
    await page.locator("[data-part=source]").selectOption("docs");
    await page.getByLabel("Dry run").check();
    const chosen = `${stage.url}/v2/crawler/download_data?domain_id=STORY&mode=incremental&scope=all&source_id=docs&plan=store`;
    assert.equal(await address(page), chosen);
    assert.equal(await page.locator("[data-part=curl]").innerText(), `curl -N '${chosen}&format=stream'`);
    const asked = page.waitForRequest((request) => request.url().includes("/v2/crawler/download_data?"));
    await page.getByRole("button", { name: "Make the plan" }).click();
    const sent = new URL((await asked).url());
    sent.searchParams.delete("format");
    assert.deepEqual(
      [...sent.searchParams].sort(),
      [...new URL(chosen).searchParams].sort(),
      "what was sent is what was shown",
    );
    await inState(page, "completed");
    await stage.world.app.domains.update(before, more);
    await leave(visited);
  });

  it("shows what a dry run found, leads to the whole plan, narrows it there, and applies that very plan", async () => {
    const visited = await stage.visit("/v2/crawler?format=ui&domain_id=STORY&dry_run=true");
    const { page } = visited;
    await page.getByRole("button", { name: "Make the plan" }).click();
    const plan = page.locator("#plan");
    await plan.getByRole("button", { name: "Apply this plan" }).waitFor();
    const before = (await stage.world.app.domains.get(DOMAIN)).vectorStoreId;
    assert.equal(before, "", "nothing was made");
    const planned = summarizeCrawl(
      (await stage.world.app.jobs.list())[0] ?? assert.fail("no job"),
      stage.world.app.domains.kinds,
    );
    const counts = await plan.locator(".plan-counts").innerText();
    assert.match(counts, /\d+ added[\s\S]*\d+ skipped/);
    assert.match(counts, new RegExp(`^${planned?.added} added`), "a document is counted once, as on the other pages");
    await plan.getByRole("link", { name: "Look at the whole plan" }).click();
    await page.waitForURL(/plans\/get\?plan_id=plan_/);
    await plan.getByRole("searchbox").fill("Travel.docx");
    await page.waitForURL(/filter=Travel/);
    const names = async (): Promise<unknown[]> =>
      (await plan.locator("tbody td:nth-child(3)").allInnerTexts()).map((path) => path.split("/").at(-1));
    assert.deepEqual(await names(), ["Travel.docx"]);
    assert.equal(await plan.getByRole("searchbox").evaluate((field) => field === document.activeElement), true);
    await plan.getByRole("searchbox").fill("");
    await page.waitForURL((url) => !url.searchParams.has("filter"));
    assert.equal(await plan.locator(".plan-steps [aria-current]").innerText(), "Download");
    await plan.getByRole("link", { name: "Embed" }).click();
    await page.waitForURL(/step=embed/);
    assert.equal((await names()).filter((name) => name === "Travel.docx").length, 1);
    await plan.getByRole("link", { name: "Download" }).click();
    await page.waitForURL(/step=download/);
    await plan.getByRole("link", { name: "By change, source and folder" }).click();
    await page.waitForURL(/view=groups/);
    const group = plan.locator("tbody tr").filter({ hasText: "added" }).filter({ hasText: "HR" });
    const size = Number(await group.locator("td:nth-child(4)").innerText());
    await group.getByRole("link").click();
    await page.waitForURL(/folder=HR/);
    assert.equal((await names()).length, size);
    await plan.getByRole("link", { name: "All folders" }).click();
    await page.waitForURL((url) => !url.searchParams.has("folder"));
    await plan.getByRole("link", { name: /skipped/ }).click();
    await page.waitForURL(/change=skipped/);
    assert.deepEqual([...new Set(await plan.locator("tbody td:first-child").allInnerTexts())], ["skipped"]);
    await assertForEverybody(page);
    await page.getByRole("button", { name: "Apply this plan" }).click();
    await inState(page, "completed");
    const done = await stage.world.app.jobs.list();
    assert.equal(await page.locator("#console").getAttribute("data-job"), done[0]?.jobId);
    assert.match(done[0]?.endpoint ?? "", /^\/v2\/crawler\/apply\?plan_id=plan_/);
    assert.equal(done[0]?.result?.ok, true, done[0]?.result?.error);
    assert.ok((await stage.world.storeFileIds()).length > 10);
    await page.goto(`${stage.url}/v2/crawler?format=ui`);
    await page.locator("#standings").getByText("in step").waitFor();
    await leave(visited);
  });

  it("works without scripts: a plan is made, paged through by group, and applied", async () => {
    const options = { javaScriptEnabled: false, viewport: { width: 390, height: 844 } };
    const visited = await stage.visit("/v2/crawler?format=ui&dry_run=true", options);
    const { page } = visited;
    await page.locator("[data-part=go]").click();
    await page.waitForURL(/\/v2\/crawler\/crawl\?/);
    const planId = /plan_[0-9a-f]{16}/.exec(await page.content())?.[0];
    await page.goto(`${stage.url}/v2/crawler/plans?format=ui`);
    await page
      .locator("tbody tr")
      .filter({ hasText: planId ?? assert.fail("no plan") })
      .getByRole("link")
      .click();
    await page.waitForURL(new RegExp(`plan_id=${planId}`));
    const [content, screen] = (await page.evaluate("[document.documentElement.scrollWidth, innerWidth]")) as number[];
    assert.equal(content, screen);
    await page.goto(`${page.url()}&view=items&limit=1`);
    assert.equal(await page.locator("#plan tbody tr").count(), 1);
    await page.getByRole("link", { name: "Next" }).click();
    await page.waitForURL(/offset=1/);
    assert.match(await page.locator("[data-part=range]").innerText(), /^2–2 of /);
    await leave(visited);
  });

  it("lists plans for everybody", async () => {
    const visited = await stage.visit("/v2/crawler/plans?format=ui");
    await visited.page.locator("tbody tr").first().waitFor();
    await assertForEverybody(visited.page);
    await leave(visited);
  });

  it("follows a crawl live: pause, reload, resume, cancel", async () => {
    await stage.world.fault({ url: "\\$value", times: "always" }, { delayMs: 3000 });
    const visited = await stage.visit("/v2/crawler?format=ui&domain_id=STORY&mode=full");
    const { page } = visited;
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await inState(page, "paused");
    const jobId = await page.locator("#console").getAttribute("data-job");
    assert.equal((await stage.world.app.jobs.list({ state: "paused" }))[0]?.jobId, jobId);
    assert.equal(await page.getByRole("button", { name: "Pause" }).isVisible(), false);
    await page.locator("#running").getByText("paused", { exact: true }).waitFor();
    await page.locator("#standings").getByText("paused", { exact: true }).waitFor();
    await page.reload();
    assert.equal(await page.locator("#console").getAttribute("data-job"), jobId);
    const log = page.locator("#console details");
    assert.equal(await log.getAttribute("open"), null, "the log is folded");
    await log.locator("summary").click();
    await page.getByRole("log").getByText("Paused.").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("log").getByText("Resumed.").waitFor();
    await inState(page, "running");
    await page.getByRole("button", { name: "Cancel" }).click();
    await inState(page, "cancelled");
    await page.locator("#standings").getByText("cancelled").first().waitFor();
    assert.equal((await stage.world.app.jobs.list())[0]?.state, "cancelled");
    await stage.world.control("DELETE", "faults");
    await leave(visited);
  });

  it("offers the controls of a job that somebody comes back to", async () => {
    await stage.world.fault({ url: "\\$value", times: "always" }, { delayMs: 3000 });
    const visited = await stage.visit("/v2/crawler?format=ui&domain_id=STORY&mode=full");
    const { page } = visited;
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await inState(page, "paused");
    await page.goto(`${stage.url}/v2/crawler?format=ui`);
    const running = page.locator("#running");
    await running.getByRole("button", { name: "Resume" }).click();
    await running.getByText("running", { exact: true }).waitFor();
    await running.getByRole("button", { name: "Pause" }).click();
    await running.getByText("paused", { exact: true }).waitFor();
    await assertAccessible(page);
    await running.getByRole("button", { name: "Cancel" }).click();
    await running.getByText("No job is running.").waitFor();
    assert.equal((await stage.world.app.jobs.list())[0]?.state, "cancelled");
    await stage.world.control("DELETE", "faults");
    await leave(visited);
  });

  it("finds in the log, and shows errors alone", async () => {
    const visited = await stage.visit("/v2/crawler?format=ui&job_id=jb_3");
    const { page } = visited;
    await page.locator("#console [data-part=log] p").nth(1).waitFor({ state: "attached" });
    await inState(page, "completed");
    await unfold(page.locator("#console"));
    const lines = page.getByRole("log").locator("p:visible");
    const all = await lines.count();
    await page.getByRole("searchbox", { name: "Find in the log" }).fill("Travel.docx");
    const found = await lines.allInnerTexts();
    assert.ok(found.length > 0 && found.length < all);
    for (const line of found) assert.match(line, /Travel\.docx/);
    assert.equal(await page.locator("[data-part=found]").innerText(), `${found.length} of ${all} lines`);
    await page.getByRole("searchbox", { name: "Find in the log" }).fill("");
    await page.getByLabel("Errors and warnings only").check();
    assert.equal(await lines.count(), 0);
    await leave(visited);
  });

  it("works without scripts: crawls, and each step by itself", async () => {
    const visited = await stage.visit("/v2/crawler?format=ui", { javaScriptEnabled: false });
    const { page } = visited;
    await page.getByRole("button", { name: "Process only" }).click();
    await page.waitForURL(/\/v2\/crawler\/process_data\?/);
    assert.match(await page.locator("main").innerText(), /^Processing of STORY, incremental jb_\d+[\s\S]*completed/);
    await leave(visited);
  });

  it("is accessible and fits, in light, dark and on a phone", async () => {
    for (const options of [
      { colorScheme: "light" },
      { colorScheme: "dark", viewport: { width: 390, height: 844 }, isMobile: true },
    ] as const) {
      const visited = await stage.visit("/v2/crawler?format=ui&job_id=jb_2", options);
      await assertAccessible(visited.page);
      const [content, screen] = await visited.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.equal(content, screen);
      await leave(visited);
    }
  });
});
