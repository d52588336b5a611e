// Files are dropped onto a domain's page: refused before they are sent, each with its progress, searchable at once, removable.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { openBrowser } from "./open-browser.ts";
import { assertForEverybody, leave, type Visit, visit } from "./visit.ts";

const PAGE = `/v2/domains/uploads?domain_id=${FOLDERS}&format=html`;
const file = (name: string, text: string) => ({ name, mimeType: "text/markdown", buffer: Buffer.from(text) });

describe("uploads in a browser", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let browser: Browser;
  before(async () => {
    stage = await FolderStage.open();
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await stage?.close();
  });
  const open = (options = {}): Promise<Visit> => visit(browser, server.url, PAGE, options);

  it("uploads what is chosen, and tells what is not taken before it is sent", async () => {
    const visited = await open();
    const { page } = visited;
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "PUT") sent.push(new URL(request.url()).searchParams.get("path") ?? "");
    });
    await page
      .getByLabel("Files", { exact: true })
      .setInputFiles([
        file("heron.md", "The heron wades."),
        file("program.exe", "MZ"),
        file("ibis.md", "The ibis stands."),
      ]);
    await page.getByRole("button", { name: "Upload" }).click();
    await page.getByText("not uploaded: files of type 'exe' are not taken in").waitFor();
    await page.locator("#uploaded .pill.good").nth(1).waitFor();
    assert.deepEqual(sent, ["heron.md", "ibis.md"]);
    assert.deepEqual(await stage.found("heron"), ["heron.md"]);
    await assertForEverybody(page);
    await leave(visited);
  });

  it("takes files that are dropped, in their folders", async () => {
    const visited = await open();
    const { page } = visited;
    const dropped = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["The kestrel hovers."], "kestrel.md", { type: "text/markdown" }));
      return data;
    });
    await page.dispatchEvent("[data-part=drop]", "drop", { dataTransfer: dropped });
    await page.locator("#uploaded").getByText("kestrel.md").first().waitFor();
    assert.deepEqual(await stage.found("kestrel"), ["kestrel.md"]);
    await leave(visited);
  });

  it("brings in what was stored although the last file was refused", async () => {
    const visited = await open();
    const { page } = visited;
    visited.mayBeRefused = true;
    await page
      .getByLabel("Files", { exact: true })
      .setInputFiles([file("kiwi.md", "The kiwi cannot fly."), file(`${"a".repeat(210)}.md`, "Too long a name.")]);
    await page.getByRole("button", { name: "Upload" }).click();
    await page.getByText(/a name may have 200 bytes/).waitFor();
    await page.getByRole("row", { name: /kiwi/ }).locator(".pill.good").waitFor();
    assert.deepEqual(await stage.found("kiwi"), ["kiwi.md"]);
    await leave(visited);
  });

  it("works without scripts: a form uploads, and a file is removed in two steps", async () => {
    const visited = await open({ javaScriptEnabled: false });
    const { page } = visited;
    await page.getByLabel("Files", { exact: true }).setInputFiles([file("lapwing.md", "The lapwing calls.")]);
    await page.getByRole("button", { name: "Upload" }).click();
    assert.match(await page.locator("main").innerText(), /1 uploaded\.[\s\S]*lapwing\.md[\s\S]*searchable/);
    await page.getByRole("link", { name: "View lapwing.md" }).click();
    await page.getByText("The lapwing calls.").waitFor();
    await page.goto(server.url + PAGE);
    await page.locator("summary", { hasText: "Remove lapwing.md" }).click();
    await page
      .getByRole("row", { name: /lapwing/ })
      .getByRole("button", { name: "Remove" })
      .click();
    assert.doesNotMatch(await page.locator("main").innerText(), /lapwing/);
    assert.deepEqual(await stage.found("lapwing"), []);
    await leave(visited);
  });
});
