// Pages show domains and jobs, guide a newcomer, and show hostile text as text.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { html } from "hono/html";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import type { Principal, Role } from "../../src/contracts/access.ts";
import type { JobId } from "../../src/contracts/ids.ts";
import { gatherHome, homePage } from "../../src/http/pages/home-page.ts";
import { toJobJson } from "../../src/http/pages/job-fragments.ts";
import { jobPage } from "../../src/http/pages/job-pages.ts";
import { layout } from "../../src/http/pages/layout.ts";
import { parseDomainInput } from "../kinds.ts";
import { ask } from "./ask.ts";
import { crawlResult, type Served, serveScripted } from "./scripted-app.ts";

const HOSTILE = `<img src=x onerror=alert(1)> "'&`;

describe("the pages", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
  });
  after(() => served.close());

  it("says what did not work once, and leads back", async () => {
    const { status, text } = await ask(served.url, "GET /v2/jobs/get?job_id=jb_99&format=html");
    assert.equal(status, 404);
    assert.equal(text.split("jb_99&#39; does not exist").length, 2, text);
    assert.match(text, /<a href="\/v2\/jobs\?format=ui">Back to Jobs<\/a> · <a href="\/v2\/jobs\/get">/);
    assert.doesNotMatch(text, /<table/);
  });

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
    const none = { added: 0, changed: 0, moved: 0, removed: 0, unchanged: 0, skipped: 0, failed: 0, empty: 0, held: 0 };
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
    for (const path of [
      "/",
      "/v2/crawler?format=ui&job_id=jb_1",
      "/v2/jobs?format=ui",
      "/v2/jobs/get?job_id=jb_1&format=html",
    ]) {
      const { status, text } = await ask(served.url, `GET ${path}`);
      assert.equal(status, 200, path);
      assert.doesNotMatch(text, /<img src=x|<b>/, path);
      assert.match(text, /&lt;img src=x onerror=alert\(1\)&gt; &quot;&#39;&amp;/, path);
      assert.match(text, /12 added, 1 removed, 40 held/, path);
    }
    const { text } = await ask(served.url, "GET /");
    assert.match(text, /dry run: 12 added, 1 removed/);
    assert.match(text, /removals held[\s\S]*domain_id=DEMO&amp;dry_run=true&amp;confirm_deletes=true/);
    const crawler = await ask(served.url, "GET /v2/crawler?format=ui&job_id=jb_1&confirm_deletes=true");
    assert.match(crawler.text, /data-job="jb_1" data-state="completed"/);
    assert.match(crawler.text, /<option value="incremental" selected>/);
    assert.match(crawler.text, /name="confirm_deletes" value="true" checked>/);
  });

  it("the page of jobs leads to a dry run of maintenance", async () => {
    const { text } = await ask(served.url, "GET /v2/jobs?format=ui");
    const [, address = ""] = /href="(\/v2\/maintenance\?[^"]+)"/.exec(text) ?? [];
    const { status } = await ask(served.url, `GET ${address}`);
    const [job] = await served.app.jobs.list({ router: "maintenance", limit: 1 });
    assert.deepEqual([status, job?.dryRun], [200, true]);
  });

  it("the crawler has a page and nothing else", async () => {
    assert.equal((await ask(served.url, "GET /v2/crawler?format=json")).status, 400);
    assert.equal((await ask(served.url, "GET /v2/crawler?format=ui&sort=nothing")).status, 400);
    assert.equal((await ask(served.url, "GET /v2/crawler")).type, "text/plain");
    const gone = await ask(served.url, "GET /v2/crawler?format=ui&job_id=jb_999");
    assert.equal(gone.status, 200, "a job that was removed is no reason not to show the page");
  });

  it("charts thirty crawls behind any number of dry runs, and opens no job file older than those", async () => {
    const folder = join(served.folder, "jobs", "crawler");
    for (let i = 0; i < 30; i++) await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&mode=incremental");
    for (let i = 0; i < 12; i++) await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&dry_run=true");
    const oldest = readdirSync(folder).find((name) => name.includes("[jb_1]")) ?? assert.fail("jb_1 is gone");
    // Whoever opens it now fails: it is a link to itself.
    const bytes = readFileSync(join(folder, oldest));
    rmSync(join(folder, oldest));
    symlinkSync(oldest, join(folder, oldest));
    assert.equal((await ask(served.url, "GET /v2/jobs/get?job_id=jb_1")).status, 500);
    const { status, text } = await ask(served.url, "GET /");
    assert.equal(status, 200);
    assert.equal(text.match(/class="changes"/g)?.length, 30);
    assert.match(text, /Over the last 30 crawls 31 % of the items changed, 0 % failed\./);
    rmSync(join(folder, oldest));
    writeFileSync(join(folder, oldest), bytes);
  });

  it("has no inline script, style or event handler, and asks no other host", async () => {
    for (const path of [
      "/",
      "/query2?query=x",
      "/v2/crawler?format=ui&job_id=jb_2",
      "/v2/jobs?format=ui",
      "/v2/jobs?format=html",
      "/v2/jobs/get?job_id=jb_2&format=html",
      "/v2/domains?format=html",
    ]) {
      const { text } = await ask(served.url, `GET ${path}`);
      assert.doesNotMatch(text, /<script(?![^>]* src="\/assets\/)|<style|\sstyle=/, path);
      assert.doesNotMatch(text.replaceAll(/&lt;.*?&gt;/g, ""), /<[^>]*\son\w+=/, path);
      assert.doesNotMatch(text, /(?:src|<link[^>]* href)="(?:https?:)?\/\//, path);
    }
  });

  it("offers readers nothing that they would be refused", async () => {
    const pagesFor = async (role: Role): Promise<string> => {
      const principal: Principal = { kind: "key", id: "k", name: "Ann", role };
      const frame = {
        product: { version: "1", backend: "x", kinds: BUILT_IN_KINDS },
        principal,
        url: new URL("http://localhost/v2/jobs"),
      };
      const job = await served.app.jobs.get("jb_2" as JobId);
      const home = await homePage(await gatherHome(served.app), frame, []);
      return `${home}${await jobPage(served.app, toJobJson(job), frame)}`;
    };
    const operator = await pagesFor("operate");
    for (const form of ["data-crawl", "data-control"]) assert.ok(operator.includes(form), form);
    assert.doesNotMatch(operator, /data-delete-job/);
    assert.match(await pagesFor("admin"), /data-delete-job/);
    assert.doesNotMatch(await pagesFor("read"), /data-crawl|data-control|data-delete-job|New domain/);
  });

  it("serves its own files with a tag to ask again by", async () => {
    for (const [name, type] of [
      ["lockstep.css", "text/css"],
      ["lockstep.js", "text/javascript"],
      ["job-console.js", "text/javascript"],
      ["table.js", "text/javascript"],
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

describe("the frame", () => {
  const page = async (principal: Principal | undefined, path = "/v2/jobs/get"): Promise<string> => {
    const url = new URL(`http://localhost${path}`);
    return String(
      await layout({
        title: "t",
        body: html``,
        frame: { product: { version: "1", backend: "x", kinds: BUILT_IN_KINDS }, principal, url },
      }),
    );
  };
  const key: Principal = { kind: "key", id: "k1", name: "<b>Ann", role: "read" };

  it("says where one is, also below a page", async () => {
    const operator = { ...key, role: "operate" } as const;
    assert.match(await page(operator), /href="\/v2\/jobs\?format=ui" aria-current="true"/);
    assert.match(await page(operator, "/v2/jobs"), /href="\/v2\/jobs\?format=ui" aria-current="page"/);
    assert.equal((await page(operator, "/")).match(/aria-current/g)?.length, 1);
  });

  it("shows who is signed in, and the administration to administrators alone", async () => {
    const reader = await page(key);
    assert.match(reader, /&lt;b&gt;Ann[\s\S]*<form action="\/sign-out" method="post">/);
    assert.doesNotMatch(reader, /\/v2\/(keys|jobs|crawler|domains)/);
    assert.match(reader, /href="\/v2\/search\?format=ui"/);
    const admin = await page({ ...key, role: "admin" });
    assert.match(admin, /href="\/v2\/keys\?format=ui"[\s\S]*href="\/v2\/audit\?format=ui"/);
    const local = await page({ kind: "local", id: "", name: "local", role: "admin" });
    assert.match(local, /href="\/v2\/keys\?format=ui"/, "the first key is made before there is anybody to sign in");
    assert.doesNotMatch(local, /sign-out/);
    assert.doesNotMatch(await page(undefined), /<nav|sign-out/, "before the sign-in nothing would open");
  });
});
