// A further kind of source works everywhere without changes to the engine.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { App } from "../../src/app/app.ts";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import type { DomainId } from "../../src/contracts/ids.ts";
import type { CrawlResult, SourceResult } from "../../src/engine/crawl-request.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { ask } from "../http/ask.ts";
import { createToyKind, type ToyNote } from "./toy-kind.ts";

/** Nothing in `src/` knows the kind: it is one more in the list that `compose` takes. */
describe("a further kind of source", () => {
  const attic = new Map<string, ToyNote>([
    ["a", { path: "otter.md", text: "The otter sleeps on its back.", version: 1 }],
    ["b", { path: "reed.md", text: "Reed grows along the pond.", version: 1 }],
  ]);
  let storage: string;
  let app: App;
  let server: Awaited<ReturnType<typeof serveHttp>>;

  before(async () => {
    storage = await mkdtemp(join(tmpdir(), "lockstep-toys-"));
    const kinds = [createToyKind(new Map([["attic", attic]]))];
    app = await compose(readConfig({ PERSISTENT_STORAGE_PATH: storage }), { searchesHere: true, kinds });
    server = await serveHttp(app, { host: "127.0.0.1", port: 0 });
  });
  after(async () => {
    await server?.close();
    await app?.close();
    await rm(storage, { recursive: true, force: true });
  });

  const crawl = async (wishes = "", domain = "TOYS"): Promise<CrawlResult> => {
    const reply = await ask(server.url, `GET /v2/crawler/crawl?domain_id=${domain}&mode=incremental${wishes}`);
    assert.equal(reply.json["ok"], true, reply.text);
    return reply.json["data"] as unknown as CrawlResult;
  };
  const only = ({ sources: [source, ...others] }: CrawlResult): SourceResult => {
    assert.deepEqual(others, []);
    return source ?? assert.fail("no source was crawled");
  };
  const found = async (text: string): Promise<readonly string[]> => {
    const query = { text, limit: 10, domainId: "TOYS" as DomainId, vectorStoreId: undefined };
    return (await app.query(query)).sources.map(({ name }) => name);
  };

  it("is written into a domain, checked and edited like any other", async () => {
    const toy_sources = [{ source_id: "notes", shelf: "attic" }];
    const created = await ask(server.url, "POST /v2/domains/create", {
      json: { domain_id: "TOYS", name: "Toys", toy_sources },
    });
    assert.equal(created.status, 200, created.text);
    const file = await readFile(join(storage, "domains", "TOYS", "domain.json"), "utf8");
    assert.deepEqual((JSON.parse(file) as Record<string, unknown>)["toy_sources"], toy_sources);
    const wrong = await ask(server.url, "PUT /v2/domains/update?domain_id=TOYS", {
      json: { toy_sources: [{ source_id: "notes" }] },
    });
    assert.match(wrong.text, /toy_sources\[0\]\.shelf must be the name of a shelf/);
    const checks = { attic: true, cellar: false };
    for (const [shelf, isThere] of Object.entries(checks)) {
      const { json } = await ask(server.url, `GET /v2/domains/check_source?source_type=toy_sources&shelf=${shelf}`);
      assert.equal(json["ok"], isThere, shelf);
    }
    const page = await ask(server.url, "GET /v2/domains/get?domain_id=TOYS&format=html");
    for (const part of ["Add toy shelf", "Name of the shelf", "the shelf &#39;attic&#39;"]) {
      assert.ok(page.text.includes(part), part);
    }
  });

  it("is planned in a dry run that changes nothing", async () => {
    const source = only(await crawl("&dry_run=true"));
    const planned = source.planned?.filter(({ step }) => step === "download") ?? [];
    assert.deepEqual(
      planned.map(({ change, path }) => `${change} ${path}`),
      ["added otter.md", "added reed.md"],
    );
    assert.ok(!existsSync(join(storage, "crawler", "TOYS", "99_toys", "notes", "02_embedded")));
    assert.equal((await app.domains.get("TOYS" as DomainId)).vectorStoreId, "");
  });

  it("is crawled by its scope, and searched", async () => {
    assert.deepEqual((await crawl("&scope=folders")).sources, []);
    const source = only(await crawl("&scope=toys"));
    assert.deepEqual([source.source_type, source.download.added, source.embed.added], ["toy_sources", 2, 2]);
    assert.equal((await found("where does the otter sleep"))[0], "otter.md");
  });

  it("keeps what is renamed, without embedding it again", async () => {
    const otter = attic.get("a") ?? assert.fail();
    attic.set("a", { ...otter, path: "sea otter.md" });
    const { download, embed } = only(await crawl());
    assert.deepEqual([download.moved, download.added, download.removed], [1, 0, 0]);
    assert.deepEqual([embed.moved, embed.added, embed.changed, embed.removed], [1, 0, 0, 0]);
    assert.equal((await found("where does the otter sleep"))[0], "sea otter.md");
  });

  it("brings what was edited, and takes away what is gone", async () => {
    const otter = attic.get("a") ?? assert.fail();
    attic.set("a", { ...otter, text: "The otter juggles pebbles.", version: 2 });
    attic.delete("b");
    const { download, embed } = only(await crawl("&confirm_deletes=true"));
    assert.deepEqual([download.changed, download.removed], [1, 1]);
    assert.deepEqual([embed.changed, embed.removed], [1, 1]);
    assert.deepEqual(await found("pebbles"), ["sea otter.md"]);
    assert.deepEqual(await found("reed"), []);
  });

  it("goes with its domain through a rename, and leaves with all it had when it is taken out", async () => {
    const renamed = await ask(server.url, "PUT /v2/domains/update?domain_id=TOYS", { json: { domain_id: "GAMES" } });
    assert.equal(renamed.json["ok"], true, renamed.text);
    const { download, embed } = only(await crawl("", "GAMES"));
    assert.deepEqual([download.unchanged, embed.unchanged], [1, 1]);
    const folder = join(storage, "crawler", "GAMES", "99_toys", "notes");
    assert.ok(existsSync(folder));
    await ask(server.url, "PUT /v2/domains/update?domain_id=GAMES", { json: { toy_sources: [] } });
    const left = only(await crawl("&confirm_deletes=true", "GAMES"));
    assert.deepEqual([left.download.removed, left.embed.removed], [1, 1]);
    assert.ok(!existsSync(folder));
  });
});
