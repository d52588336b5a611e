// A folder's documents are found, opened and reported over HTTP.
import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import type { PlannedChange } from "../../src/engine/crawl-request.ts";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FolderStage } from "../engine/folder-stage.ts";
import { ask, type Reading, type Reply } from "./ask.ts";

interface FoundResult {
  readonly url: string;
  readonly content: { readonly metadata: { readonly sourceType: string; readonly sourceContainer: string } };
}

describe("a folder over HTTP", () => {
  let stage: FolderStage;
  let server: RunningServer;
  before(async () => {
    stage = await FolderStage.open({ source: { exclude: ["*.tmp"], gitignore: true, maxFileBytes: 20 * 1024 * 1024 } });
    await stage.write("Big notes/otter & <b>.md", "The otter sleeps on its back.");
    await stage.write("reed.md", "Reed grows along the otter's pond.");
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0 });
    const crawl = "GET /v2/crawler/crawl?domain_id=FOLDERS&mode=incremental&scope=folders&checksum=true";
    const { json } = await ask(server.url, crawl);
    assert.equal(json["ok"], true, String(json["error"]));
  });
  after(async () => {
    await server?.close();
    await stage?.close();
  });

  const search = async (filters: object): Promise<readonly FoundResult[]> => {
    const reply = await ask(server.url, "POST /api/Search", {
      json: { query: "otter sleeps", domain_id: "FOLDERS", filters },
    });
    return (reply.json["results"] ?? assert.fail(reply.text)) as unknown as FoundResult[];
  };

  it("is found by what it is, and each result says what it is", async () => {
    const [best] = await search({ sourceType: "file" });
    assert.match(
      best?.url ?? "",
      /^http:\/\/127\.0\.0\.1:\d+\/v2\/documents\/read\?domain_id=FOLDERS&source_id=docs&item_id=doc_/,
    );
    assert.deepEqual([best?.content.metadata.sourceType, best?.content.metadata.sourceContainer], ["file", "docs"]);
    for (const sourceType of ["url", "sharepoint", "blob"]) assert.deepEqual(await search({ sourceType }), []);
    assert.equal((await search({ sourceHost: "file" }))[0]?.url, best?.url);
  });

  it("is opened as its kept text, for no browser follows a link to a file", async () => {
    const { text } = await ask(server.url, "GET /v2/search?domain_id=FOLDERS&query=otter+sleeps&format=html");
    assert.doesNotMatch(text, /href="file:/);
    const link = /<a href="([^"]+)">otter &amp; &lt;b&gt;\.md<\/a>/.exec(text)?.[1] ?? assert.fail(text);
    const opened = await ask(server.url, `GET ${link.replaceAll("&amp;", "&")}`);
    assert.equal(opened.status, 200, opened.text);
    assert.match(opened.text, /The otter sleeps on its back\./);
  });

  it("has its rules, and the way to its documents, on the page of the domain", async () => {
    const { text } = await ask(server.url, "GET /v2/domains/get?domain_id=FOLDERS&format=html");
    for (const part of [stage.root, "<code>not *.tmp</code>", "what .gitignore lets in", "up to 20 MB"]) {
      assert.ok(text.includes(part), part);
    }
    assert.match(text, /href="\/v2\/documents\?domain_id=FOLDERS&amp;source_id=docs&amp;format=html"/);
  });

  it("says in a dry run what is moved, and what would be hidden and kept", async () => {
    await stage.rename("Big notes/otter & <b>.md", "otter.md");
    await stage.remove("reed.md");
    const address = "GET /v2/crawler/crawl?domain_id=FOLDERS&mode=incremental&scope=folders&dry_run=true";
    const { json, text } = await ask(server.url, address);
    const sources = json["data"]?.["sources"] as unknown as { planned: PlannedChange[] }[] | undefined;
    const planned = sources?.flatMap((source) => source.planned) ?? assert.fail(text);
    const said = planned
      .filter(({ step }) => step === "download")
      .map(({ change, path, reason }) => `${change} ${path}: ${reason}`);
    assert.deepEqual(said.toSorted(), [
      "moved otter.md: moved from 'Big notes/otter & <b>.md'",
      "removed reed.md: not there any more, or left out by its rules: hidden from search, and kept for a while in case it comes back",
    ]);
  });

  const crawl = async (): Promise<{ readonly error: string; readonly page: string; readonly source: Reading }> => {
    const { json } = await ask(server.url, "GET /v2/crawler/crawl?domain_id=FOLDERS&mode=incremental&scope=folders");
    const report = `GET /v2/reports/get?report_id=${json["data"]?.["report_id"]}`;
    const [{ text: page }, told] = [await ask(server.url, `${report}&format=html`), await ask(server.url, report)];
    const source = told.json["data"]?.["sources"]?.["0"] ?? assert.fail(told.text);
    return { error: String(json["error"]), page, source };
  };

  it("has reports that tell moves apart, and count a file that is no document once", async () => {
    for (const path of ["deep/one/otter.md", "deep/two/otter.md"]) {
      await stage.write(path, "The otter sleeps on its back.");
    }
    await stage.write("broken.docx", "no document");
    const { page, source } = await crawl();
    const counts = ["added", "changed", "moved", "removed", "failed"].map((name) => source[`items_${name}`]);
    assert.deepEqual(counts, [3, 1, 1, 1, 1], "a move is among what changed, too");
    assert.match(page, /some failed<\/span> 3 added, 1 moved, 1 removed, 1 failed/);
    const { text: home } = await ask(server.url, "GET /?format=html");
    assert.match(home, /3 added, 1 moved, 1 removed, 1 failed/);
    const { text: found } = await ask(server.url, "GET /v2/search?domain_id=FOLDERS&query=otter+sleeps&format=html");
    assert.match(found, /Also in .*<bdi>deep\/(one|two)\/otter\.md<\/bdi>/);
    await stage.remove("broken.docx");
  });

  it("has reports that do not call a source ok that could not be looked at", async () => {
    await rename(stage.root, `${stage.root}.aside`);
    const { error, page, source } = await crawl();
    await rename(`${stage.root}.aside`, stage.root);
    assert.match(error, /if it is a share, is it mounted\?$/);
    assert.deepEqual([source["complete"], /is it mounted\?$/.test(String(source["error"]))], [false, true]);
    const outcome = /data-label="Outcome"><div>([\s\S]*?)<\/div>/.exec(page)?.[1] ?? assert.fail(page);
    assert.match(outcome, /^<span class="pill bad">incomplete<\/span> <br><bdi class="error">read the folder/);
  });

  it("is refused where no crawl would take it, and may be away for now", async () => {
    const create = (root: string): Promise<Reply> =>
      ask(server.url, "POST /v2/domains/create", {
        json: { domain_id: "OTHER", name: "Other", folder_sources: [{ source_id: "docs", root }] },
      });
    await stage.write("file.md", "No folder.");
    for (const root of [stage.storage, `${stage.storage}/crawler`]) {
      const reply = await create(root);
      assert.deepEqual([reply.status, /storage of lockstep/.test(reply.text)], [400, true], reply.text);
    }
    assert.match((await create(stage.at("file.md"))).text, /is a file\. The root of a source is a folder/);
    assert.equal((await create(stage.at("not-mounted"))).status, 200);
    const update = (root: string): Promise<Reply> =>
      ask(server.url, "PUT /v2/domains/update?domain_id=OTHER", {
        json: { folder_sources: [{ source_id: "docs", root }] },
      });
    assert.equal((await update(stage.storage)).status, 400);
    assert.equal((await update(stage.root)).status, 200);
  });
});
