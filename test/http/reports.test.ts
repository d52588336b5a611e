// Reports are listed, read, filtered, exported and deleted over HTTP.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { strToU8, unzipSync, zipSync } from "fflate";
import type { DomainId, JobId } from "../../src/contracts/ids.ts";
import type { CrawlArchive } from "../../src/contracts/report.ts";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const ID = "crawls/2026-01-15_14-25-00_DEMO_all_full";
const BAD = "crawls/2026-01-14_00-00-00_DEMO_all_full";
const CSV = 'filename,note\r\n"a, ""b"".docx","two\r\nlines"\r\n<script>alert(1)</script>,=1+1\r\n';
const MAP = "01_files/docs/files_map.csv";

describe("/v2/reports", () => {
  let served: Served;
  let mapFile: string;
  const archive = (wishes: Partial<CrawlArchive> = {}): Promise<string> =>
    served.app.reports.archive({
      domainId: "DEMO" as DomainId,
      jobId: "jb_7" as JobId,
      mode: "full",
      scope: "all",
      sourceId: "",
      startedAt: "2026-01-15T14:20:00.000000Z",
      finishedAt: "2026-01-15T14:25:00.000000Z",
      ok: true,
      error: "",
      sources: [
        {
          sourceType: "file_sources",
          sourceId: "docs",
          complete: true,
          error: "",
          total: 2,
          added: 2,
          changed: 0,
          moved: 0,
          removed: 0,
          failed: 0,
          mapFiles: [{ name: MAP, path: mapFile }],
        },
      ],
      ...wishes,
    });
  before(async () => {
    served = await serveScripted();
    mapFile = join(served.folder, "files_map.csv");
    await writeFile(mapFile, CSV);
    await archive();
    await writeFile(join(served.folder, "reports", `${BAD}.zip`), "no zip");
  });
  after(() => served.close());

  it("lists them newest first, the unreadable one with its reason", async () => {
    const { status, json } = await ask(served.url, "GET /v2/reports?type=crawl");
    assert.equal(status, 200);
    assert.equal(json["ok"], true);
    const rows = json["data"] as unknown as Record<string, unknown>[];
    assert.deepEqual(
      rows.map((row) => [row["report_id"], row["ok"], row["domain_id"], row["job_id"]]),
      [
        [ID, true, "DEMO", "jb_7"],
        [BAD, false, undefined, undefined],
      ],
    );
    assert.match(String(rows[1]?.["error"]), /cannot be read: it has no directory/);
    const page = await ask(served.url, "GET /v2/reports?format=html");
    assert.equal(page.type, "text/html");
    assert.match(page.text, /DEMO[\s\S]*full, all[\s\S]*it has no directory/);
    const other = await ask(served.url, "GET /v2/reports?type=site_scan");
    assert.equal(other.json["error"], "'type' must be crawl; got 'site_scan'.");
  });

  it("gets one, with its sources and files", async () => {
    const { json } = await ask(served.url, `GET /v2/reports/get?report_id=${ID}`);
    const data = json["data"];
    assert.equal(data?.["report_id"], ID);
    assert.equal(data?.["sources"]?.["0"]?.["map_files"]?.["0"], MAP);
    assert.equal(data?.["files"]?.["1"]?.["file_path"], MAP);
    assert.match((await ask(served.url, `GET /v2/reports/get?report_id=${ID}&format=html`)).text, /files_map\.csv/);
    const bad = await ask(served.url, `GET /v2/reports/get?report_id=${BAD}`);
    assert.equal(bad.status, 200);
    assert.equal(bad.json["ok"], false);
    assert.match(String(bad.json["error"]), /cannot be read/);
  });

  it("returns one file raw, as JSON, or as a table in which everything is text", async () => {
    const path = `/v2/reports/file?report_id=${ID}&file_path=${MAP}`;
    const raw = await ask(served.url, `GET ${path}`);
    assert.equal(raw.text, CSV);
    assert.equal(raw.type, "text/csv");
    assert.equal(raw.headers.get("content-length"), String(CSV.length));
    assert.equal(raw.headers.get("content-disposition"), 'attachment; filename="files_map.csv"');
    assert.equal(raw.headers.get("x-content-type-options"), "nosniff");
    const json = await ask(served.url, `GET ${path}&format=json`);
    assert.deepEqual(json.json["data"], { report_id: ID, file_path: MAP, content: CSV, complete: true });
    const page = await ask(served.url, `GET ${path}&format=html`);
    for (const cell of ["a, &quot;b&quot;.docx", "two\r\nlines", "&lt;script&gt;alert(1)&lt;/script&gt;", "=1+1"]) {
      assert.ok(page.text.includes(`<div><bdi>${cell}</bdi></div>`), `${cell} in ${page.text}`);
    }
    const own = await ask(served.url, `GET /v2/reports/file?report_id=${ID}&file_path=report.json`);
    assert.equal(own.type, "application/json");
    assert.equal(own.json["files"]?.["0"]?.["file_size"], Buffer.byteLength(own.text));
    const head = await ask(served.url, `HEAD ${path}`);
    assert.deepEqual([head.status, head.text], [200, ""]);
  });

  it("a large table comes whole as raw, in parts on a page and as JSON", async () => {
    const rows = Array.from(
      { length: 100_000 },
      (_, i) => `${(i * 7919) % 100_000},Bericht für alle ${i}.docx,0123456789\r\n`,
    );
    const large = Buffer.from(`id,name,number\r\n${rows.join("")}`);
    await writeFile(mapFile, large);
    const id = await archive({ finishedAt: "2026-01-16T00:00:00.000000Z" });
    const path = `/v2/reports/file?report_id=${id}&file_path=${MAP}`;
    const response = await fetch(`${served.url}${path}&format=raw`);
    const hash = createHash("sha256");
    for await (const chunk of response.body ?? []) hash.update(chunk);
    assert.equal(hash.digest("hex"), createHash("sha256").update(large).digest("hex"));
    const page = await ask(served.url, `GET ${path}&format=html&sort=-id&offset=19950`);
    assert.match(page.text, /19951–20000 of 100000/);
    assert.ok(page.text.includes("<div><bdi>80049</bdi></div>") && !page.text.includes("<div><bdi>80050</bdi></div>"));
    const further = await ask(served.url, `GET ${path}&format=html&sort=-id&offset=20000`);
    assert.match(further.text, /A sorted table is shown up to row 20000\. Filter it/);
    assert.ok(page.text.length < 100_000);
    const part = await ask(served.url, `GET ${path}&format=json&sort=id&limit=2&filter=alle+9`);
    assert.deepEqual(part.json["page"], { offset: 0, limit: 2, total: 11_111, more: true });
    const names = part.json["data"]?.["rows"] as unknown as { id: string; name: string }[];
    assert.ok(names.length === 2 && names.every(({ name }) => name.startsWith("Bericht für alle 9")));
    assert.ok(Number(names[0]?.id) < Number(names[1]?.id));
    const json = await ask(served.url, `GET ${path}&format=json`);
    assert.equal(json.status, 400);
    assert.match(String(json.json["error"]), /more than fit here\. Use format=raw\./);
    // A client that goes away in the middle leaves the server as it was.
    const aborted = await fetch(`${served.url}${path}&format=raw`);
    await aborted.body?.cancel();
    assert.equal((await ask(served.url, `GET /v2/reports/get?report_id=${id}`)).status, 200);
    await ask(served.url, `DELETE /v2/reports/delete?report_id=${id}`);
    await writeFile(mapFile, CSV);
  });

  it("gives spreadsheets the rows that match, and no formula", async () => {
    const path = `/v2/reports/file?report_id=${ID}&file_path=${MAP}&format=csv`;
    const all = await fetch(`${served.url}${path}`);
    assert.equal(all.headers.get("content-type"), "text/csv; charset=utf-8");
    assert.equal(all.headers.get("content-disposition"), 'attachment; filename="files_map.csv"');
    const text = Buffer.from(await all.arrayBuffer()).toString("utf8");
    assert.equal(text, '\ufefffilename,note\r\n"a, ""b"".docx","two\r\nlines"\r\n<script>alert(1)</script>,\'=1+1\r\n');
    const some = await ask(served.url, `GET ${path}&filter=docx`);
    assert.equal(some.text.replace("\ufeff", ""), 'filename,note\r\n"a, ""b"".docx","two\r\nlines"\r\n');
    const second = await ask(served.url, `GET ${path}&offset=1&limit=1`);
    assert.equal(second.text.replace("\ufeff", ""), "filename,note\r\n<script>alert(1)</script>,'=1+1\r\n");
  });

  it("lists a part, by domain, sorted and filtered", async () => {
    await archive({
      domainId: "OTHER" as DomainId,
      finishedAt: "2026-01-18T00:00:00.000000Z",
      ok: false,
      error: "Held.",
    });
    const ids = async (query: string): Promise<string[]> => {
      const { status, json } = await ask(served.url, `GET /v2/reports?format=json&${query}`);
      assert.equal(status, 200, JSON.stringify(json));
      return (json["data"] as unknown as { report_id: string }[]).map(({ report_id }) => report_id);
    };
    const other = "crawls/2026-01-18_00-00-00_OTHER_all_full";
    assert.deepEqual(await ids(""), [other, ID, BAD]);
    assert.deepEqual(await ids("limit=1&offset=1"), [ID]);
    assert.deepEqual(await ids("domain_id=OTHER"), [other]);
    assert.deepEqual(await ids("sort=created_utc&limit=2"), [BAD, ID]);
    assert.deepEqual(await ids("filter=held"), [other]);
    const page = await ask(served.url, "GET /v2/reports?format=json&limit=2");
    assert.deepEqual(page.json["page"], { offset: 0, limit: 2, total: 3, more: true });
    assert.equal(page.json["data"]?.["0"]?.["items_added"], 2);
    const ui = await ask(served.url, "GET /v2/reports?format=ui&domain_id=OTHER");
    assert.match(ui.text, /Reports of OTHER[\s\S]*problems[\s\S]*Held\./);
    await ask(served.url, `DELETE /v2/reports/delete?report_id=${other}`);
  });

  it("what is no text comes as raw only", async () => {
    const id = "crawls/2026-01-13_00-00-00_X_all_full";
    const bytes = new Uint8Array([0xff, 0xfe, 0, 1]);
    await mkdir(join(served.folder, "reports/crawls"), { recursive: true });
    await writeFile(
      join(served.folder, "reports", `${id}.zip`),
      zipSync({ "report.json": strToU8("{}"), "page.html": bytes }),
    );
    const path = `/v2/reports/file?report_id=${id}&file_path=page.html`;
    for (const format of ["json", "html"]) {
      const refused = await ask(served.url, `GET ${path}&format=${format}`);
      assert.equal(refused.status, 400);
      assert.match(refused.text, /is no text\. Use format=raw\./);
    }
    const raw = await fetch(`${served.url}${path}`);
    assert.equal(raw.headers.get("content-type"), "application/octet-stream");
    assert.deepEqual(new Uint8Array(await raw.arrayBuffer()), bytes);
    await ask(served.url, `DELETE /v2/reports/delete?report_id=${id}`);
  });

  it("downloads the zip as it is", async () => {
    const response = await fetch(`${served.url}/v2/reports/download?report_id=${ID}`);
    assert.equal(response.headers.get("content-type"), "application/zip");
    assert.equal(
      response.headers.get("content-disposition"),
      'attachment; filename="2026-01-15_14-25-00_DEMO_all_full.zip"',
    );
    const bytes = Buffer.from(await response.arrayBuffer());
    assert.ok(bytes.equals(readFileSync(join(served.folder, "reports", `${ID}.zip`))));
    assert.deepEqual(Object.keys(unzipSync(bytes)).sort(), [MAP, "report.json"]);
  });

  it("deletes, but not in a dry run and not for another site", async () => {
    const id = await archive({ finishedAt: "2026-01-17T00:00:00.000000Z" });
    const path = `/v2/reports/delete?report_id=${id}`;
    const dry = await ask(served.url, `DELETE ${path}&dry_run=true`);
    const foreign = await ask(served.url, `GET ${path}`, { headers: { "sec-fetch-site": "cross-site" } });
    assert.equal(foreign.status, 403);
    const ahead = await ask(served.url, `GET ${path}`, { headers: { "sec-purpose": "prefetch" } });
    assert.equal(ahead.status, 403);
    assert.equal((await ask(served.url, `GET /v2/reports/get?report_id=${id}`)).status, 200);
    const real = await ask(served.url, `GET ${path}`);
    assert.deepEqual(real.json, dry.json);
    assert.equal(real.json["data"]?.["report_id"], id);
    assert.equal((await ask(served.url, `DELETE ${path}`)).status, 404);
  });

  const REFUSED: readonly [what: string, status: number, error: RegExp][] = [
    ["GET /v2/reports/get?format=json", 400, /^Missing 'report_id'\.$/],
    ["GET /v2/reports/get?report_id=crawls/../../domains/DEMO", 400, /^'report_id' must be like crawls\//],
    ["GET /v2/reports/download?report_id=..%2f..%2fetc%2fpasswd", 400, /^'report_id' must be/],
    ["DELETE /v2/reports/delete?report_id=crawls/%5C..%5Cx", 400, /^'report_id' must be/],
    [`GET /v2/reports/get?report_id=${ID}x`, 404, /does not exist\.$/],
    [`GET /v2/reports/file?report_id=${ID}`, 400, /^Missing 'file_path'\.$/],
    [`GET /v2/reports/file?report_id=${ID}&file_path=../../domains`, 404, /has no file '\.\.\/\.\.\/domains'/],
    [`GET /v2/reports/file?report_id=${BAD}&file_path=report.json`, 400, /cannot be read: it has no directory/],
    [`GET /v2/reports/file?report_id=${ID}&file_path=${MAP}&format=json&sort=colour`, 400, /^'sort' must be a column/],
    [`GET /v2/reports/file?report_id=${ID}&file_path=${MAP}&format=csv&sort=note`, 400, /leave out 'sort'/],
    [`GET /v2/reports/file?report_id=${ID}&file_path=report.json&format=json&limit=2`, 400, /is no table/],
    [`GET /v2/reports/file?report_id=${ID}&file_path=report.json&format=csv`, 400, /is no table\. Use format=raw/],
    ["GET /v2/reports?sort=colour", 400, /^'sort' must be/],
    [`GET /v2/reports/download?report_id=${ID}&format=json`, 400, /^Format 'json' not supported\.$/],
    [`GET /v2/reports/get?report_id=${ID}&format=raw`, 400, /^Format 'raw' not supported\.$/],
    [`DELETE /v2/reports/get?report_id=${ID}`, 400, /^HTTP method 'DELETE' not supported\.$/],
    [`GET /v2/reports/delete?report_id=${ID}&dryrun=true`, 400, /^Unknown parameter 'dryrun'/],
    [`GET /v2/reports/delete?report_id=${ID}&dry_run=yes`, 400, /^'dry_run' must be true or false/],
  ];
  for (const [what, status, error] of REFUSED) {
    it(`refuses ${what}`, async () => {
      const reply = await ask(served.url, what);
      assert.equal(reply.status, status, reply.text);
      assert.match(String(reply.json["error"]), error);
    });
  }

  it("explains itself", async () => {
    for (const path of ["", "/get", "/file", "/download", "/delete"]) {
      const reply = await ask(served.url, `GET /v2/reports${path}`);
      assert.equal(reply.type, "text/plain");
      assert.ok(reply.text.startsWith(`/v2/reports${path}\n`), reply.text);
    }
    assert.match((await ask(served.url, "GET /v2/reports/file")).text, /Format +raw \(default\), json, html, csv/);
  });
});
