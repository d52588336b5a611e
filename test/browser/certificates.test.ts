// The page of a domain's certificates: it starts a verification, draws what that found, and says how late it is.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { checkCertificate } from "../../src/engine/verify/certificate.ts";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, assertForEverybody, assertStacked, leave, type Visit, visit } from "./visit.ts";

const PAGE = "/v2/domains/certificates?domain_id=FOLDERS&format=html";

describe("certificates in a browser", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let browser: Browser;
  before(async () => {
    stage = await FolderStage.open();
    for (const name of ["ibex", "vole", "okapi", "numbat"]) {
      await stage.write(`${name}.md`, `# ${name}\n\nThe ${name} was seen near the river on a long summer day.`);
    }
    await stage.write("nothing.txt", "");
    await stage.crawl();
    const domain = await stage.app.domains.get(FOLDERS);
    await stage.app.domains.update({ ...domain, maxAge: "7d" }, domain);
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await stage?.close();
  });

  const open = (path: string, options = {}): Promise<Visit> => visit(browser, server.url, path, options);

  it("says that a domain is late, and verifies it", async () => {
    const visited = await open(PAGE);
    const { page } = visited;
    const standing = page.getByLabel("How it stands");
    assert.match(await standing.innerText(), /not verified in full yet\s+late/);
    assert.match(await standing.innerText(), /may be 7d old at most/);
    assert.match(await page.locator("#certificate").innerText(), /quick verification found/);
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.getByText("What the last verification found").waitFor();
    assert.doesNotMatch(await standing.innerText(), /late/);
    assert.match(await standing.innerText(), /Verified less than a minute ago/);
    const picture = page.locator("figure.layers");
    assert.equal(
      await picture.getAttribute("aria-label"),
      "docs. Source: 5 items; Mirror: 5 files; Index: 4 documents, 1 without text; Search: 4 documents asked for",
    );
    assert.equal(await page.locator(".age-chart circle.good").count(), 1);
    await leave(visited);
  });

  it("draws what differs and what is behind, and lists it with what a crawl does", async () => {
    await writeFile(join(stage.folder, "02_embedded", "vole.md"), "damaged");
    await stage.write("new.md", "# New\n\nA marmot whistles in the mountains.");
    const visited = await open(PAGE);
    const { page } = visited;
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    const table = page.getByRole("table", { name: "Differences of docs" });
    await table.getByText("vole.md").waitFor();
    assert.match(await table.innerText(), /its bytes are not those that were downloaded/);
    assert.match(await table.innerText(), /with --checksum: downloads it again/);
    assert.match(
      (await page.locator("figure.layers").getAttribute("aria-label")) ?? "",
      /6 items, 1 moved on; Mirror: 5 files, 1 wrong/,
    );
    await page.getByText("1 item moved on at the source since the last crawl").click();
    await page.getByText("new at the source", { exact: true }).waitFor();
    await page.locator("#console .pill").getByText("completed with problems").waitFor();
    await assertForEverybody(page);
    await assertStacked(page);
    await leave(visited);

    const home = await open("/");
    const card = home.page.getByRole("article", { name: "Folders" });
    assert.match(await card.innerText(), /differs/);
    assert.match(await card.innerText(), /The last verification found 1 difference between source, mirror and index\./);
    assert.match(await card.innerText(), /Verified quickly\s+agrees,/);
    await card.getByRole("link", { name: "Look at the verification" }).click();
    await home.page.getByRole("heading", { name: "Verification", exact: true }).waitFor();
    await leave(home);
  });

  it("repairs, and lets anybody have the certificate", async () => {
    const visited = await open(PAGE);
    const { page } = visited;
    await page.getByLabel("Repair what differs").check();
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.locator("#proof .pill.good").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download the certificate", exact: true }).click(),
    ]);
    const parts: Buffer[] = [];
    for await (const part of await download.createReadStream()) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString();
    const { fingerprint, statement } = checkCertificate(text, undefined);
    assert.equal(statement?.verdict, "agrees");
    assert.equal(checkCertificate(text, fingerprint).outcome, "signed");
    assert.ok((await page.locator("#earlier tbody tr").count()) >= 3);
    await leave(visited);
  });

  it("shows an earlier certificate, and nothing of one that was altered", async () => {
    const ids = await stage.app.certificates.list(FOLDERS);
    const visited = await open(`/v2/domains/certificates/get?domain_id=FOLDERS&certificate=${ids.at(-1)}&format=html`);
    assert.equal(await visited.page.locator("figure.layers").count(), 1);
    await assertAccessible(visited.page);
    await leave(visited);
    const { id, certificate } = await stage.app.certificates.get(FOLDERS, ids[0] ?? "");
    const file = join(stage.storage, "domains", FOLDERS, "certificates", `${id}.json`);
    await writeFile(file, JSON.stringify(certificate).replace('"agrees"', '"<b>agrees</b>"'));
    const altered = await open(PAGE, { javaScriptEnabled: false });
    await altered.page.getByText("was altered after it was signed").waitFor();
    assert.equal(await altered.page.locator("figure.layers").count(), 0);
    await leave(altered);
  });
});
