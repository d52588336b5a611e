// A document is read as people know it: a PDF page by page at the passage, everything else as text in which nothing is markup.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { openableUrl } from "../../src/app/openable-url.ts";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { makePdf } from "../extract/make-pdf.ts";
import { openBrowser } from "./open-browser.ts";
import { assertAccessible, assertForEverybody, leave, type Visit, visit } from "./visit.ts";

const LONG = Array.from(
  { length: 60 },
  (_, at) => `## Part ${at}\n\nThe ${at}th part tells of rivers, bridges and boats.`,
).join("\n\n");
const HOSTILE = `# Hostile

<script>document.title = "owned"</script> <img src=x onerror="document.title='owned'">

[click](javascript:alert(1)) [data](data:text/html,x) [fine](https://example.com/a "t") ![A picture](https://example.com/x.png)

The walrus sleeps here.`;

/** Pages that are too long for one passage; each begins with its text. */
function pdfOf(texts: readonly string[]): Buffer {
  const filler = (page: number, line: number): string =>
    `Line ${line} of page ${page} tells of harbours, cargo, weather, timetables and of many other things.`;
  const pages = texts.map((text, page) => [
    { text, x: 60, y: 764, size: 9 },
    ...Array.from({ length: 48 }, (_, line) => ({ text: filler(page, line), x: 60, y: 750 - line * 14, size: 9 })),
  ]);
  return makePdf({ pages });
}

describe("reading a document in a browser", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let browser: Browser;
  before(async () => {
    stage = await FolderStage.open();
    await stage.write(
      "trip.pdf",
      pdfOf([
        "The first page is about ferries.",
        "The second page names the captain Ada Quist.",
        "The third page ends.",
      ]),
    );
    await stage.write("broken.pdf", pdfOf(["The zebra is on a page that will be broken."]));
    await stage.write("long.md", `# Guide\n\n${LONG}\n\n## Where otters live\n\nOtters live at the weir.\n\n${LONG}`);
    await stage.write("hostile.md", HOSTILE);
    browser = await openBrowser();
    const printing = await browser.newPage();
    await printing.setContent("<p style='font-family: DejaVu Sans, sans-serif'>The office affixes efficient waffles.");
    await stage.write("printed.pdf", await printing.pdf());
    await printing.close();
    await stage.write(
      "outline.md",
      "# The pelican file\n\nPelicans fish. See [nests](../nests.md).\n\n#### Deep\n\n- one\n  - two\n\n| Bird | Wings | Weight in kilograms | Where it is found in winter | Ringed by |\n| --- | ---: | :-: | --- | --- |\n| Pelican | 2 | 11 | Mediterranean | Wiedehopfberingungsgesellschaft |\n",
    );
    await stage.write("arabic.md", "# سياسة الإجازات\n\nيحق لكل موظف ثلاثون يومًا من الإجازة السنوية.\n");
    await stage.write("run.py", "# not a heading\nprint('the lynx')\n");
    await stage.crawl();
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await stage?.close();
  });
  const addressOf = async (text: string): Promise<string> => {
    const { sources } = await stage.app.query({ text, limit: 1, domainId: FOLDERS, vectorStoreId: undefined });
    return openableUrl(sources[0] ?? assert.fail(`nothing is found for ${text}`), "");
  };
  const open = async (text: string, options = {}): Promise<Visit> =>
    visit(browser, server.url, await addressOf(text), options);

  it("opens a PDF at the page of a sentence, where its passage begins on another", async () => {
    const address = (await addressOf("captain Ada Quist")).replace(/#.*/, "#page-3");
    const visited = await visit(browser, server.url, address);
    const third = visited.page.locator(".pdf-page[data-number='3']");
    await third.locator(".pdf-mark, canvas[width]").first().waitFor();
    assert.ok(await third.evaluate((element) => Math.abs(element.getBoundingClientRect().top) < innerHeight));
    await leave(visited);
  });

  it("shows a PDF at the cited page, with the passage marked, and its text without scripts", async () => {
    const visited = await open("captain Ada Quist");
    const { page } = visited;
    await page.getByText("3 pages").waitFor();
    const second = page.locator(".pdf-page[data-number='2']");
    await second.locator(".pdf-mark").first().waitFor();
    assert.ok(await second.evaluate((element) => Math.abs(element.getBoundingClientRect().top) < innerHeight));
    const ink = await second.locator("canvas").evaluate((canvas: HTMLCanvasElement) => {
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext("2d");
      context?.drawImage(canvas, 0, 0);
      return context?.getImageData(0, 0, copy.width, copy.height).data.some((value, at) => at % 4 === 0 && value < 100);
    });
    assert.ok(ink, "nothing is drawn on the page");
    await assertAccessible(page);
    if (process.env["SHOTS"]) await page.screenshot({ path: "/tmp/reading-pdf.png" });
    await leave(visited);
    const plain = await open("captain Ada Quist", { javaScriptEnabled: false });
    assert.match(await plain.page.locator(".reading").innerText(), /Page 2[\s\S]*Ada Quist/);
    const cited = (await plain.page.locator(".cited").allInnerTexts()).join("\n");
    assert.match(cited, /Ada Quist/);
    assert.doesNotMatch(cited, /about ferries/);
    await leave(plain);
  });

  it("downloads the original, and falls back to the text where that is no PDF any more", async () => {
    const address = await addressOf("zebra");
    const raw = await fetch(server.url + address.replace("format=html", "format=raw"));
    assert.equal(raw.headers.get("content-type"), "application/octet-stream");
    assert.match(raw.headers.get("content-disposition") ?? "", /attachment; filename="broken\.pdf"/);
    const visited = await visit(browser, server.url, "/v2/domains?format=ui", {});
    const { page } = visited;
    await page.route("**/format=raw**", (route) => route.continue());
    await page.route(/format=raw/, (route) =>
      route.fulfill({ status: 200, body: "%PDF-1.7 nothing", contentType: "application/pdf" }),
    );
    await page.goto(server.url + address);
    await page.getByText("The pages cannot be shown here").waitFor();
    assert.match(await page.locator(".reading").innerText(), /zebra/);
    await leave(visited);
  });

  it("shows a long text in a width that can be read, with its contents, at the passage", async () => {
    const visited = await open("Where do otters live?");
    const { page } = visited;
    const passage = page.locator("#passage");
    assert.match(await passage.innerText(), /Otters live at the weir/);
    assert.ok(
      await passage.evaluate(
        (element) => element.getBoundingClientRect().top < innerHeight && element.getBoundingClientRect().top >= 0,
      ),
    );
    const width = await page
      .locator(".reading p")
      .first()
      .evaluate((element) => element.clientWidth);
    assert.ok(width < 800, `${width} pixels wide`);
    const contents = page.getByRole("navigation", { name: "Contents" });
    assert.equal(await contents.getByRole("link", { name: "Where otters live" }).count(), 1);
    if (process.env["SHOTS"]) await page.screenshot({ path: "/tmp/reading-text.png" });
    await assertForEverybody(page);
    await leave(visited);
  });

  it("runs and loads nothing of a document", async () => {
    const visited = await open("walrus sleeps");
    const { page } = visited;
    assert.match(await page.title(), /Hostile/);
    const text = page.locator(".reading");
    assert.match(await text.innerText(), /<script>document\.title = "owned"<\/script>/);
    assert.equal(await text.locator("script, img, iframe").count(), 0);
    assert.equal(await text.locator("a").count(), 0);
    assert.equal(await text.getByTitle("https://example.com/a").innerText(), "fine");
    assert.match(await text.innerText(), /click data fine/);
    assert.match(await text.innerText(), /Picture: A picture/);
    await leave(visited);
  });

  it("puts a document's headings below the page's, once and without a gap, and takes no style from it", async () => {
    const visited = await open("Pelicans fish", { viewport: { width: 390, height: 844 } });
    const { page } = visited;
    assert.deepEqual(await page.locator("h1, h2, h3, h4, h5").allInnerTexts(), ["The pelican file", "Deep"]);
    const text = page.locator(".reading");
    assert.match(await text.innerText(), /See nests\./);
    const left = (item: string): Promise<number> =>
      text
        .locator(item)
        .first()
        .evaluate((element) => element.getBoundingClientRect().left);
    assert.ok((await left("li li")) > (await left("li")) + 8, "a list in a list is set in");
    const word = text.getByText("Wiedehopfberingungsgesellschaft");
    assert.equal(await word.evaluate((cell) => cell.getClientRects().length && cell.clientHeight < 60), true);
    await assertForEverybody(page);
    await leave(visited);
  });

  it("reads from the right where the words do", async () => {
    const visited = await open("الإجازة السنوية");
    const line = visited.page.locator(".reading p").first();
    assert.equal(await line.evaluate((element) => getComputedStyle(element).direction), "rtl");
    await leave(visited);
  });

  it("marks words of a PDF that are set with ligatures, each drawn in pieces", async () => {
    const visited = await open("office affixes efficient waffles");
    await visited.page.locator(".pdf-mark").first().waitFor();
    await leave(visited);
  });

  it("shows the text of a program as it is", async () => {
    const visited = await open("print the lynx");
    assert.match(await visited.page.locator("pre").innerText(), /^# not a heading\nprint\('the lynx'\)\s*$/);
    await leave(visited);
  });
});
