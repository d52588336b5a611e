// Files are uploaded to a domain over HTTP: refused or whole, searchable when it answers, with versions, removable, erased for good.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { runCommand } from "../cli/run-command.ts";
import { ask, type Reply } from "./ask.ts";
import { type OpenServer, openServer } from "./open-server.ts";

const DESK = parseDomainId("DESK");
const PUT = "/v2/domains/uploads/put?domain_id=DESK";

describe("uploads", () => {
  let server: OpenServer;
  let storage: string;
  before(async () => {
    server = await openServer({});
    storage = server.app.config.storagePath;
    const created = await ask(server.url, "POST /v2/domains/create", { json: { domain_id: "DESK", name: "Desk" } });
    assert.equal(created.status, 200, created.text);
  });
  after(() => server.close());

  const put = async (path: string, body: string | Uint8Array, more = ""): Promise<Reply["json"]> => {
    const response = await fetch(`${server.url}${PUT}&path=${encodeURIComponent(path)}${more}`, {
      method: "PUT",
      body,
    });
    return { status: response.status, ...((await response.json()) as object) } as unknown as Reply["json"];
  };
  const found = async (text: string): Promise<string[]> => {
    const { sources } = await server.app.query({
      text,
      limit: 10,
      domainId: DESK,
      vectorStoreId: undefined,
      using: "text",
    });
    return sources.map((source) => `${source.details?.path}: ${source.text}`);
  };
  const states = async (): Promise<string[]> =>
    (await server.app.uploads.list(DESK)).map(({ path, state }) => `${path} ${state}`);
  const onDisk = async (): Promise<string[]> =>
    (await readdir(join(storage, "domains", "DESK"), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && /uploads|uploading/.test(entry.parentPath))
      .map((entry) => entry.name)
      .sort();

  it("takes a file: it is searchable when it answers, and a source of the domain like any other", async () => {
    const answer = await put("handbook/travel.md", "# Travel\n\nThe ferry leaves at nine.");
    assert.equal(answer["error"], "");
    assert.deepEqual((answer["data"] as { stored?: unknown })?.stored, [
      { path: "handbook/travel.md", is_new: true, bytes: 35 },
    ]);
    assert.deepEqual(await found("ferry"), ["handbook/travel.md: The ferry leaves at nine."]);
    assert.deepEqual(await states(), ["handbook/travel.md searchable"]);
    const domain = JSON.parse(await readFile(join(storage, "domains", "DESK", "domain.json"), "utf8")) as {
      folder_sources: unknown[];
    };
    assert.deepEqual(domain.folder_sources, [{ source_id: "uploads", root: "uploads" }]);
    const crawled = await ask(server.url, "GET /v2/crawler/crawl?domain_id=DESK&mode=incremental");
    assert.equal(crawled.json["error"], "");
    const [hit] = (await server.app.query({ text: "ferry", limit: 1, domainId: DESK, vectorStoreId: undefined }))
      .sources;
    assert.doesNotMatch(JSON.stringify(hit), new RegExp(storage), "nobody is told where our storage is");
  });

  it("makes a new version of one of the same path", async () => {
    await put("handbook/travel.md", "# Travel\n\nThe ferry leaves at noon.");
    assert.deepEqual(await found("ferry"), ["handbook/travel.md: The ferry leaves at noon."]);
    const { json } = await ask(server.url, "GET /v2/documents/get?domain_id=DESK&document=handbook/travel.md");
    const { versions } = json["data"] as unknown as { readonly versions: readonly unknown[] };
    assert.equal(versions.length, 2);
  });

  it("refuses types, sizes and names that are not taken, and keeps nothing of them", async () => {
    const before = await onDisk();
    const cases: readonly (readonly [path: string, says: RegExp])[] = [
      ["virus.exe", /files of type 'exe' are not taken in\. Taken are: /],
      ["plain", /files without a type/],
      ["../../escape.md", /leads elsewhere/],
      ["/etc/passwd.md/../x.md", /leads elsewhere/],
      ["a//b.md", /leads elsewhere/],
      [".hidden/x.md", /begin with a dot/],
      ["x\u0000.md", /no text/],
      [`${"n".repeat(250)}.md`, /200 bytes/],
      ["handbook/travel.md/deeper.md", /a part of its path is a file already/],
    ];
    for (const [path, says] of cases) {
      const answer = await put(path, "text");
      assert.match(String(answer["error"]), says, path);
      assert.ok([400, 409].includes(Number(answer["status"])), path);
    }
    assert.match(String((await put("", "text"))["error"]), /Missing 'path'/);
    assert.deepEqual(await onDisk(), before);
  });

  it("takes odd names as they are", async () => {
    const names = ["Ärger & Öl #1?.md", "100% <b>.md", "日本語.md", 'it\'s "quoted".md'];
    for (const [at, name] of names.entries())
      assert.equal((await put(`odd/${name}`, `Oddity number ${at}.`))["error"], "", name);
    assert.equal((await found("oddity")).length, 4);
    for (const name of names) {
      const removed = await ask(
        server.url,
        `POST /v2/domains/uploads/remove?${new URLSearchParams({ domain_id: "DESK", path: `odd/${name}` })}`,
      );
      assert.equal(removed.json["error"], "", name);
    }
    assert.deepEqual(await found("oddity"), []);
    assert.ok(!existsSync(join(storage, "domains", "DESK", "uploads", "odd")), "empty folders go");
  });

  it("keeps nothing of an upload that ends in the middle", async () => {
    const before = await onDisk();
    await new Promise<void>((resolve) => {
      const { port, hostname } = new URL(server.url);
      const sending = request({
        host: hostname,
        port,
        method: "PUT",
        path: `${PUT}&path=half.md`,
        headers: { "content-length": 1_000_000 },
      });
      sending.on("error", () => resolve());
      sending.on("close", () => resolve());
      sending.write("The beginning of", () => setImmediate(() => sending.destroy()));
    });
    while ((await onDisk()).length !== before.length) await new Promise(setImmediate);
    assert.deepEqual(await onDisk(), before);
    assert.deepEqual(await found("beginning"), []);
  });

  it("takes the files of a form, and says which it did not", async () => {
    const form = new FormData();
    form.append("file", new Blob(["The first of the form."]), "one.md");
    form.append("file", new Blob(["MZ"]), "two.exe");
    form.append("file", new Blob(["The third of the form."]), "three.md");
    const response = await fetch(`${server.url}${PUT}&path=form`, { method: "POST", body: form });
    const answer = (await response.json()) as { ok: boolean; error: string };
    assert.deepEqual([answer.ok, /two\.exe' cannot be uploaded/.test(answer.error)], [false, true], answer.error);
    assert.equal((await found("form")).length, 2);
  });

  it("keeps nothing of a form's file that ends in the middle, whoever ended it, and goes on", async () => {
    const before = await onDisk();
    const part = (name: string, text: string): string =>
      `--zz\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n${text}`;
    const send = async (body: string): Promise<Reply["json"]> => {
      const headers = { "content-type": "multipart/form-data; boundary=zz" };
      const response = await fetch(`${server.url}${PUT}&path=cut`, { method: "POST", headers, body });
      return (await response.json()) as Reply["json"];
    };
    for (const body of ["--zz", "no form", part("half.md", "The beginning of"), part("", "The beginning of")]) {
      const answer = await send(body);
      assert.equal(answer["ok"], false, body);
      assert.match(String(answer["error"]), /ended early|did not come whole/, body);
    }
    assert.deepEqual(await onDisk(), before);
    const both = await send(`${part("whole.md", "A wholesome file.")}\r\n${part("half.md", "The beginning of")}`);
    assert.deepEqual(
      [both["ok"], both["error"]],
      [false, "'cut/half.md' did not come whole, and nothing of it is kept."],
    );
    assert.equal((await found("wholesome")).length, 1);
    const { port, hostname } = new URL(server.url);
    await new Promise<void>((resolve) => {
      const headers = { "content-type": "multipart/form-data; boundary=zz", "content-length": 1_000_000 };
      const sending = request({ host: hostname, port, method: "POST", path: `${PUT}&path=cut`, headers });
      sending.on("error", () => resolve());
      sending.on("close", () => resolve());
      sending.write(part("gone.md", "The beginning of"), () => setImmediate(() => sending.destroy()));
    });
    assert.equal((await put("after.md", "What comes afterwards."))["error"], "");
    assert.ok(!(await onDisk()).some((name) => /gone|half/.test(name)));
    assert.deepEqual(await found("beginning"), []);
  });

  it("erases them from their folder, too, and does not take them back", async () => {
    await put("secret.md", "The secret is zyxquor.");
    const erased = await ask(server.url, "POST /v2/documents/erase?domain_id=DESK&document=secret.md");
    assert.equal(erased.json["ok"], true, erased.text);
    assert.ok(!existsSync(join(storage, "domains", "DESK", "uploads", "secret.md")));
    assert.match(String((await put("secret.md", "The secret is back."))["error"]), /was erased, and is blocked/);
    assert.deepEqual(await found("secret"), []);
  });

  it("goes with the domain when that is renamed", async () => {
    const { length } = await server.app.uploads.list(DESK);
    assert.ok(length > 2);
    const renamed = await ask(server.url, "PUT /v2/domains/update?domain_id=DESK", { json: { domain_id: "BUREAU" } });
    assert.equal(renamed.json["error"], "", renamed.text);
    const crawled = await ask(server.url, "GET /v2/crawler/crawl?domain_id=BUREAU&mode=incremental");
    assert.equal(crawled.json["error"], "");
    assert.equal((await server.app.uploads.list(parseDomainId("BUREAU"))).length, length);
    const ferries = await server.app.query({
      text: "ferry",
      limit: 5,
      domainId: parseDomainId("BUREAU"),
      vectorStoreId: undefined,
      using: "text",
    });
    assert.equal(ferries.sources.length, 1);
  });
});

describe("lockstep upload", () => {
  it("uploads files and folders, lists and removes them", async (t) => {
    const server = await openServer({});
    t.after(() => server.close());
    const storage = server.app.config.storagePath;
    await ask(server.url, "POST /v2/domains/create", { json: { domain_id: "DESK", name: "Desk" } });
    const { mkdir, writeFile } = await import("node:fs/promises");
    const folder = join(storage, "..", `given-${process.pid}`);
    await mkdir(join(folder, "deep"), { recursive: true });
    await writeFile(join(folder, "deep", "a.md"), "The heron wades.");
    await writeFile(join(folder, "b.exe"), "MZ");
    await writeFile(join(folder, ".hidden.md"), "hidden");
    const run = (...args: string[]) =>
      runCommand(storage, ["upload", "DESK", ...args], { PERSISTENT_STORAGE_PATH: storage });
    const uploaded = await run(folder, "--into", "given");
    assert.equal(uploaded.code, 0, uploaded.err);
    assert.match(uploaded.err, /files of type 'exe' are not taken in/);
    const listed = await run("--list");
    assert.match(listed.out, /^searchable +16 bytes {2}given\/given-\d+\/deep\/a\.md\n1 file uploaded\.\n$/);
    const path = /given\/\S+/.exec(listed.out)?.[0] ?? "";
    assert.equal((await run("--remove", path)).code, 0);
    assert.match((await run("--list")).out, /^0 files uploaded/);
    assert.match((await run("--remove", path)).err, /has no uploaded file/);
    assert.match((await run(join(folder, "b.exe"))).err, /files of type 'exe'/);
    assert.match((await run()).err, /Give files to upload, or --list, or --remove/);
  });
});
