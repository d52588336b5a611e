// The documents of folders, their versions and differences are served over HTTP.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import { toDifferenceJson } from "../../src/http/endpoints/document-codec.ts";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { DOCS, FolderStage } from "../engine/folder-stage.ts";
import { ask, type Reading, type Reply } from "./ask.ts";

const HOSTILE = "# Travel\n\n<script>alert(1)</script>\n\u202efdp.exe\n";

describe("the documents of folders, over HTTP", () => {
  let stage: FolderStage;
  let server: RunningServer;
  before(async () => {
    stage = await FolderStage.open();
    await stage.write("handbook/travel.md", HOSTILE);
    await stage.write("handbook/rooms.md", "# Rooms\n\nTen rooms.\n");
    await stage.write("gone.txt", "Soon gone.");
    await stage.write("broken.docx", "no document");
    await stage.tryCrawl();
    await stage.write("handbook/travel.md", "# Travel\n\nBy train.\n");
    await stage.rename("handbook/rooms.md", "house/rooms.md");
    await stage.remove("gone.txt");
    await stage.tryCrawl();
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
  });
  after(async () => {
    await server.close();
    await stage.close();
  });

  const get = (about: string, query: Record<string, string>): Promise<Reply> =>
    ask(server.url, `GET /v2/documents${about}?${new URLSearchParams({ domain_id: "FOLDERS", ...query })}`);
  const paths = async (query: Record<string, string>): Promise<unknown[]> =>
    ((await get("", query)).json["data"] as unknown as Reading[]).map((row) => row["path"]);

  it("lists them by path, by state, by text and by page", async () => {
    const all = ["broken.docx", "gone.txt", "handbook/travel.md", "house/rooms.md"];
    assert.deepEqual(await paths({}), all);
    assert.deepEqual(await paths({ status: "missing" }), ["gone.txt"]);
    assert.deepEqual(await paths({ status: "active", source_id: "docs" }), [all[0], all[2], all[3]]);
    assert.deepEqual(await paths({ filter: "HOUSE" }), ["house/rooms.md"]);
    const pages = await Promise.all(["0", "2", "4"].map((offset) => get("", { limit: "2", offset })));
    const facts = pages.map(({ json }) => json["page"]);
    assert.deepEqual(facts, [
      { offset: 0, limit: 2, total: 4, more: true },
      { offset: 2, limit: 2, total: 4, more: false },
      { offset: 4, limit: 2, total: 4, more: false },
    ]);
    const found = pages.flatMap(({ json }) => (json["data"] as unknown as Reading[]).map((row) => row["path"]));
    assert.deepEqual(found, all);
    assert.equal((await get("", { filter: "o", limit: "1" })).json["page"]?.["total"], undefined);
  });

  it("tells one by its path or its id: state, versions, where it came from", async () => {
    const { docId } = await stage.document("house/rooms.md");
    for (const document of [docId, "house/rooms.md"]) {
      const { data } = (await get("/get", { document })).json as unknown as { data: Reading };
      assert.deepEqual([data["doc_id"], data["title"], data["status"]], [docId, "Rooms", "active"]);
      assert.deepEqual([data["versions"]?.length, data["current_version"]], [1, "v1"]);
      const last = (data["lineage"] as unknown as Reading[]).at(-1);
      assert.deepEqual([last?.["event"], last?.["from"], last?.["certainty"]], ["moved", "handbook/rooms.md", 1]);
    }
    const broken = (await get("/get", { document: "broken.docx" })).json["data"];
    assert.deepEqual([broken?.["current_version"], broken?.["status"]], ["", "active"]);
    assert.deepEqual(broken?.["versions"], [], "nothing can be read of it");
    assert.match(String(broken?.["text_error"]), /./);
    const missing = (await get("/get", { document: "gone.txt" })).json["data"];
    assert.deepEqual([missing?.["status"], missing?.["missing_runs"]], ["missing", 1]);
  });

  it("lists the sections of a document, with ids, now and as of an earlier generation, and page by page", async () => {
    const document = "handbook/travel.md";
    const rows = async (query: Record<string, string> = {}): Promise<Reading[]> =>
      (await get("/sections", { document, ...query })).json["data"] as unknown as Reading[];
    const [root, travel] = await rows();
    assert.deepEqual([root?.["parent_section_id"], root?.["content"], root?.["level"]], [null, "", 0]);
    assert.deepEqual([travel?.["heading"], travel?.["content"]], ["Travel", "By train."]);
    assert.equal(travel?.["parent_section_id"], root?.["id"]);
    assert.match(String(travel?.["id"]), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.match(String(travel?.["document_id"]), /^file-/);
    const { docId } = await stage.document(document);
    for (const name of [docId, "TRAVEL.MD", String(travel?.["document_id"])]) {
      assert.deepEqual(await rows({ document: name }), [root, travel], name);
    }
    assert.match(String((await rows({ generation: "1" }))[1]?.["content"]), /<script>/);
    const { json } = await get("/sections", { document, limit: "1", offset: "1" });
    assert.deepEqual(json["data"], [travel]);
    assert.deepEqual(json["page"], { offset: 1, limit: 1, total: 2, more: false });
    const page = await get("/sections", { document, generation: "1", format: "html" });
    assert.ok(page.text.includes("&lt;script&gt;") && !page.text.includes("<script>alert"));
  });

  it("says in a sentence which sections it has not", async () => {
    const refused = async (query: Record<string, string>): Promise<unknown[]> => {
      const { status, json } = await get("/sections", { document: "handbook/travel.md", ...query });
      return [status, json["error"]];
    };
    const [none, source, number, kept] = await Promise.all([
      refused({ document: "nothing.md", generation: "1" }),
      refused({ source_id: "other" }),
      refused({ generation: "x" }),
      refused({ generation: "99" }),
    ]);
    assert.deepEqual(none, [404, "The index of domain 'FOLDERS' has no document 'nothing.md' as of generation 1."]);
    assert.deepEqual(source, [
      404,
      "The index of domain 'FOLDERS' has no document 'handbook/travel.md' from source 'other'.",
    ]);
    assert.equal(number?.[0], 400);
    assert.match(String(number?.[1]), /'generation'.*0 to 999/);
    assert.equal(kept?.[0], 400);
    assert.match(String(kept?.[1]), /generation 99 is not kept/);
  });

  it("returns what any kept version said, and what changed", async () => {
    const document = "handbook/travel.md";
    const read = async (query: Record<string, string>): Promise<Reading | undefined> =>
      (await get("/version", { document, ...query })).json["data"];
    assert.equal((await read({}))?.["text"], "# Travel\n\nBy train.");
    assert.equal((await read({ version_id: "v1" }))?.["text"], HOSTILE.trimEnd());
    assert.equal((await get("/version", { document: "gone.txt" })).json["data"]?.["text"], "Soon gone.");
    const raw = await get("/version", { document, version_id: "v1", format: "raw" });
    assert.deepEqual([raw.type, raw.text], ["text/plain", HOSTILE.trimEnd()]);
    assert.match(raw.headers.get("content-disposition") ?? "", /^attachment; .*travel\.md\.v1\.md/);
    const { data } = (await get("/difference", { document, from: "v1", to: "v2" })).json as unknown as {
      data: Reading;
    };
    assert.equal(data["complete"], true);
    const [hunk] = data["hunks"] as unknown as { lines: { kind: string; text: string }[] }[];
    assert.deepEqual(
      hunk?.lines.filter(({ kind }) => kind !== "same").map(({ kind, text }) => `${kind} ${text}`),
      ["removed <script>alert(1)</script>", "removed \u202efdp.exe", "added By train."],
    );
  });

  it("shows the beginning of a difference that is too long for a page", async () => {
    const document = "long.txt";
    for (const mark of ["-", "+"]) {
      await stage.write(document, `${mark}\n`.repeat(2600));
      await stage.tryCrawl();
    }
    const between = { document, from: "v1", to: "v2" };
    assert.equal((await get("/difference", between)).json["data"]?.["complete"], true);
    const page = (await get("/difference", { ...between, format: "html" })).text;
    assert.equal(page.match(/<(del|ins)>/g)?.length, 5000);
    assert.match(page, /Only the beginning is shown/);
    await stage.remove(document);
    await stage.tryCrawl();
  });

  it("shows pages on which a document is text and nothing else", async () => {
    const document = "handbook/travel.md";
    const text = (await get("/version", { document, version_id: "v1", format: "html" })).text;
    assert.ok(text.includes("&lt;script&gt;alert(1)&lt;/script&gt;") && !text.includes("<script>alert"));
    assert.ok(text.includes("⟨RLO⟩fdp.exe"));
    const changed = (await get("/difference", { document, from: "v1", to: "v2", format: "html" })).text;
    assert.ok(changed.includes("<del>- &lt;script&gt;") && changed.includes("<ins>+ By train.</ins>"));
    const list = (await get("", { format: "html" })).text;
    assert.match(list, /<span class="pill warn"[^>]*>Missing<\/span>/);
    assert.match(list, /moved from <bdi>handbook\/rooms\.md<\/bdi>/);
    const one = (await get("/get", { document: "broken.docx", format: "html" })).text;
    assert.match(one, /Its content cannot be read as a document: /);
  });

  it("says what there is instead of what there is not", async () => {
    const told = async (about: string, query: Record<string, string>): Promise<unknown[]> => {
      const { status, json } = await get(about, query);
      return [status, json["error"]];
    };
    const document = "handbook/travel.md";
    assert.deepEqual(await told("/get", { document: "../../etc/passwd" }), [
      404,
      "Domain 'FOLDERS' has no document '../../etc/passwd'.",
    ]);
    assert.deepEqual(await told("/version", { document, version_id: "v7" }), [
      404,
      "Version 'v7' of 'handbook/travel.md' is not kept. These are: v1, v2.",
    ]);
    assert.equal((await told("/version", { document, version_id: "../v1" }))[0], 400);
    const [status, why] = await told("/version", { document: "broken.docx" });
    assert.equal(status, 404);
    assert.match(String(why), /^'broken\.docx' has no text: /);
    assert.deepEqual(await told("", { source_id: "other" }), [
      404,
      "Source 'other' does not exist in domain 'FOLDERS'.",
    ]);
    assert.equal((await told("", { domain_id: "NOBODY" }))[0], 404);
  });
});

it("cuts a difference at a line, and says so", () => {
  const lines = ["one", "two", "three"].map((text) => ({ kind: "added", text }) as const);
  const hunks = [1, 2].map((n) => ({ fromLine: n, toLine: n, lines }));
  const told = { sourceId: DOCS, entry: { docId: "doc_a", path: "a" } as ManifestEntry, hunks };
  const within = (characters: number, most = 1000): unknown[] => {
    const json = toDifferenceJson(told, { from: "v1", to: "v2" }, { characters, lines: most });
    return [json.hunks.map((hunk) => hunk.lines.length), json.complete];
  };
  assert.deepEqual(within(1000), [[3, 3], true]);
  assert.deepEqual(within(1000, 4), [[3, 1], false]);
  assert.deepEqual(within(1000, 3), [[3], false]);
  assert.deepEqual(within(80), [[2], false]);
  assert.deepEqual(within(10), [[], false]);
});
