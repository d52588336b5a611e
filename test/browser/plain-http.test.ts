// Pages work over plain http from another machine, without what browsers keep for secure contexts.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { BrowserStage } from "./browser-stage.ts";

/** No loopback, no https: a browser withholds what it keeps for secure contexts. */
const PLAIN = "http://lockstep.test";

describe("the pages over plain http, from another machine", () => {
  let stage: BrowserStage;
  before(async () => {
    stage = await BrowserStage.open();
  });
  after(() => stage?.close());

  /** The real server answers, under a name that is not the machine's own. */
  const open = async (path: string): Promise<Page> => {
    const page = await (await stage.browser.newContext()).newPage();
    await page.route(`${PLAIN}/**`, async (route) => {
      const { origin: _, referer: __, ...headers } = route.request().headers();
      const { pathname, search } = new URL(route.request().url());
      await route.fulfill({ response: await route.fetch({ url: stage.url + pathname + search, headers }) });
    });
    await page.goto(PLAIN + path);
    assert.equal(await page.evaluate("isSecureContext"), false);
    return page;
  };

  /** What the page still asks for is answered by nobody, and that is no error. */
  const close = async (page: Page): Promise<void> => {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.context().close();
  };

  it("a schedule is previewed", async () => {
    const page = await open("/v2/domains/get?domain_id=STORY&format=html");
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
    await page.getByLabel("Crawl by itself").fill("0 2 * * *");
    await page.getByText(/^Next: /).waitFor();
    await close(page);
  });

  it("what cannot be copied is selected", async () => {
    const page = await open("/v2/crawler?format=ui");
    const command = await page.locator("[data-part=curl]").textContent();
    await page.getByRole("button", { name: "Copy the command" }).click();
    assert.equal(await page.evaluate("String(getSelection())"), command);
    await close(page);
  });
});
