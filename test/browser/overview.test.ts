import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { World } from "../engine/world.ts";
import { openBrowser } from "./open-browser.ts";

/** A page, and everything that would be wrong with it whatever the test looks at. */
interface Visit {
  readonly page: Page;
  readonly troubles: string[];
}

describe("the overview in a browser", () => {
  let world: World;
  let server: RunningServer;
  let browser: Browser;
  before(async () => {
    world = await World.open({ seed: "company" });
    server = await serveHttp(world.app, { host: "127.0.0.1", port: 0 });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await world?.close();
  });

  async function visit(path: string, options: BrowserContextOptions = {}): Promise<Visit> {
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
    const page = await context.newPage();
    const troubles: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") troubles.push(message.text());
    });
    page.on("pageerror", (error) => troubles.push(error.message));
    page.on("request", (request) => {
      if (new URL(request.url()).origin !== server.url) troubles.push(`asked ${request.url()}`);
    });
    await page.goto(server.url + path);
    return { page, troubles };
  }

  async function leave({ page, troubles }: Visit): Promise<void> {
    await page.context().close();
    assert.deepEqual(troubles, []);
  }

  const inState = (page: Page, state: string): Promise<unknown> =>
    page.waitForSelector(`#console[data-state="${state}"]`, { timeout: 60_000 });

  it("starts a crawl and shows it to its end, then the domain in step", async () => {
    const visited = await visit("/");
    const { page } = visited;
    const card = page.getByRole("article", { name: "Story" });
    assert.match(await card.innerText(), /not crawled yet/);
    await card.getByRole("button", { name: "Crawl Story" }).click();
    await inState(page, "completed");
    const log = await page.getByRole("log").innerText();
    const last = [...log.matchAll(/^\[ (\d+) \/ (\d+) \]/gm)].at(-1);
    assert.ok(last, "progress lines are in the log");
    assert.equal(last[1], last[2]);
    assert.equal(await page.locator("[data-part=count]").innerText(), `${last[2]} / ${last[2]}`);
    const bar = page.getByRole("progressbar");
    assert.equal(await bar.getAttribute("max"), last[2]);
    assert.equal(await bar.getAttribute("value"), await bar.getAttribute("max"));
    await card.getByText("in step").waitFor();
    const documents = Number(await card.locator("dd").first().innerText());
    assert.ok(documents > 10, `${documents} documents`);
    assert.match(await page.locator("#jobs").innerText(), /jb_1\s+crawl STORY\s+completed/);
    assert.match(
      await page.locator("#console footer a").evaluate((link: HTMLAnchorElement) => link.href),
      /job_id=jb_1&format=stream$/,
    );
    for (const name of ["Pause", "Resume", "Cancel"]) {
      assert.equal(await page.getByRole("button", { name }).isVisible(), false, name);
    }
    await leave(visited);
  });

  it("finds the passage and links to its document", async () => {
    const visited = await visit("/");
    const { page } = visited;
    await page.getByRole("searchbox", { name: "Search for" }).fill("How much may a hotel night in Copenhagen cost?");
    await page.getByRole("searchbox").press("Enter");
    const first = page.locator(".result").first();
    await first.waitFor();
    const link = first.getByRole("link");
    assert.equal(await link.innerText(), "Travel.docx");
    assert.equal(await link.getAttribute("rel"), "noopener noreferrer");
    const href = (await link.getAttribute("href")) ?? "";
    assert.equal(new URL(href).origin, world.sandbox.url);
    assert.match(await first.locator("mark").first().innerText(), /hotel|night|cost|copenhagen|much|may/i);
    assert.match(await first.locator(".facts").innerText(), /Score\s+0\.\d\d[\s\S]*Modified\s+\S/);
    await leave(visited);
  });

  it("a dry run is a job that changes nothing", async () => {
    const visited = await visit("/");
    const { page } = visited;
    const card = page.getByRole("article", { name: "Story" });
    const before = await card.locator("[data-refresh]").innerText();
    await card.getByRole("checkbox", { name: "Dry run" }).check();
    await card.getByRole("combobox", { name: "Mode" }).selectOption("full");
    await card.getByRole("button", { name: "Crawl Story" }).click();
    await inState(page, "completed");
    await page.locator("#jobs").getByText("dry run:").waitFor();
    assert.equal(await card.locator("[data-refresh]").innerText(), before);
    assert.equal(await card.getByRole("checkbox", { name: "Dry run" }).isChecked(), true, "the form kept its values");
    await leave(visited);
  });

  it("pauses, survives a reload, resumes and cancels", async () => {
    await world.fault({ url: "\\$value", times: "always" }, { delayMs: 500 });
    const visited = await visit("/");
    const { page } = visited;
    const card = page.getByRole("article", { name: "Story" });
    await card.getByRole("combobox", { name: "Mode" }).selectOption("full");
    await card.getByRole("button", { name: "Crawl Story" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await inState(page, "paused");
    const jobId = await page.locator("#console").getAttribute("data-job");
    assert.equal((await world.app.jobs.list({ state: "paused" }))[0]?.jobId, jobId);
    assert.equal(await page.getByRole("button", { name: "Pause" }).isVisible(), false);

    await page.reload();
    assert.equal(await page.locator("#console").getAttribute("data-job"), jobId);
    await page.getByRole("log").getByText("Paused.").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("log").getByText("Resumed.").waitFor();
    await inState(page, "running");
    await page.getByRole("button", { name: "Cancel" }).click();
    await inState(page, "cancelled");
    await card.getByText("cancelled").first().waitFor();
    assert.equal((await world.app.jobs.list())[0]?.state, "cancelled");
    await world.control("DELETE", "faults");
    await leave(visited);
  });

  it("creates a domain from the form, and says what is wrong with one", async () => {
    const visited = await visit("/");
    const { page } = visited;
    await page.getByText("New domain").click();
    await page.getByRole("textbox", { name: "Domain id" }).fill("SECOND");
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("A <b>second</b> one");
    await page.getByRole("textbox", { name: "Site address" }).fill(world.sandbox.siteUrl);
    await page.getByRole("textbox", { name: "Library" }).fill("Contracts");
    await page.getByRole("button", { name: "Create domain" }).click();
    await page.getByRole("alert").getByText("sharepoint_url_part").waitFor();
    visited.troubles.splice(0).forEach((text) => {
      assert.match(text, /400/, "a refused request is all the browser complains of");
    });
    await page.getByRole("textbox", { name: "Library" }).fill("/Contracts");
    await page.getByRole("button", { name: "Create domain" }).click();
    await page.getByRole("article", { name: "A <b>second</b> one" }).waitFor();
    assert.equal((await world.app.domains.list()).domains.length, 2);
    await leave(visited);
  });

  it("works without scripts: search, crawl and create answer as pages", async () => {
    const visited = await visit("/", { javaScriptEnabled: false });
    const { page } = visited;
    await page.getByRole("article", { name: "second" }).getByRole("button", { name: "Crawl" }).click();
    await page.waitForURL(/\/v2\/crawler\/crawl\?/);
    assert.match(await page.locator("main").innerText(), /ok\s+true[\s\S]*state\s+completed/);
    await page.getByRole("link", { name: "Back to the overview" }).click();
    await page.getByText("New domain").click();
    await page.getByRole("textbox", { name: "Domain id" }).fill("THIRD");
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Third");
    await page.getByRole("button", { name: "Create domain" }).click();
    assert.match(await page.locator("main").innerText(), /domain_id\s+THIRD/);
    await leave(visited);
  });

  it("fits a phone and both colour schemes without scrolling sideways", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const visited = await visit("/?query=hotel&domain_id=STORY", {
        viewport: { width: 360, height: 740 },
        isMobile: true,
        colorScheme,
      });
      const [content, screen] = await visited.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.equal(content, screen);
      await leave(visited);
    }
  });
});
