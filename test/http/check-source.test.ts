// Checking a source looks at it and explains what is wrong, without registering anything.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type SandboxSite, startCompanySite } from "../../src/sandbox/site/start-site.ts";
import { type AskInit, ask, type Reply } from "./ask.ts";
import { type OpenServer, openServer } from "./open-server.ts";
import { type ServedWorld, serveWorld } from "./served-world.ts";

function rowsOf<T>(reply: Reply, key: string): readonly T[] {
  const rows: unknown = reply.json["data"]?.[key];
  return Array.isArray(rows) ? (rows as T[]) : assert.fail(reply.text);
}

describe("/v2/domains/check_source of a web site", () => {
  let site: SandboxSite;
  let server: OpenServer;
  before(async () => {
    site = await startCompanySite();
    // Without SharePoint: who has web sites alone needs none.
    server = await openServer({ WEB_ALLOW_PRIVATE_NETWORKS: "true", WEB_HOST_DELAY_MS: "0" });
  });
  after(async () => {
    await server?.close();
    await site?.close();
  });

  const check = (fields: Record<string, string>): Promise<Reply> => {
    const query = new URLSearchParams({ source_type: "web_sources", ...fields });
    return ask(server.url, `GET /v2/domains/check_source?${query}`);
  };

  it("looks at every start address, and registers nothing", async () => {
    const reply = await check({ start_urls: `${site.origin}/ ${site.origin}/trial`, max_depth: "2", images: "true" });
    assert.deepEqual([reply.status, reply.json["ok"], reply.json["error"]], [200, true, ""], reply.text);
    const findings = rowsOf<{ subject: string; outcome: string }>(reply, "findings");
    assert.equal(findings.filter(({ subject, outcome }) => /^Start/.test(subject) && outcome === "ok").length, 2);
    assert.equal((await server.app.ingest.summary()).total, 0);
    const missing = await check({ start_urls: `${site.origin}/nowhere` });
    assert.equal(missing.json["ok"], false);
    assert.match(missing.text, /404/);
  });

  it("says which fields are missing, wrong, or another kind's", async () => {
    const refused = async (fields: Record<string, string>, error: RegExp): Promise<void> => {
      const reply = await check(fields);
      assert.equal(reply.status, 400, reply.text);
      assert.match(String(reply.json["error"]), error);
    };
    const start_urls = `${site.origin}/`;
    await refused({}, /^Missing 'start_urls'\.$/);
    await refused(
      { start_urls: `${start_urls} docs.example.com` },
      /addresses like "https:\/\/docs\.example\.com\/"; number 2 is none/,
    );
    const withSecrets = [
      "ftp://user:hunter2@x/",
      "https://user:hunter2@x/",
      "https://x/?a=1&sig=hunter2",
      "https://x/?%74oken=hunter2",
      "https://x/?feedToken=hunter2",
      "https://x/?sessionid=hunter2",
      "https://x/?key=ghp_hunter2hunter2",
    ];
    for (const address of withSecrets) {
      await refused({ start_urls: address }, /^(?!.*hunter2).*'start_urls' must .*number 1 (?:is none|does)\./);
    }
    await refused(
      { start_urls, site_url: "https://contoso.sharepoint.com" },
      /'site_url' does not belong to web_sources/,
    );
    await refused({ start_urls, max_pages: "0" }, /'max_pages' must be a whole number from 1/);
    const list = { source_type: "list_sources", site_url: "https://contoso.sharepoint.com", list_name: "Tasks" };
    await refused({ ...list, max_depth: "0" }, /'max_depth' does not belong to list_sources/);
    const folder = { source_type: "folder_sources", root: "/srv" };
    await refused({ ...folder, root: "srv/handbook" }, /^'root' must be an absolute path on the machine that crawls/);
    await refused({ ...folder, start_urls }, /'start_urls' does not belong to folder_sources; give 'root'/);
    await refused({ source_type: "blob_sources" }, /^Missing 'container_url'\.$/);
    const container_url = "https://contoso.blob.core.windows.net/handbook";
    const container = { source_type: "blob_sources", container_url };
    await refused({ ...container, gitignore: "true" }, /'gitignore' does not belong to blob_sources/);
    await refused({ ...container, credential: "sv=1&sig=hunter2" }, /^(?!.*hunter2).*name of an environment variable/);
    await refused({ ...container, container_url: `${container_url}?sig=hunter2` }, /^(?!.*hunter2).*SAS is never kept/);
  });

  it("asks nobody for another site, whose pages name the host and the secret", async () => {
    const asked: string[] = [];
    const stranger = createServer(({ url = "" }, response) => {
      asked.push(url);
      response.writeHead(403).end();
    }).listen(0, "127.0.0.1");
    await once(stranger, "listening");
    process.env["CHECKED_SAS"] = "sv=2022&sp=rl&sig=hunter2";
    try {
      const { port } = stranger.address() as AddressInfo;
      const container_url = `http://127.0.0.1:${port}/account/handbook`;
      const query = new URLSearchParams({ source_type: "blob_sources", container_url, credential: "CHECKED_SAS" });
      const look = (init?: AskInit): Promise<Reply> => ask(server.url, `GET /v2/domains/check_source?${query}`, init);
      assert.equal((await look({ headers: { "sec-fetch-site": "cross-site" } })).status, 403);
      assert.deepEqual(asked, []);
      assert.equal((await look()).status, 200);
      assert.match(asked.join(), /sig=hunter2/, "an administrator's own question is asked");
    } finally {
      delete process.env["CHECKED_SAS"];
      stranger.close();
    }
  });

  it("looks at a folder: whether it is there, and how much is in it", async () => {
    const root = await mkdtemp(join(tmpdir(), "lockstep-check-"));
    try {
      await writeFile(join(root, "a b.md"), "One");
      await writeFile(join(root, "c.txt"), "Two");
      const folder = { source_type: "folder_sources", root, include: "a b.*\n*.pdf" };
      const reply = await check(folder);
      assert.deepEqual([reply.status, reply.json["ok"], reply.json["error"]], [200, true, ""], reply.text);
      assert.match(reply.text, /\b1 file\b/);
      const missing = await check({ ...folder, root: join(root, "nowhere") });
      assert.deepEqual([missing.status, missing.json["ok"]], [200, false]);
      assert.match(missing.text, /nowhere'.*"It is not there; if it is a share, is it mounted\?"/);
    } finally {
      await rm(root, { recursive: true });
    }
  });
});

describe("/v2/domains/check_source", () => {
  let served: ServedWorld;
  before(async () => {
    served = await serveWorld({ seed: "company" }, async (world) => {
      await world.control("POST", "add-list", {
        path: "/sites/demo/Lists/Wombats",
        title: "Wombat Tasks",
        columns: [],
      });
    });
  });
  after(() => served?.close());

  const check = (fields: Record<string, string>): Promise<Reply> =>
    ask(
      served.url,
      `GET /v2/domains/check_source?${new URLSearchParams({ site_url: served.world.sandbox.siteUrl, ...fields }).toString()}`,
    );
  const subjects = (reply: Reply): string[] =>
    rowsOf<{ subject: string; outcome: string }>(reply, "findings").map(
      ({ subject, outcome }) => `${subject.split(" ")[0]} ${outcome}`,
    );
  const suggested = (reply: Reply): readonly { field: string; values: string[] }[] => rowsOf(reply, "suggestions");

  it("tells that a library is there, and the filter valid, without a domain", async () => {
    await served.world.control("DELETE", "log");
    const fields = { sharepoint_url_part: "/Shared Documents", filter: "ID gt 1", source_id: "docs" };
    const reply = await check({ source_type: "file_sources", ...fields });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual([reply.json["ok"], reply.json["error"], suggested(reply)], [true, "", []]);
    assert.deepEqual(subjects(reply).slice(-3), ["Site ok", "Library ok", "Filter ok"]);
    assert.ok((await served.world.requests()).length <= 10, "a handful of requests");
  });

  it("suggests the libraries of the site, the likeliest first", async () => {
    const reply = await check({ source_type: "file_sources", sharepoint_url_part: "/Shared Docments" });
    assert.equal(reply.json["ok"], false);
    const [{ field, values } = { field: "", values: [] }] = suggested(reply);
    assert.deepEqual([field, values[0]], ["sharepoint_url_part", "/Shared Documents"]);
    const empty = await check({ source_type: "file_sources" });
    assert.deepEqual(new Set(suggested(empty)[0]?.values), new Set(values), "also before one is named");
    assert.ok(!values.includes("/Lists/Wombats"), "a list is no library");
  });

  it("suggests the lists of the site", async () => {
    const near = await check({ source_type: "list_sources", list_name: "Wombat Task" });
    assert.equal(suggested(near)[0]?.values[0], "Wombat Tasks");
    const empty = await check({ source_type: "list_sources" });
    assert.equal(suggested(empty)[0]?.field, "list_name");
    assert.ok(suggested(empty)[0]?.values.includes("Wombat Tasks"));
    const found = await check({ source_type: "list_sources", list_name: "Wombat Tasks" });
    assert.deepEqual([found.json["ok"], suggested(found)], [true, []]);
  });

  it("a site that is not there is a finding, and nothing is suggested", async () => {
    const site_url = served.world.sandbox.siteUrl.replace("/demo", "/nowhere");
    const reply = await check({ source_type: "file_sources", site_url, sharepoint_url_part: "/Shared Documents" });
    assert.equal(reply.status, 200);
    assert.deepEqual(subjects(reply).slice(-2), ["Site problem", "Library not checked"]);
    assert.deepEqual(suggested(reply), []);
    const page = await ask(
      served.url,
      `GET /v2/domains/check_source?source_type=file_sources&format=html&site_url=${encodeURIComponent(site_url)}`,
    );
    assert.match(page.text, /problem/);
  });

  const REFUSED: readonly [fields: Record<string, string>, error: RegExp][] = [
    [{ source_type: "files" }, /^'source_type' must be file_sources or list_sources or sitepage_sources/],
    [{ source_type: "file_sources", site_url: "ftp://x" }, /^'site_url' must/],
    [{ source_type: "file_sources", sharepoint_url_part: "Shared" }, /^'sharepoint_url_part' must begin with "\/"/],
    [{ source_type: "file_sources", list_name: "Tasks" }, /^'list_name' does not belong to file_sources/],
    [{ source_type: "list_sources", source_id: "a b" }, /^'source_id' must be/],
  ];
  for (const [fields, error] of REFUSED) {
    it(`names the field that is wrong: ${JSON.stringify(fields)}`, async () => {
      await served.world.control("DELETE", "log");
      const reply = await check(fields);
      assert.equal(reply.status, 400, reply.text);
      assert.match(String(reply.json["error"]), error);
      assert.deepEqual(await served.world.requests(), [], "and the tenant is not asked");
    });
  }
});
