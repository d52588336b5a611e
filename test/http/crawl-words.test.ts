// Requests and responses use the words of the specification.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ask } from "./ask.ts";
import { type InventoryStage, openInventoryStage } from "./inventory-stage.ts";

describe("words of the specification that requests use", () => {
  let stage: InventoryStage;
  before(async () => {
    stage = await openInventoryStage();
    await ask(stage.url, "POST /v2/domains/create", { json: { domain_id: "DEMO", name: "Demo" } });
  });
  after(() => stage.close());

  it("a dry run of a change to stores and files says so in its result, and only then", async () => {
    const file = await stage.upload("a.txt");
    const store = await stage.store("one", [file]);
    const changes: [what: string, body?: object][] = [
      ["POST vector_stores/create?", { name: "new" }],
      [`PUT vector_stores/update?vector_store_id=${store}&`, { name: "other" }],
      [
        `GET vector_stores/replicate?source_vector_store_ids=${store}&target_vector_store_ids=${await stage.store("two")}&`,
      ],
      [`DELETE vector_stores/files/delete?vector_store_id=${store}&file_id=${file}&`],
      [`DELETE vector_stores/delete?vector_store_id=${store}&mode=with_files&`],
      [`DELETE files/delete?file_id=${await stage.upload("b.txt")}&`],
    ];
    for (const [what, json] of changes) {
      for (const format of ["json", "stream"]) {
        const { status, text } = await stage.ask(`${what}dry_run=true&format=${format}`, json && { json });
        assert.equal(status, 200, `${what}: ${text}`);
        const ended = text.slice(Math.max(0, text.indexOf("event: end_json"))).replaceAll(/\n(data: )?/g, " ");
        assert.match(ended, /"data": ?\{.*"dry_run": ?true/, `${what} ${format}`);
      }
      const real = await stage.ask(`${what}dry_run=false`, json && { json });
      assert.equal(real.status, 200, real.text);
      assert.doesNotMatch(real.text, /"dry_run": ?true/, what);
    }
  });

  it("of a deleted job, the flag is called job_dry_run; dry_run tells of the request", async () => {
    const ended = async (dry: boolean): Promise<string> => {
      const { json } = await ask(stage.url, `GET /v2/crawler/download_data?domain_id=DEMO&dry_run=${dry}`);
      return String(json["data"]?.["job_id"]);
    };
    for (const dry of [true, false]) {
      const id = await ended(dry);
      const flags = async (query: string): Promise<unknown[]> => {
        const { json } = await ask(stage.url, `DELETE /v2/jobs/delete?job_id=${id}${query}`);
        return [json["data"]?.["job_id"], json["data"]?.["dry_run"], json["data"]?.["job_dry_run"]];
      };
      assert.deepEqual(await flags("&dry_run=true"), [id, true, dry]);
      assert.deepEqual(await flags(""), [id, false, dry]);
    }
  });

  it("source_type= chooses what scope= chooses", async () => {
    for (const action of ["crawl", "download_data", "process_data", "embed_data"]) {
      const path = `GET /v2/crawler/${action}?domain_id=DEMO&mode=incremental&dry_run=true`;
      const { status, text } = await ask(stage.url, `${path}&source_type=list_sources`);
      assert.equal(status, 200, text);
      assert.match(text, /"scope": ?"lists"/);
      const same = await ask(stage.url, `${path}&source_type=sitepage_sources&scope=sitepages`);
      assert.match(same.text, /"scope": ?"sitepages"/);
      const torn = await ask(stage.url, `${path}&source_type=list_sources&scope=files`);
      assert.equal(torn.status, 400);
      assert.match(torn.text, /'scope=files' and 'source_type=list_sources' contradict each other/);
      const wrong = await ask(stage.url, `${path}&source_type=lists`);
      assert.equal(wrong.status, 400);
      assert.match(wrong.text, /'source_type' must be .*list_sources/);
    }
  });

  it("a domain.json that cannot be read is the server's trouble: 500, with what is wrong and no path of the disk", async () => {
    const broken: Record<string, string> = {
      CUT: '{"name": ',
      LIST: "[]",
      ODD: JSON.stringify({ file_sources: [{ source_id: "docs", site_url: "ftp://x" }] }),
    };
    for (const [id, text] of Object.entries(broken)) {
      const path = join(stage.folder, "domains", id, "domain.json");
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    // Opening a folder as a file fails whoever the server runs as.
    mkdirSync(join(stage.folder, "domains", "FOLDER", "domain.json"), { recursive: true });
    for (const id of [...Object.keys(broken), "FOLDER"]) {
      for (const what of ["GET /v2/domains/get?", "GET /v2/crawler/crawl?", "DELETE /v2/domains/delete?"]) {
        const { status, text } = await ask(stage.url, `${what}domain_id=${id}`);
        assert.equal(status, 500, `${what}${id}: ${text}`);
        assert.match(text, new RegExp(`Cannot read domain '${id}'`));
        assert.ok(!text.includes(stage.folder), text);
      }
    }
    assert.equal((await ask(stage.url, "GET /v2/domains/get?domain_id=NOBODY")).status, 404);
    assert.equal((await ask(stage.url, "GET /v2/domains?format=json")).status, 200);
  });
});
