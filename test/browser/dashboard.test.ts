// The dashboard crawls, shows honestly whether a domain is in step, and helps a newcomer.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { DOMAIN } from "../engine/world.ts";
import { BrowserStage } from "./browser-stage.ts";
import { assertAccessible, assertForEverybody, expectRefusal, leave } from "./visit.ts";

describe("the dashboard in a browser", () => {
  let stage: BrowserStage;
  before(async () => {
    stage = await BrowserStage.open({ seed: "company" });
  });
  after(() => stage?.close());

  const card = (page: Page): ReturnType<Page["getByRole"]> => page.getByRole("article", { name: "Story" });

  it("crawls a domain at a click, shows it running, then in step, with its chart", async () => {
    await stage.world.fault({ url: "\\$value", times: "always" }, { delayMs: 3000 });
    const visited = await stage.visit("/");
    const { page } = visited;
    assert.match(await card(page).innerText(), /not crawled yet/);
    await card(page).getByRole("button", { name: "Crawl Story" }).click();
    const running = page.locator("[data-live-job]");
    await running.waitFor();
    assert.equal(await running.getAttribute("data-live-job"), "jb_1");
    await card(page).getByText("crawling").waitFor();
    await running.getByText(/^\d+ of \d+$/).waitFor();
    await stage.world.control("DELETE", "faults");
    await card(page).getByText("in step").waitFor();
    const documents = Number(await card(page).locator("dd").first().innerText());
    assert.ok(documents > 10, `${documents} documents`);
    assert.match(await page.locator("#jobs").innerText(), /jb_1\s+Crawl of STORY\s+completed/);
    const chart = card(page).getByRole("img");
    assert.equal(await chart.count(), 0, "one crawl has no course");
    await stage.world.crawl();
    await stage.world.crawl();
    await page.reload();
    assert.match((await chart.getAttribute("aria-label")) ?? "", /^Story: Over the last 3 crawls /);
    assert.equal(await chart.locator(".changes").count(), 1);
    await leave(visited);
  });

  it("is not fetched again while no job begins or ends, and at once when one does", async () => {
    const visited = await stage.visit("/");
    const { page } = visited;
    await page.clock.install();
    await page.reload();
    const asked: string[] = [];
    page.on("request", (request) => {
      // The page's own script asks by fetch; an icon may still be on its way.
      if (request.resourceType() === "fetch") asked.push(new URL(request.url()).pathname);
    });
    while (asked.length < 3) await page.clock.runFor(2000);
    assert.deepEqual([...new Set(asked)], ["/v2/jobs"], "whether there are other jobs is all it asks for");
    const start = { router: "crawler", action: "crawl", object: DOMAIN, endpoint: "test", dryRun: true };
    const { jobId, done } = await stage.world.app.runner.start(start, async (job) => {
      await new Promise((resolve) => job.signal.addEventListener("abort", resolve, { once: true }));
      return { ok: false, error: "Stopped.", data: {} };
    });
    const shown = page.locator(`[data-live-job=${jobId}]`);
    while ((await shown.count()) === 0) await page.clock.runFor(2000);
    await stage.world.app.jobs.control(jobId, "cancel");
    await done;
    while ((await shown.count()) > 0) await page.clock.runFor(2000);
    assert.match(await page.locator("#jobs").innerText(), new RegExp(`${jobId}\\s+Crawl of STORY\\s+cancelled`));
    await leave(visited);
  });

  it("does not say in step while a file waits in 03_failed, and leads to the way out", async () => {
    await stage.world.change("add", { path: "Broken.docx", text: "this is no Word document" });
    await stage.world.crawl();
    assert.equal((await stage.world.crawl()).job.result?.ok, true, "the next crawl has nothing to complain of");
    assert.deepEqual(await stage.world.disk("03_failed"), ["Broken.docx"]);
    const visited = await stage.visit("/");
    const { page } = visited;
    await card(page).getByText("files failed", { exact: true }).waitFor();
    assert.doesNotMatch(await card(page).innerText(), /in step/);
    await card(page).getByRole("link", { name: "See what failed" }).click();
    await page.getByRole("link", { name: "Try failed files again" }).click();
    assert.equal(await page.getByLabel("Try failed files again").isChecked(), true);
    await leave(visited);
  });

  it("does not say in step while the domain is rolled back, and leads to its generations", async () => {
    await stage.world.change("add", { path: "Later.md", text: "# Later" });
    await stage.world.crawl();
    const { newest, kept } = await stage.world.app.generations(DOMAIN);
    const earlier = kept.map(({ number }) => number).find((number) => number < newest) ?? assert.fail("one generation");
    await stage.world.app.rollback(DOMAIN, earlier, { dryRun: false });
    const visited = await stage.visit("/");
    const { page } = visited;
    await card(page).getByText("rolled back", { exact: true }).waitFor();
    assert.match(await card(page).innerText(), new RegExp(`Readers see generation ${earlier}\\b`));
    const link = card(page).getByRole("link", { name: "Look at the generations" });
    assert.equal(await link.getAttribute("href"), "/v2/domains/generations?domain_id=STORY&format=html");
    await stage.world.app.release(DOMAIN);
    await leave(visited);
  });

  it("crawls without scripts, and answers with a page", async () => {
    const visited = await stage.visit("/", { javaScriptEnabled: false });
    const { page } = visited;
    await card(page).getByRole("button", { name: "Crawl Story" }).click();
    await page.waitForURL(/\/v2\/crawler\/crawl\?/);
    assert.match(
      await page.locator("main").innerText(),
      /^Crawl of STORY, incremental[\s\S]*completed[\s\S]*nothing changed/,
    );
    await leave(visited);
  });

  it("leads to the search page with what was typed", async () => {
    const visited = await stage.visit("/");
    const { page } = visited;
    await page.getByRole("searchbox", { name: "Search for" }).fill("hotel");
    await page.getByRole("searchbox", { name: "Search for" }).press("Enter");
    await page.waitForURL(/\/v2\/search\?format=ui&query=hotel&domain_id=STORY$/);
    await page.locator("mark").first().waitFor();
    await leave(visited);
  });

  it("lists the HTTP interface at its end", async () => {
    const visited = await stage.visit("/");
    const { page } = visited;
    await page.getByText("HTTP interface", { exact: true }).last().click();
    const link = page.getByRole("group", { name: "Endpoints" }).getByRole("link", { name: "/v2/crawler/crawl" });
    assert.equal(await link.getAttribute("href"), "/v2/crawler/crawl");
    await leave(visited);
  });

  it("is accessible and fits, in light, dark and on a phone", async () => {
    for (const options of [
      { colorScheme: "light" },
      { colorScheme: "light", viewport: { width: 390, height: 844 }, isMobile: true },
    ] as const) {
      const visited = await stage.visit("/", options);
      await assertAccessible(visited.page);
      const [content, screen] = await visited.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.equal(content, screen);
      const table = visited.page.locator("#jobs .scroll-x");
      assert.equal(await table.evaluate((region) => getComputedStyle(region).overflowX), "auto");
      await leave(visited);
    }
  });

  it("has a menu on a phone that needs no script", async () => {
    const visited = await stage.visit("/", {
      viewport: { width: 390, height: 844 },
      isMobile: true,
      javaScriptEnabled: false,
    });
    const { page } = visited;
    assert.equal(await page.getByRole("link", { name: "Jobs", exact: true }).isVisible(), false);
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
    await leave(visited);
  });

  it("takes a newcomer from a kind of source to the first question", async (t) => {
    await stage.world.app.domains.remove(
      (await stage.world.app.domains.list()).domains[0]?.domainId ?? assert.fail("no domain"),
    );
    const folder = await mkdtemp(join(tmpdir(), "lockstep-first-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const handbook = join(folder, "Staff handbook");
    await mkdir(handbook);
    await writeFile(join(handbook, "leave.md"), "# Leave\n\nEverybody has 28 days of leave.\n");
    const visited = await stage.visit("/");
    const { page } = visited;
    await assertForEverybody(page);
    await page.getByRole("button", { name: "Create and crawl" }).waitFor();
    assert.equal(await page.getByLabel("Domain id").isVisible(), false, "ids are folded away");
    await page.getByRole("button", { name: "Add list" }).click();
    await page.getByRole("button", { name: "Add folder" }).click();
    const row = page.locator("[data-part=rows] [data-source-row]");
    assert.equal(await row.count(), 1, "the other kind was not meant");
    await row.getByLabel("Folder", { exact: true }).fill("Staff handbook");
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Staff handbook");
    await page.getByRole("button", { name: "Create and crawl" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("'Folder' must be an absolute path").waitFor();
    assert.doesNotMatch(await alert.innerText(), /folder_sources|root/);
    await expectRefusal(visited);
    await row.getByLabel("Folder", { exact: true }).fill(handbook);
    await alert.waitFor({ state: "hidden" });
    assert.equal((await stage.world.app.domains.list()).domains.length, 0, "asking made nothing");
    await assertAccessible(page);
    await page.getByRole("button", { name: "Create and crawl" }).click();
    await page.getByText("1 document of Staff handbook is searchable now.").waitFor();
    await assertForEverybody(page);
    const [domain] = (await stage.world.app.domains.list()).domains;
    assert.deepEqual([domain?.domainId, domain?.sources[0]?.sourceId], ["STAFF_HANDBOOK", "staff-handbook"]);
    await page.getByRole("link", { name: "Ask something" }).click();
    await page.waitForURL(/\/v2\/search\?format=ui&domain_id=STAFF_HANDBOOK/);
    await page.getByRole("searchbox").first().fill("days of leave");
    await page.getByRole("searchbox").first().press("Enter");
    await page.locator(".result").getByText("leave.md").first().waitFor();
    await leave(visited);
  });
});
