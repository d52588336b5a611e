// The audit log holds every change before it is made, and reads back quickly.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Principal } from "../../src/contracts/access.ts";
import type { AskedChange, AuditLog } from "../../src/contracts/audit.ts";
import { createAuditLog } from "../../src/security/audit-log.ts";

const ADA: Principal = { kind: "key", id: "0123456789ab", name: "ada", role: "operate" };
const ALL = { limit: 1000, offset: 0, filter: "" };

describe("the audit log", () => {
  let folder: string;
  let audit: AuditLog;
  beforeEach(async () => {
    folder = join(await mkdtemp(join(tmpdir(), "lockstep-audit-")), "audit");
    audit = createAuditLog(folder);
  });
  afterEach(() => rm(join(folder, ".."), { recursive: true, force: true }));

  const change = (what: Record<string, unknown> = {}, action = "PUT /v2/domains/update"): AskedChange => ({
    who: ADA,
    from: "127.0.0.1",
    action,
    what,
  });
  const month = (): string => `${new Date().toISOString().slice(0, 7)}.jsonl`;
  const text = (): Promise<string> => readFile(join(folder, month()), "utf8");

  it("a change is written down before it is made, and again when it is known how it went", async () => {
    const finish = await audit.begin(change({ domain_id: "DEMO" }));
    const [asked] = (await audit.list(ALL)).entries;
    assert.deepEqual([asked?.who, asked?.what, asked?.unfinished], [ADA, { domain_id: "DEMO" }, true]);
    await finish({ ok: false, error: "no such domain" });
    const { entries, more } = await audit.list(ALL);
    assert.deepEqual(
      entries.map((one) => [one.action, one.ok, one.error, one.unfinished]),
      [["PUT /v2/domains/update", false, "no such domain", false]],
    );
    assert.equal(more, false);
    assert.equal((await text()).split("\n").length, 3);
    assert.equal((await stat(join(folder, month()))).mode & 0o777, 0o600);
  });

  it("lists the newest first, page by page, and finds words", async () => {
    for (let i = 1; i <= 30; i++) {
      const finish = await audit.begin(change({ number: i, domain_id: i % 3 === 0 ? "Third" : "x" }));
      await finish({ ok: true, error: "" });
    }
    const numbers = async (options: typeof ALL): Promise<unknown[]> =>
      (await audit.list(options)).entries.map(({ what }) => what["number"]);
    assert.deepEqual(await numbers({ limit: 3, offset: 0, filter: "" }), [30, 29, 28]);
    assert.deepEqual(await numbers({ limit: 3, offset: 28, filter: "" }), [2, 1]);
    assert.deepEqual(await numbers({ limit: 4, offset: 1, filter: "third" }), [27, 24, 21, 18]);
    assert.equal((await audit.list({ limit: 30, offset: 0, filter: "" })).more, false);
    assert.equal((await audit.list({ limit: 29, offset: 0, filter: "" })).more, true);
  });

  it("reads long files from the end, whatever line falls onto a border", async () => {
    for (let i = 1; i <= 400; i++)
      await audit.write({ ...change({ number: i, text: "ü".repeat(i) }), at: at(), ok: true, error: "" });
    assert.ok((await text()).length > 150_000);
    const { entries } = await audit.list(ALL);
    assert.deepEqual(
      entries.map(({ what }) => what["number"]),
      Array.from({ length: 400 }, (_, i) => 400 - i),
    );
  });

  it("holds one line of valid JSON for each, whatever names hold", async () => {
    const hostile = 'a\n{"ok":true}\r\u2028\u0000"\\\ud800</script>';
    await audit.write({
      ...change({ [hostile]: hostile, deep: nest(50) }, hostile),
      at: at(),
      ok: false,
      error: hostile,
    });
    const lines = (await text()).split("\n").filter((line) => line !== "");
    assert.equal(lines.length, 1);
    assert.equal(JSON.parse(lines[0] ?? "").action, hostile);
  });

  it("leaves secrets out and cuts what is long", async () => {
    const key = `lk_0123456789ab_${"s3cretS3CRET".repeat(4).slice(0, 43)}`;
    const account = "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=s3cret/+s3cret==";
    const pasted = [
      ...[{ credential: account }, { credential: "s3cret/+s3cret==" }, { credential: ["s3cret"] }, { sas: "s3cret" }],
      ...[{ prefix: "sig=s3cret&sv=1" }, { root: `a ${account};EndpointSuffix=y` }, { credential: "HANDBOOK_SAS" }],
    ];
    const what = {
      key,
      api_key: "s3cret",
      password: "s3cret",
      client_secret: "s3cret",
      authorization: "s3cret",
      sources: [
        { source_id: "docs", url: "https://x.example/c?sv=1&sig=s3cret&x=1", note: `Bearer s3cret and ${key}` },
      ],
      address: "add https://user:s3cret@x.example/a?X-Amz-Signature=s3cret https://s3cret@x.example/",
      addresses: ["apikey", "pwd", "passwd", "authtoken", "X-Amz-Credential", "SIG", "%73ig", "x_key", "code"].map(
        (name) => `https://x.example/?page=7&${name}=s3cret`,
      ),
      pwd: "s3cret",
      authtoken: "s3cret",
      blob_sources: pasted,
      sources_json: JSON.stringify({ blob_sources: pasted }),
      cut_json: JSON.stringify({ blob_sources: [{ credential: `${"s3cret".repeat(400)}` }] }),
      long: "x".repeat(100_000),
      many: Array.from({ length: 5000 }, (_, i) => i),
    };
    await audit.write({ ...change(what, `GET /x?key=${key}`), at: at(), ok: false, error: `wrong: ${key}` });
    const written = await text();
    assert.doesNotMatch(written, /s3cret/i);
    assert.match(written, /"source_id":"docs"/);
    assert.match(written, /\?page=7&pwd=\(left out\)"/);
    assert.match(written, /"credential":"HANDBOOK_SAS"/);
    assert.ok(written.length < 20_000);
  });

  it("a line torn by a crash is passed over, and the next one starts anew", async () => {
    await audit.write({ ...change({ number: 1 }), at: at(), ok: true, error: "" });
    await appendFile(join(folder, month()), '{"id":"torn","phase":"do');
    await audit.write({ ...change({ number: 2 }), at: at(), ok: true, error: "" });
    const { entries } = await audit.list(ALL);
    assert.deepEqual(
      entries.map(({ what }) => what["number"]),
      [2, 1],
    );
  });

  it("a change whose process died stays unfinished", async () => {
    const script = `
      import { createAuditLog } from ${JSON.stringify(join(import.meta.dirname, "../../src/security/audit-log.ts"))};
      await createAuditLog(process.argv[1]).begin(${JSON.stringify(change({ number: 7 }))});
      process.kill(process.pid, "SIGKILL");`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, folder], { stdio: "inherit" });
    await once(child, "exit");
    assert.deepEqual(
      (await audit.list(ALL)).entries.map(({ what, unfinished }) => [what["number"], unfinished]),
      [[7, true]],
    );
  });

  it("several processes write whole lines", async () => {
    const script = `
      import { createAuditLog } from ${JSON.stringify(join(import.meta.dirname, "../../src/security/audit-log.ts"))};
      const audit = createAuditLog(process.argv[1]);
      for (let i = 0; i < 50; i++) await (await audit.begin(${JSON.stringify(change({ text: "y".repeat(400) }))}))({ ok: true, error: "" });`;
    const children = [1, 2, 3].map(() =>
      spawn(process.execPath, ["--input-type=module", "-e", script, folder], { stdio: "inherit" }),
    );
    await Promise.all(children.map((child) => once(child, "exit")));
    const lines = (await text()).split("\n").filter((line) => line !== "");
    assert.equal(lines.length, 300);
    for (const line of lines) JSON.parse(line);
    assert.ok((await audit.list(ALL)).entries.every(({ unfinished }) => !unfinished));
  });

  it("keeps 13 months, and nothing but its own files is removed", async () => {
    await mkdir(folder, { recursive: true });
    const now = new Date();
    const ago = (months: number): string =>
      `${new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)).toISOString().slice(0, 7)}.jsonl`;
    for (const name of [ago(1), ago(12), ago(13), ago(40), "notes.txt"]) await writeFile(join(folder, name), "");
    await audit.write({ ...change(), at: at(), ok: true, error: "" });
    assert.deepEqual((await readdir(folder)).sort(), [ago(0), ago(1), ago(12), "notes.txt"].sort());
  });

  it("cannot begin where it cannot write", async () => {
    await mkdir(join(folder, ".."), { recursive: true });
    await writeFile(folder, "a file where the folder should be");
    await assert.rejects(audit.begin(change()));
  });

  function at(): string {
    return new Date().toISOString();
  }

  function nest(depth: number): unknown {
    return depth === 0 ? "deep" : { in: nest(depth - 1) };
  }
});
