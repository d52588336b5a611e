// Signing in and out with a key works in a browser, and no script can read the cookie.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { BrowserStage } from "./browser-stage.ts";
import { assertAccessible, expectRefusal, leave } from "./visit.ts";

describe("signing in with a browser", () => {
  let stage: BrowserStage;
  let key: string;
  before(async () => {
    stage = await BrowserStage.open({}, async (world) => {
      key = (await world.app.access.keys.create({ name: "ada", role: "admin", expiresAt: "" })).key;
    });
  });
  after(() => stage?.close());

  async function signIn(page: Page, secret: string): Promise<void> {
    await page.getByLabel("API key").fill(secret);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  it("asks for a key, says what is wrong with one, and leads to where one wanted to go", async () => {
    const visited = await stage.visit("/v2/keys?format=ui");
    const { page } = visited;
    assert.equal(new URL(page.url()).pathname, "/sign-in");
    assert.match(await page.locator("main").innerText(), /Everyone who may query sees everything that was crawled/);
    await assertAccessible(page);
    await signIn(page, "lk_0123456789ab_wrong");
    await page.getByRole("alert").getByText("This key is not known here").waitFor();
    await assertAccessible(page);
    await expectRefusal(visited);
    await signIn(page, key);
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    assert.equal(new URL(page.url()).search, "?format=ui");
    await leave(visited);
  });

  it("an administrator makes a key, sees it once, and removes it", async () => {
    const visited = await stage.visit("/v2/keys?format=ui");
    const { page } = visited;
    await signIn(page, key);
    await page.getByLabel("Name").fill("reporting");
    await page.getByLabel("Role").selectOption("read");
    await page.getByRole("button", { name: "Make key" }).click();
    const shown = page.locator("[data-new-key] code");
    await shown.waitFor();
    const made = await shown.innerText();
    assert.match(made, /^lk_[0-9a-f]{12}_[\w-]{43}$/);
    await assertAccessible(page);
    await page.getByRole("link", { name: "Done" }).click();
    const row = page.getByRole("row", { name: /reporting/ });
    await row.waitFor();
    assert.ok(!(await page.content()).includes(made));
    await assertAccessible(page);
    page.once("dialog", (dialog) => void dialog.accept());
    await row.getByRole("button", { name: "Remove reporting" }).click();
    await row.waitFor({ state: "detached" });
    assert.deepEqual(
      (await stage.world.app.access.keys.list()).map(({ name }) => name),
      ["ada"],
    );
    await leave(visited);
  });

  it("the audit page tells of it, filters, and can be used by everybody", async () => {
    const visited = await stage.visit("/v2/audit?format=ui");
    const { page } = visited;
    await signIn(page, key);
    const table = page.getByRole("table", { name: "Changes" });
    assert.match(await table.innerText(), /deleted key[\s\S]*created key[\s\S]*signed in/);
    await page.getByRole("searchbox").fill("keys/create");
    await page.getByRole("searchbox").press("Enter");
    await page.waitForURL(/filter=keys/);
    assert.equal(await table.getByRole("row").count(), 2);
    await assertAccessible(page);
    await leave(visited);
  });

  it("signing out ends it, also in other windows", async () => {
    const visited = await stage.visit("/sign-in");
    const { page } = visited;
    await signIn(page, key);
    await page.waitForURL(`${stage.url}/`);
    const other = await page.context().newPage();
    await other.goto(`${stage.url}/v2/audit?format=ui`);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await other.reload();
    assert.equal(new URL(other.url()).pathname, "/sign-in");
    await leave(visited);
  });

  it("works without scripts, and on a phone", async () => {
    const phone = { javaScriptEnabled: false, viewport: { width: 360, height: 740 }, isMobile: true };
    const visited = await stage.visit("/", phone);
    const { page } = visited;
    const box = await page.getByRole("button", { name: "Sign in" }).boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= 360);
    await signIn(page, key);
    await page.waitForURL(`${stage.url}/`);
    await leave(visited);
  });

  it("no script can read the cookie", async () => {
    const visited = await stage.visit("/sign-in");
    const { page } = visited;
    await signIn(page, key);
    await page.waitForURL(`${stage.url}/`);
    assert.equal(await page.evaluate(() => document.cookie), "");
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie?.name, cookie?.httpOnly, cookie?.sameSite], ["lockstep_session", true, "Strict"]);
    await leave(visited);
  });
});
