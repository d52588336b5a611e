// Reports are read, sorted, filtered, exported and deleted in a browser, whatever their length.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import type { DomainId, JobId } from "../../src/contracts/ids.ts";
import type { World } from "../engine/world.ts";
import { BrowserStage } from "./browser-stage.ts";
import { assertForEverybody, assertStacked, leave } from "./visit.ts";

const ROWS = 20_000;
const MAP = "01_files/big/vectorstore_map.csv";

describe("reports in a browser", () => {
  let stage: BrowserStage;
  let big = "";
  before(async () => {
    stage = await BrowserStage.open({}, async (world) => {
      await world.change("add", { path: "Travel/policy.txt", text: "A hotel night is approved by the zebra desk." });
      await world.crawl();
      big = await archiveBigMap(world);
    });
  });
  after(() => stage?.close());

  const viewer = (): string => `/v2/reports/file?report_id=${big}&file_path=${MAP}&format=html`;
  const names = (page: Page): Promise<string[]> => page.locator("#map tbody td:first-child").allInnerTexts();

  const range = (page: Page, words: string): Promise<void> =>
    page.locator("[data-part=range]").filter({ hasText: words }).waitFor();

  it("are listed, read source by source, and opened file by file", async () => {
    const visited = await stage.visit("/v2/reports?format=ui");
    const { page } = visited;
    await page.getByLabel("Domain").selectOption("STORY");
    await page.waitForURL(/domain_id=STORY/);
    assert.equal(await page.locator("#reports tbody tr").count(), 1);
    await page.getByRole("link", { name: /^View/ }).click();
    await page.getByRole("heading", { name: "Crawl of STORY (all, incremental)" }).waitFor();
    await page.getByRole("row", { name: /docs Document library ok 1 added 1 1 0 0 0/ }).waitFor();
    await page.getByRole("navigation", { name: "Files of the report" }).getByText("files_map.csv").click();
    assert.match(
      (await page.locator("#map tbody").innerText()).replaceAll("\\", "/"),
      /02_embedded\/Travel\/policy\.txt/,
    );
    await page.getByRole("navigation", { name: "Files of the report" }).getByText("report.json").click();
    await page.getByText("items total").first().waitFor();
    await leave(visited);
  });

  it("sort, filter and page a map of any length on the server", async () => {
    const visited = await stage.visit(viewer());
    const { page } = visited;
    assert.equal((await names(page)).length, 50);
    await range(page, `1–50 of ${ROWS}`);
    await page.getByRole("link", { name: "file_size" }).click();
    await page.waitForURL(/sort=file_size/);
    await page.getByRole("cell", { name: "Report 0.docx" }).first().waitFor();
    assert.deepEqual((await names(page)).slice(0, 3), ["Report 0.docx", "Report 1.docx", "Report 2.docx"]);
    await page.getByRole("link", { name: "file_size" }).click();
    await page.waitForURL(/sort=-file_size/);
    await page.getByRole("link", { name: "Next" }).click();
    await range(page, `51–100 of ${ROWS}`);
    assert.equal((await names(page))[0], `Report ${ROWS - 51}.docx`);
    await page.getByRole("searchbox", { name: "Filter" }).fill("too large");
    await range(page, "1–50 of 200");
    assert.equal((await names(page))[0], "Report 19900.docx");
    await leave(visited);
  });

  it("lead from a source that failed to the rows that did, with numbers below their head", async () => {
    const visited = await stage.visit(`/v2/reports/get?report_id=${big}&format=html`);
    const { page } = visited;
    await page.getByRole("link", { name: "failed in vectorstore" }).click();
    await range(page, "1–50 of 200");
    assert.deepEqual(
      [...new Set(await page.locator("#map td[data-label=embedding_error]").allInnerTexts())],
      ["=too large"],
    );
    const endOf = (selector: string): Promise<number> =>
      page
        .locator(selector)
        .first()
        .evaluate((cell) => {
          const words = document.createRange();
          words.selectNodeContents(cell);
          return cell.getBoundingClientRect().right - words.getBoundingClientRect().right;
        });
    assert.equal(await endOf("#map td[data-label=file_size]"), await endOf("#map th:has(#map-by-file_size)"));
    await page.getByRole("link", { name: "All rows" }).click();
    await range(page, `1–50 of ${ROWS}`);
    await page.getByRole("link", { name: "Failed only" }).waitFor();
    await leave(visited);
  });

  it("give a spreadsheet the rows that are shown", async () => {
    const visited = await stage.visit(`${viewer()}&filter=too+large`);
    const { page } = visited;
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "CSV for a spreadsheet" }).click(),
    ]);
    const chunks: Uint8Array[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Uint8Array);
    const lines = Buffer.concat(chunks).toString("utf8").trim().split("\r\n");
    assert.equal(lines.length, 201);
    assert.ok(lines.slice(1).every((line) => line.includes("'=too large")));
    await leave(visited);
  });

  it("are deleted in two steps", async () => {
    const copy = await archiveBigMap(stage.world);
    const visited = await stage.visit("/v2/reports?format=ui&domain_id=BIG");
    const { page } = visited;
    const links = page.getByRole("link", { name: /^Delete/ });
    assert.match((await links.first().getAttribute("class")) ?? "", /danger/);
    await page.locator(`a[href*="${encodeURIComponent(copy)}"]`, { hasText: "Delete" }).click();
    await page.getByRole("button", { name: "Delete report" }).click();
    await page.waitForURL(/\/v2\/reports\?format=ui$/);
    assert.deepEqual(
      (await stage.world.app.reports.list({ domainId: "BIG" as DomainId })).map(({ reportId }) => reportId),
      [big],
    );
    await leave(visited);
  });

  it("everybody can read them, wide in light, on a phone in dark", async () => {
    const report = `/v2/reports/get?report_id=${big}&format=html`;
    const json = `/v2/reports/file?report_id=${big}&file_path=report.json&format=html`;
    for (const path of ["/v2/reports?format=ui", report, viewer(), json]) {
      const visited = await stage.visit(path);
      await assertForEverybody(visited.page);
      await assertStacked(visited.page);
      await leave(visited);
    }
  });
});

/** In no order; every hundredth file has failed. */
async function archiveBigMap({ app, storage }: World): Promise<string> {
  const path = join(storage, "big.csv");
  const lines = Array.from({ length: ROWS }, (_, at) => {
    const number = (at * 7919) % ROWS;
    return `file-${number},Report ${number}.docx,${number},2026-01-15T10:30:00.000000Z,1768473000,${number % 100 === 0 ? "=too large" : ""}`;
  });
  const columns = "openai_file_id,filename,file_size,last_modified_utc,last_modified_timestamp,embedding_error";
  await writeFile(path, `${[columns, ...lines].join("\r\n")}\r\n`);
  return await app.reports.archive({
    domainId: "BIG" as DomainId,
    jobId: "jb_99" as JobId,
    mode: "full",
    scope: "all",
    sourceId: "",
    startedAt: "2026-01-15T14:20:00.000000Z",
    finishedAt: "2026-01-15T14:25:00.000000Z",
    ok: false,
    error: "Source 'big': 200 items failed.",
    sources: [
      {
        sourceType: "file_sources",
        sourceId: "big",
        complete: true,
        error: "",
        total: ROWS,
        added: ROWS,
        changed: 0,
        moved: 0,
        removed: 0,
        failed: 200,
        mapFiles: [{ name: MAP, path }],
      },
    ],
  });
}
