// What failed stays listed until it is solved, grouped by reason with what to do; acknowledged, it makes nothing red until it changes.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import { reasonKey, withoutItemProblems } from "../../src/engine/failures.ts";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { runCommand } from "../cli/run-command.ts";
import { DOCS, FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { ask, type Reading, type Reply } from "./ask.ts";

const PDF = "%PDF-1.4 cut off";

describe("what failed", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let problems: readonly string[];
  before(async () => {
    stage = await FolderStage.open();
    await stage.write("vacation.md", "# Vacation\n\nEverybody has 30 days.");
    await stage.write("empty.txt", "");
    await stage.write("scans/one.pdf", PDF);
    await stage.write("scans/two.pdf", PDF.replace("off", "short"));
    await stage.write("letter.docx", "no Word document");
    problems = (await stage.tryCrawl()).result.problems;
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
  });
  after(async () => {
    await server.close();
    await stage.close();
  });

  const post = (query: Record<string, string>): Promise<Reply> =>
    ask(server.url, `POST /v2/documents/acknowledge?${new URLSearchParams({ domain_id: FOLDERS, ...query })}`);
  const list = async (): Promise<{ failed: Reading[]; acknowledged: Reading[]; sources: Reading[] }> => {
    const { json } = await ask(server.url, `GET /v2/documents/failed?domain_id=${FOLDERS}`);
    return json["data"] as unknown as { failed: Reading[]; acknowledged: Reading[]; sources: Reading[] };
  };
  const paths = (groups: readonly Reading[]): string[][] =>
    groups.map(({ items }) => (items as unknown as Reading[]).map(({ path }) => String(path)));
  const health = async (): Promise<string> => (await ask(server.url, "GET /?format=html")).text;
  const standing = async () => await stage.app.standing(await stage.app.domains.get(FOLDERS));

  it("counts once, although both later steps read it", () => {
    assert.deepEqual(problems, [`Source '${DOCS}': 3 files could not be read as a document; the log says why.`]);
  });

  it("is grouped by reason with a remedy, and a later crawl that finds nothing new does not hide it", async () => {
    await stage.write("news.md", "New.");
    assert.equal((await stage.tryCrawl()).job.result?.ok, true, "nothing failed in this run");
    const { failed, acknowledged, sources } = await list();
    assert.deepEqual(paths(failed), [["scans/one.pdf", "scans/two.pdf"], ["letter.docx"]]);
    assert.deepEqual([acknowledged, sources], [[], []]);
    assert.match(String(failed[0]?.["reason"]), /PDF is damaged/);
    assert.match(String(failed[0]?.["remedy"]), /Open it in its own program/);
    assert.doesNotMatch(JSON.stringify(failed), /SharePoint|sharepoint|_map\.csv|the app/);
    assert.match(await health(), /files failed[\s\S]*3 files could not be read[\s\S]*See what failed/);
    const page = await ask(server.url, `GET /v2/documents/failed?domain_id=${FOLDERS}&format=html`);
    assert.match(page.text, /2 items could not be (?:read|indexed)[\s\S]*scans\/one\.pdf[\s\S]*letter\.docx/);
    assert.doesNotMatch(page.text, /empty\.txt/, "what has nothing to index is no failure");
  });

  it("is acknowledged one by one, as a group or all; then neither domain nor crawl is red, until reason or content changes", async () => {
    const [group] = (await list()).failed;
    assert.equal((await post({ group: String(group?.["group"]) })).status, 200);
    assert.deepEqual(paths((await list()).failed), [["letter.docx"]]);
    assert.deepEqual([(await standing()).failed, (await standing()).acknowledged], [1, 2]);
    assert.equal((await post({ item: "letter.docx" })).status, 200);
    const { failed, acknowledged } = await list();
    assert.deepEqual(
      [failed, paths(acknowledged).flat().sort()],
      [[], ["letter.docx", "scans/one.pdf", "scans/two.pdf"]],
    );
    assert.match(await health(), /in step/);
    // Tried again, they fail again: that is known.
    const again = await stage.tryCrawl({ retryFailed: true });
    assert.deepEqual([again.job.result?.ok, again.source.acknowledged], [true, 3], again.job.result?.error);
    assert.ok(again.source.embed.failed > 0, "it did fail");
    assert.match(await health(), /in step/);
    await stage.write("scans/one.pdf", "%PDF-1.4 another one");
    const changed = await stage.tryCrawl();
    assert.match(String(changed.job.result?.error), /could not be read/, "another content is new");
    assert.deepEqual(paths((await list()).failed), [["scans/one.pdf"]]);
    assert.equal((await standing()).failed, 1);
    assert.match(await health(), /needs attention[\s\S]*See what failed/);
    await stage.write("scans/one.pdf", "no PDF any more");
    await post({});
    assert.deepEqual((await list()).failed, []);
    await stage.tryCrawl();
    assert.deepEqual(paths((await list()).failed), [["scans/one.pdf"]], "another reason is new");
    await stage.remove("scans/one.pdf");
    await stage.remove("scans/two.pdf");
    await stage.crawl();
    assert.deepEqual(paths([...(await list()).failed, ...(await list()).acknowledged]), [["letter.docx"]], "solved");
  });

  it("becomes new again on request, survives a restart, and is audited; bad names get a sentence", async () => {
    await post({});
    await stage.reopen();
    await server.close();
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
    assert.deepEqual(paths((await list()).acknowledged), [["letter.docx"]]);
    assert.equal((await post({ item: "letter.docx", withdraw: "true" })).status, 200);
    assert.deepEqual(paths((await list()).failed), [["letter.docx"]]);
    const refused = await post({ item: "nothing.pdf" });
    assert.deepEqual(
      [refused.status, refused.json["error"]],
      [404, `Nothing of that name has failed that is not acknowledged in domain '${FOLDERS}'.`],
    );
    const audit = await ask(server.url, "GET /v2/audit?filter=acknowledge");
    assert.match(audit.text, /documents\/acknowledge/);
    const page = await ask(server.url, `GET /v2/documents/failed?domain_id=${FOLDERS}&source_id=other`);
    assert.match(String(page.json["error"]), /Source 'other' does not exist/);
  });

  it("is erased with its document", async () => {
    await post({});
    const { docId } = await stage.document("letter.docx");
    const of = (): Promise<unknown[]> =>
      stage.withLedgers(async ({ acknowledgements }) => {
        const all = await acknowledgements.of({ domainId: FOLDERS, config: stage.config });
        return all.filter(({ itemId }) => itemId === docId);
      });
    assert.equal((await of()).length, 1);
    await stage.withLedgers(async (ledgers) => {
      await ledgers.eraseTraces({ domainId: FOLDERS, config: stage.config }, docId as ItemId, ["letter.docx"]);
    });
    assert.deepEqual(await of(), []);
  });

  it("is listed and acknowledged by the command, too", async () => {
    await stage.write("scans/three.pdf", PDF);
    await stage.tryCrawl();
    const run = (...args: string[]) => runCommand(stage.storage, ["documents", FOLDERS, ...args], stage.settings);
    const listed = await run("--status", "error");
    assert.match(
      listed.out,
      new RegExp(`1 item: The PDF is damaged[\\s\\S]*${DOCS} {2}scans/three\\.pdf[\\s\\S]*failed`),
    );
    const done = await run("--acknowledge", "scans/three.pdf");
    assert.deepEqual([done.code, done.out], [0, "1 failure acknowledged.\n"]);
    const json = JSON.parse((await run("--status", "error", "--json")).out) as {
      acknowledged: { failures: { path: string }[] }[];
    };
    assert.ok(json.acknowledged.some(({ failures }) => failures.some(({ path }) => path === "scans/three.pdf")));
  });
});

it("reasons are the same whatever they name, and sentences about items are told from those about sources", () => {
  assert.equal(reasonKey("read 'a/b.pdf': it took 30 s"), reasonKey("read 'c.pdf': it took 4,5 s".replace(",5", "1")));
  assert.notEqual(reasonKey("The PDF is damaged."), reasonKey("The PDF has no pages."));
  const items = "2 files could not be read as a document; the log says why; 1,200 files could not be embedded";
  assert.equal(withoutItemProblems(items), "");
  assert.equal(
    withoutItemProblems(`nothing was removed, because the share is gone; ${items}`),
    "nothing was removed, because the share is gone",
  );
  const earlier = "2 files could not be embedded; the job's log and vectorstore_map.csv tell more";
  assert.equal(withoutItemProblems(earlier), "");
});
