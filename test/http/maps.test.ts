// Map files are made on demand as a zip, over HTTP and on the command line.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { unzipSync } from "fflate";
import { serveHttp } from "../../src/http/serve-http.ts";
import { runCommand } from "../cli/run-command.ts";
import { ask } from "./ask.ts";
import { type ServedWorld, serveWorld } from "./served-world.ts";

const NAMES = ["files_map.csv", "sharepoint_map.csv", "vectorstore_map.csv"];
const ALL = ["01_files/docs", "05_folders/notes"].flatMap((place) => NAMES.map((name) => `${place}/${name}`));

describe("maps on demand, of a library and a folder", () => {
  let place: string;
  let served: ServedWorld;
  before(async () => {
    place = await mkdtemp(join(tmpdir(), "lockstep-maps-"));
    await mkdir(join(place, "notes"));
    await writeFile(join(place, "notes", "otter.md"), "The otter sleeps on its back.");
    const notes = { source_id: "notes", root: join(place, "notes") };
    served = await serveWorld({ domain: { folder_sources: [notes] } }, async (world) => {
      await world.change("add", { path: "a/good.txt", text: "The axolotl budget is 12 euros." });
      await world.crawl();
    });
  });
  after(async () => {
    await served?.close();
    await rm(place, { recursive: true, force: true });
  });

  const unzipped = async (query: string): Promise<Record<string, string>> => {
    const response = await fetch(`${served.url}/v2/crawler/maps?domain_id=STORY${query}&format=zip`);
    assert.equal(response.headers.get("content-type"), "application/zip");
    const entries = Object.entries(unzipSync(new Uint8Array(await response.arrayBuffer())));
    return Object.fromEntries(entries.map(([name, bytes]) => [name, Buffer.from(bytes).toString()]));
  };

  it("are a zip, of a kind that keeps its maps as they are on disk", async () => {
    const maps = await unzipped("");
    assert.deepEqual(Object.keys(maps).sort(), ALL);
    for (const name of NAMES) {
      const onDisk = await readFile(join(served.world.storage, "crawler/STORY/01_files/docs", name), "utf8");
      assert.equal(maps[`01_files/docs/${name}`], onDisk);
      assert.match(onDisk, /,good\.txt,/);
      assert.match(maps[`05_folders/notes/${name}`] ?? "", /^[a-z_]+,[^\r]*\r\n[^\r]*,otter\.md,[^\r]*\r\n$/);
    }
    assert.deepEqual(Object.keys(await unzipped("&source_id=notes")).sort(), ALL.slice(3));
  });

  it("are in a report of what changed, and later ones name it", async () => {
    const reports = async (): Promise<[id: string, maps: unknown, mapsIn: unknown][]> =>
      (await served.world.app.reports.list()).map(({ reportId, json }) => {
        const sources = json["sources"] as Record<string, unknown>[];
        const notes = sources.find((one) => one["source_id"] === "notes");
        return [reportId, notes?.["map_files"], notes?.["map_files_in"]];
      });
    const maps = ["sharepoint_map.csv", "files_map.csv", "vectorstore_map.csv"].map(
      (name) => `05_folders/notes/${name}`,
    );
    const [[first] = [""]] = await reports();
    await served.world.crawl({ mode: "incremental" });
    await served.world.crawl({ mode: "incremental" });
    const [[second] = [""]] = await reports();
    assert.deepEqual(
      (await reports()).map((one) => one.slice(1)),
      [
        [[], first],
        [[], first],
        [maps, undefined],
      ],
    );
    const page = await ask(served.url, `GET /v2/reports/get?report_id=${second}&format=html`);
    const link = `/v2/reports/get?report_id=${encodeURIComponent(first)}&amp;format=html`;
    assert.ok(page.text.includes(`unchanged since <a href="${link}">${first}</a>`), page.text);
    await writeFile(join(place, "notes", "otter.md"), "The otter eats fish.");
    await served.world.crawl({ mode: "incremental" });
    assert.deepEqual((await reports())[0]?.slice(1), [maps, undefined]);
  });

  it("are refused with a sentence, and told of", async () => {
    const answers: [query: string, status: number, error: string][] = [
      ["domain_id=NOPE", 404, "Domain 'NOPE' does not exist."],
      ["domain_id=STORY&source_id=nope", 404, "Domain 'STORY' has no source 'nope'."],
      ["domain_id=STORY&source_id=..%2fx", 400, "'source_id' must be 1 to 64 letters"],
      ["source_id=docs", 400, "'domain_id'"],
      ["domain_id=STORY&format=xml", 400, "xml"],
    ];
    for (const [query, status, error] of answers) {
      const reply = await ask(served.url, `GET /v2/crawler/maps?${query}`);
      assert.equal(reply.status, status, query);
      assert.ok(String(reply.json["error"]).includes(error), reply.text);
    }
    assert.match((await ask(served.url, "GET /v2/crawler/maps")).text, /source_id.*Only the map files of this source/);
    const head = await fetch(`${served.url}/v2/crawler/maps?domain_id=STORY&source_id=notes`, { method: "HEAD" });
    assert.match(head.headers.get("content-disposition") ?? "", /filename="maps_STORY_notes\.zip"/);
  });

  it("are not read on when the client leaves", async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    async function* content(): AsyncGenerator<Uint8Array, void> {
      try {
        for (let i = 0; ; i++) yield Buffer.from(`${i} ${Math.random()}\r\n`.repeat(1000));
      } finally {
        end();
      }
    }
    const app = { ...served.world.app, mapFiles: async () => [{ name: "endless.csv", content }] };
    const endless = await serveHttp(app, { host: "127.0.0.1", port: 0, log: () => undefined });
    try {
      const leaving = new AbortController();
      const path = "/v2/crawler/maps?domain_id=STORY";
      const response = await fetch(endless.url + path, { signal: leaving.signal });
      await response.body?.getReader().read();
      leaving.abort();
      await ended;
    } finally {
      await endless.close();
    }
  });

  const run = (...args: string[]) => runCommand(place, ["maps", ...args], served.world.settings);

  it("are written by lockstep maps, which replaces none unless told to", async () => {
    const maps = await unzipped("");
    const first = await run("STORY", "--to", "out");
    assert.deepEqual([first.code, first.err], [0, ""]);
    assert.deepEqual(
      first.out.trim().split("\n").sort(),
      ALL.map((name) => join("out", name)),
    );
    for (const name of ALL) assert.equal(await readFile(join(place, "out", name), "utf8"), maps[name]);

    const edited = join(place, "out", ALL[3] ?? "");
    await writeFile(edited, "mine");
    const again = await run("STORY", "notes", "--to", "out");
    assert.equal(again.code, 2);
    assert.match(again.err, /exists\. Name another folder with --to, or replace it with --overwrite\./);
    assert.equal(await readFile(edited, "utf8"), "mine");
    assert.equal((await run("STORY", "notes", "--to", "out", "--overwrite")).code, 0);
    assert.equal(await readFile(edited, "utf8"), maps[ALL[3] ?? ""]);
    assert.deepEqual((await readdir(join(place, "out/05_folders/notes"))).sort(), NAMES);
  });

  it("are refused by lockstep maps with a sentence", async () => {
    const wrong: [args: string[], sentence: RegExp][] = [
      [["NOPE"], /Domain 'NOPE' does not exist\./],
      [["STORY", "nope"], /Domain 'STORY' has no source 'nope'\./],
      [
        ["STORY", "--to", join("notes", "otter.md")],
        /--to 'notes\/otter\.md' must be a folder that can be written to: /,
      ],
      [[], /Usage: lockstep maps DOMAIN \[SOURCE\]/],
    ];
    for (const [args, sentence] of wrong) {
      const { code, out, err } = await run(...args);
      assert.deepEqual([code, out], [2, ""], err);
      assert.match(err, sentence);
    }
  });
});
