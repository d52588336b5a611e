import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseDomainInput } from "../../src/domains/domain-input.ts";
import { excerptAround, markWords } from "../../src/http/pages/highlight.ts";
import { ask } from "./ask.ts";
import { crawlResult, type Served, serveScripted } from "./scripted-app.ts";

const HOSTILE = `<img src=x onerror=alert(1)> "'&`;

describe("passages", () => {
  const marked = async (passage: string, query: string): Promise<string> => String(await markWords(passage, query));

  it("marks the telling words and their forms, nothing inside other words", async () => {
    assert.equal(
      await marked("Hotel costs, hotels; the motel", "What may the hotels cost?"),
      "<mark>Hotel</mark> <mark>costs</mark>, <mark>hotels</mark>; the motel",
    );
    assert.equal(await marked("The ERP and the NERP", "the ERP"), "The <mark>ERP</mark> and the NERP");
    assert.equal(await marked("東京タワーの高さ", "タワー"), "東京<mark>タワー</mark>の高さ");
    assert.equal(await marked("a <b> [x] (y", "b [x] (y"), "a &lt;<mark>b</mark>&gt; [<mark>x</mark>] (<mark>y</mark>");
    assert.equal(await marked("text", "?!"), "text");
  });

  it("are cut around the first hit, at spaces", () => {
    const passage = `${"before ".repeat(100)}needle ${"after ".repeat(100)}`;
    const { text, cut } = excerptAround(passage, "needle");
    assert.equal(cut, true);
    assert.match(text, /^… before (before )*needle (after )*after …$/);
    assert.ok(text.length < 440);
    assert.deepEqual(excerptAround(" short ", "x"), { text: "short", cut: false });
    assert.match(excerptAround(passage, "nowhere").text, /^before .* …$/);
  });
});

describe("the overview", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
  });
  after(() => served.close());

  it("tells a newcomer what to do", async () => {
    const { status, type, text } = await ask(served.url, "GET /");
    assert.equal(status, 200);
    assert.equal(type, "text/html");
    assert.match(text, /<form[^>]* action="\/v2\/domains\/create\?format=html" method="post"/);
    assert.ok(text.includes(`curl &#39;${served.url}/v2/domains/create&#39;`));
    assert.match(text, /Everyone who may query sees everything that was crawled\./);
  });

  it("shows domains, their last crawl and the jobs, with hostile text as text", async () => {
    await served.app.domains.create(
      parseDomainInput({
        domain_id: "DEMO",
        name: HOSTILE,
        description: HOSTILE,
        file_sources: [
          {
            source_id: "documents",
            site_url: "https://example.sharepoint.com/sites/demo",
            sharepoint_url_part: "/<b>Documents",
          },
        ],
      }),
    );
    const none = { added: 0, changed: 0, moved: 0, removed: 0, unchanged: 0, skipped: 0, failed: 0, held: 0 };
    served.script.crawl = async (request, job) => {
      job.log(`[ 1 / 1 ] ${HOSTILE}`);
      const counts = { ...none, added: 12, removed: 1, unchanged: 30, held: job.dryRun ? 0 : 40 };
      return {
        ...crawlResult(request, job, [`Held: ${HOSTILE}`]),
        sources: [
          {
            source_id: "documents" as (typeof request)["sourceId"] & string,
            source_type: "file_sources",
            complete: true,
            error: "",
            download: counts,
            process: none,
            embed: counts,
          },
        ],
      };
    };
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&mode=incremental");
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&dry_run=true");
    const { text } = await ask(served.url, "GET /?job_id=jb_1&query=%3Cb%3E");
    assert.doesNotMatch(text, /<img src=x|<b>/);
    assert.match(text, /&lt;img src=x onerror=alert\(1\)&gt; &quot;&#39;&amp;/);
    assert.match(text, /<dt>Documents<\/dt><dd>82<\/dd>/);
    assert.match(text, /12 added, 1 removed, 40 held/);
    assert.match(text, /dry run: 12 added, 1 removed/);
    assert.match(text, /name="confirm_deletes"/);
    assert.match(text, /data-job="jb_1" data-state="completed"/);
    assert.match(text, /<option value="incremental" selected>/);
  });

  it("finds the last crawl behind any number of dry runs, and opens no job file older than it", async () => {
    const folder = join(served.folder, "jobs", "crawler");
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&mode=incremental");
    for (let i = 0; i < 12; i++) await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&dry_run=true");
    const oldest = readdirSync(folder).find((name) => name.includes("[jb_1]")) ?? assert.fail("jb_1 is gone");
    // Whoever opens it now fails: it is a link to itself.
    const bytes = readFileSync(join(folder, oldest));
    rmSync(join(folder, oldest));
    symlinkSync(oldest, join(folder, oldest));
    assert.equal((await ask(served.url, "GET /v2/jobs?format=json")).status, 500);
    const { status, text } = await ask(served.url, "GET /");
    assert.equal(status, 200);
    assert.match(text, /<dt>Documents<\/dt><dd>82<\/dd>/);
    rmSync(join(folder, oldest));
    writeFileSync(join(folder, oldest), bytes);
    assert.match((await ask(served.url, "GET /?job_id=jb_1")).text, /data-job="jb_1" data-state="completed"/);
  });

  it("has no inline script, style or event handler, and asks no other host", async () => {
    for (const path of ["/", "/?query=x", "/query2?query=x", "/v2/jobs?format=html", "/v2/domains?format=html"]) {
      const { text } = await ask(served.url, `GET ${path}`);
      assert.doesNotMatch(text, /<script(?![^>]* src="\/assets\/)|<style|\sstyle=/, path);
      assert.doesNotMatch(text.replaceAll(/&lt;.*?&gt;/g, ""), /<[^>]*\son\w+=/, path);
      assert.doesNotMatch(text, /(?:src|<link[^>]* href)="(?:https?:)?\/\//, path);
    }
  });

  it("serves its own files with a tag to ask again by", async () => {
    for (const [name, type] of [
      ["lockstep.css", "text/css"],
      ["lockstep.js", "text/javascript"],
      ["job-console.js", "text/javascript"],
      ["favicon.svg", "image/svg+xml"],
    ]) {
      const first = await ask(served.url, `GET /assets/${name}`);
      assert.equal(first.status, 200);
      assert.equal(first.type, type);
      const etag = first.headers.get("etag") ?? "";
      const again = await ask(served.url, `GET /assets/${name}`, { headers: { "if-none-match": etag } });
      assert.equal(again.status, 304);
    }
  });
});
