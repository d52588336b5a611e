// Long ids, long words and failures change no page's width: nothing is cut at 1280 pixels, nothing has to be pushed aside at 390.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FolderStage } from "../engine/folder-stage.ts";
import { ask } from "../http/ask.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, leave, visit } from "./visit.ts";

const ID = "EMPLOYEE-HANDBOOK-AND_GUIDELINES_OF-2026";
const WORD = "Donaudampfschifffahrtsgesellschaftskapitaensmuetzenverordnung";
const OF = `domain_id=${ID}&format=`;

describe("long names in a browser", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let browser: Browser;
  before(async () => {
    stage = await FolderStage.open();
    await stage.write(`${WORD}/${WORD}.md`, `# ${WORD}\n\n## ${WORD}s\n\nWho wears a cap?\n`);
    await stage.write("broken.docx", "PK no archive");
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0 });
    browser = await openBrowser();
    const sources = { folder_sources: [{ source_id: "shared-drive-of-the-company", root: stage.root }] };
    const json = { domain_id: ID, name: `The ${WORD}`, description: WORD, ...sources };
    assert.equal((await ask(server.url, "POST /v2/domains/create", { json })).status, 200);
    await ask(server.url, `GET /v2/crawler/crawl?domain_id=${ID}&mode=full&format=json`);
    await stage.write("new.md", "# New");
    await ask(server.url, `GET /v2/crawler/crawl?domain_id=${ID}&dry_run=true&plan=store&format=json`);
    await ask(server.url, `GET /v2/crawler/crawl?domain_id=${ID}&mode=incremental&format=json`);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await stage?.close();
  });

  const PAGES = [
    "/",
    "/v2/domains?format=ui",
    `/v2/domains/get?${OF}html`,
    `/v2/domains/generations?${OF}html`,
    "/v2/jobs?format=ui",
    "/v2/reports?format=ui",
    "/v2/crawler/plans?format=ui",
    `/v2/crawler?${OF}ui`,
    `/v2/documents?${OF}html`,
    `/v2/documents/failed?${OF}html`,
    `/v2/search?${OF}ui&query=who%20wears%20a%20cap`,
    "/v2/inventory/vector_stores?format=ui",
  ];
  it("fit on every page, wide and narrow, and axe finds nothing", async () => {
    for (const [width, colorScheme] of [[1280, "light"] as const, [390, "dark"] as const]) {
      for (const path of PAGES) {
        const visited = await visit(browser, server.url, path, {
          viewport: { width, height: 900 },
          colorScheme,
          reducedMotion: "reduce",
        });
        const { page } = visited;
        const cut = await page
          .locator("html, .scroll-x:has(> table.rows), .paged-table .scroll-x")
          .evaluateAll((all) =>
            all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel ?? one.tagName),
          );
        assert.deepEqual(cut, [], `${path} at ${width}`);
        const lines = await page
          .locator("td bdi")
          .filter({ hasText: new RegExp(`^${ID}$`) })
          .evaluateAll((all) => all.map((one) => new Set([...one.getClientRects()].map(({ top }) => top)).size));
        assert.ok(Math.max(0, ...lines) <= 3, `${path}: the id breaks into ${Math.max(...lines)} lines`);
        await assertAccessible(page);
        await leave(visited);
      }
    }
  });
});
