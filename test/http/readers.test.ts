// Who may only read gets search, documents and a page to begin with; other pages are refused, and what programs call stays.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { ask, type Reply } from "./ask.ts";

describe("a reader", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let key = "";
  before(async () => {
    stage = await FolderStage.open();
    await stage.write(
      "long.md",
      `# Rivers\n\n${Array.from({ length: 8 }, (_, at) => `## Part ${at}\n\nThe ${at}th river is deep and carries boats. ${"It is long. ".repeat(90)}`).join("\n\n")}`,
    );
    await stage.write("report.sql", "SELECT name, price FROM harbour WHERE berth = 1;");
    await stage.write("other.md", "# Boats\n\nBoats are built of wood.");
    await stage.crawl();
    await stage.app.access.keys.create({ name: "admin", role: "admin", expiresAt: "" });
    key = (await stage.app.access.keys.create({ name: "reader", role: "read", expiresAt: "" })).key;
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
  });
  after(async () => {
    await server?.close();
    await stage?.close();
  });
  const get = (path: string): Promise<Reply> =>
    ask(server.url, `GET ${path}`, { headers: { authorization: `Bearer ${key}` } });

  const examples = async (): Promise<(string | null)[]> =>
    [...(await get("/")).text.matchAll(/<li><a href="[^"]*query=([^"&]+)">/g)].map(([, query]) =>
      new URLSearchParams(`q=${query}`).get("q"),
    );

  it("is shown questions as people ask them: of titles, until somebody wrote some; none made from a document's text", async () => {
    const titles = ["What does “Boats” say?", "What does “Rivers” say?"];
    assert.deepEqual((await examples()).toSorted(), titles);
    const made = await stage.app.questions.make(FOLDERS, 10, AbortSignal.timeout(600_000));
    assert.ok(made.length > 0 && !made.some(({ question }) => question.startsWith("SELECT")), JSON.stringify(made));
    // As earlier releases made some.
    const code = { question: "SELECT name FROM harbour", document: "report.sql", sourceId: "", words: [] } as const;
    await stage.app.questions.add(FOLDERS, code);
    assert.deepEqual((await examples()).toSorted(), titles);
    const question = { question: "What carries boats?", document: "long.md", sourceId: "", words: [] } as const;
    await stage.app.questions.add(FOLDERS, question);
    assert.deepEqual(await examples(), ["What carries boats?"]);
  });

  it("begins with a search box, and what changed lately", async () => {
    const { text } = await get("/");
    assert.match(text, /What are you looking for\?/);
    assert.match(text, /Changed lately[\s\S]*\/v2\/documents\/read\?[^"]*"[^>]*>Rivers<[\s\S]*less than a minute ago/);
    assert.doesNotMatch(text, /href="\/v2\/(jobs|crawler|domains|keys|inventory|reports)/);
  });

  it("finds documents as cards, each once, with further passages folded, and opens them", async () => {
    const { status, text } = await get(`/v2/search?format=ui&query=boats&domain_id=${FOLDERS}`);
    assert.equal(status, 200);
    assert.equal(text.match(/<li class="result">/g)?.length, 2);
    assert.match(text, /further passages?<\/summary>/);
    const address =
      /href="(\/v2\/documents\/read\?[^"#]+)/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? assert.fail(text);
    const page = await get(address);
    assert.equal(page.status, 200);
    assert.match(page.text, /class="cited/);
  });

  it("is refused other pages with a page, and nothing that programs call", async () => {
    for (const path of [
      "/v2/domains?format=ui",
      "/v2/jobs?format=ui",
      "/v2/crawler?format=ui",
      "/v2/inventory/files?format=ui",
      "/v2/reports?format=html",
      `/v2/domains/get?domain_id=${FOLDERS}&format=html`,
    ]) {
      const { status, text } = await get(path);
      assert.equal(status, 403, path);
      assert.match(text, /<!doctype html>[\s\S]*This page is for those who look after lockstep/, path);
    }
    for (const path of [
      "/v2/domains?format=json",
      "/v2/jobs?format=json",
      `/v2/domains/get?domain_id=${FOLDERS}`,
      "/v2/inventory/files?format=json",
      "/openai/v1/models",
    ]) {
      assert.equal((await get(path)).status, 200, path);
    }
  });
});
