// /v2/search finds, narrows and explains passages, and goes back to earlier generations.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DOMAIN } from "../engine/world.ts";
import { ask } from "./ask.ts";
import { type ServedWorld, serveWorld } from "./served-world.ts";

interface Found {
  readonly name: string;
  readonly generation: number;
  readonly text: string;
  readonly highlights: readonly { start: number; end: number }[];
  readonly score_parts: Record<string, number>;
  readonly url: string;
  readonly last_modified_utc: string;
  readonly page: number;
}

interface Named {
  readonly certificate?: Readonly<Record<string, unknown>> | null;
  readonly domains: readonly (Readonly<Record<string, unknown>> & {
    readonly certificate: Readonly<Record<string, unknown>> | null;
  })[];
}

describe("/v2/search and /v2/domains/generations", () => {
  let served: ServedWorld;
  before(async () => {
    served = await serveWorld({}, async (world) => {
      await world.change("add", { path: "Travel/policy.txt", text: "A hotel night is approved by the zebra desk." });
      await world.change("add", { path: "notes.md", text: "# Notes\n\nThe zebra desk moved to the second floor." });
      await world.crawl();
      await world.change("update", {
        path: "notes.md",
        text: "# Notes\n\nThe giraffe desk moved to the second floor.",
      });
      await world.crawl();
    });
  });
  after(() => served?.close());

  const search = async (query: string): Promise<Found[]> => {
    const { status, json } = await ask(served.url, `GET /v2/search?domain_id=${DOMAIN}&using=text&${query}`);
    assert.equal(status, 200, JSON.stringify(json));
    return (json as unknown as { data: { results: Found[] } }).data.results;
  };
  const names = async (query: string): Promise<string[]> => (await search(query)).map(({ name }) => name).sort();

  it("tells passages with everything one needs to judge them", async () => {
    const [hit] = await search("query=zebra");
    assert.ok(hit);
    assert.equal(hit.name, "policy.txt");
    assert.deepEqual(
      hit.highlights.map(({ start, end }) => hit.text.slice(start, end)),
      ["zebra"],
    );
    assert.ok((hit.score_parts["text"] ?? 0) > 0);
    assert.equal(hit.generation, 2);
    assert.match(hit.url, /Travel\/policy\.txt$/);
    assert.match(hit.last_modified_utc, /^\d{4}-/);
  });

  it("names the latest certificate of the domain when asked to, and so does /v2/describe", async () => {
    const asked = `GET /v2/search?domain_id=${DOMAIN}&query=zebra`;
    const dataOf = async (path: string) => (await ask(served.url, path)).json["data"] as unknown as Named;
    assert.equal("certificate" in (await dataOf(asked)), false);
    assert.equal((await dataOf(`${asked}&certificate=true`)).certificate, null, "a quick verification is none");
    const { json } = await ask(served.url, `GET /v2/crawler/verify?domain_id=${DOMAIN}&format=json`);
    const { certificate_hash, certificate_file } = json["data"] as unknown as Record<string, string>;
    const { vectorStoreId } = await served.world.app.domains.get(DOMAIN);
    for (const query of [asked, `GET /v2/search?vector_store_id=${vectorStoreId}&query=zebra`]) {
      const { certificate } = await dataOf(`${query}&certificate=true`);
      assert.deepEqual(
        [certificate?.domain_id, certificate?.verdict, certificate?.late, certificate?.certificate_hash],
        [DOMAIN, "agrees", false, certificate_hash],
      );
      assert.ok(certificate_file?.endsWith(`/${certificate?.certificate}.json`));
    }
    const described = await dataOf("GET /v2/describe?format=json");
    const told = described.domains.find(({ domain_id }) => domain_id === DOMAIN);
    assert.deepEqual([told?.late, told?.certificate?.certificate_hash], [false, certificate_hash]);
    const page = (await ask(served.url, "GET /v2/describe?format=html")).text;
    assert.match(page, /Verified <time[^>]*>[^<]*<\/time>: <strong>agrees<\/strong>/);
    assert.doesNotMatch(page, /finished_utc/);
  });

  it("narrows by source, path, type, date and attributes, and goes back in time", async () => {
    assert.deepEqual(await names("query=desk"), ["notes.md", "policy.txt"]);
    assert.deepEqual(await names("query=desk&path=Travel/"), ["policy.txt"]);
    assert.deepEqual(await names("query=desk&file_type=md"), ["notes.md"]);
    assert.deepEqual(await names("query=desk&modified_before=2000-01-01"), []);
    assert.deepEqual(await names("query=desk&modified_from=2000-01-01"), ["notes.md", "policy.txt"]);
    assert.deepEqual(await names("query=desk&source_id=other"), []);
    const filter = encodeURIComponent(JSON.stringify({ type: "eq", key: "file_type", value: "txt" }));
    assert.deepEqual(await names(`query=desk&filters=${filter}`), ["policy.txt"]);
    assert.deepEqual(await names("query=zebra&generation=1"), ["notes.md", "policy.txt"]);
  });

  it("says when what is in quotes was ignored, and only then", async () => {
    const notes = async (query: string): Promise<unknown> => {
      const { json } = await ask(served.url, `GET /v2/search?domain_id=${DOMAIN}&query=${encodeURIComponent(query)}`);
      return json["data"]?.["notes"];
    };
    assert.deepEqual(await notes('"zebra desk"'), []);
    assert.deepEqual(await notes("zebra desk"), []);
    assert.match(String(await notes('"zebra lamp" desk')), /^What stands in quotes occurs nowhere here/);
  });

  it("is a page that works without a question, and tells there what is wrong with one", async () => {
    const empty = await ask(served.url, "GET /v2/search?format=ui");
    assert.equal(empty.status, 200);
    assert.match(empty.text, /<option value="STORY" selected>Story<\/option>/);
    const found = await ask(served.url, "GET /v2/search?format=ui&query=zebra&file_type=&path=&generation=");
    assert.match(found.text, /<mark>zebra<\/mark>/);
    assert.match(found.text, /<summary>Why\?<\/summary>/);
    // A slip of the pen: only the index knows which word it found instead.
    const misspelt = await ask(served.url, "GET /v2/search?format=ui&query=zebar&using=text");
    assert.match(misspelt.text, /<mark>zebra<\/mark>/);
    const wrong = await ask(served.url, "GET /v2/search?format=ui&query=zebra&generation=99");
    assert.equal(wrong.status, 200);
    assert.match(wrong.text, /role="alert">[^<]*generation 99/i);
    assert.equal((await ask(served.url, "GET /v2/search?format=json")).json["error"], "Missing 'query'.");
  });

  it("refuses what it does not understand, with a sentence", async () => {
    for (const [query, sentence] of [
      ["query=", /Missing 'query'/],
      ["query=x&modified_from=yesterday", /'modified_from' must be a date/],
      ["query=x&filters=%7B%22type%22%3A%22like%22%7D", /filters\.type/],
      ["query=x&generation=99", /[Gg]eneration 99/],
      ["query=x&generation=-1", /'generation' must be/],
      ["query=x&vector_store_id=vs_1", /not both/],
      ["query=x&kind=y", /kind/],
    ] as const) {
      const { status, json } = await ask(served.url, `GET /v2/search?domain_id=${DOMAIN}&${query}`);
      assert.equal(status, 400, query);
      assert.match(String(json["error"]), sentence);
    }
  });

  it("shows generations, rolls back and releases", async () => {
    const at = "/v2/domains/generations";
    const list = await ask(served.url, `GET ${at}?domain_id=${DOMAIN}`);
    const { shown, newest, pinned, generations } = list.json["data"] as unknown as {
      shown: number;
      newest: number;
      pinned: boolean;
      generations: { generation: number; generation_id: string; shown: boolean; erased: number }[];
    };
    assert.deepEqual([shown, newest, pinned], [2, 2, false]);
    assert.deepEqual(
      generations.map((one) => [one.generation, one.shown, one.erased]),
      [
        [2, true, 0],
        [1, false, 0],
      ],
    );
    const hits = (await ask(served.url, `GET /v2/search?domain_id=${DOMAIN}&query=giraffe`)).json["data"];
    const [hit] = (hits as unknown as { results: { generation: number; generation_id: string }[] }).results;
    assert.deepEqual([hit?.generation, hit?.generation_id], [2, generations[0]?.generation_id]);
    const difference = await ask(served.url, `GET ${at}/difference?domain_id=${DOMAIN}&from=1&to=2`);
    assert.deepEqual(
      (difference.json["data"] as unknown as { changes: { change: string; path: string }[] }).changes.map(
        ({ change, path }) => `${change} ${path}`,
      ),
      ["changed notes.md"],
    );
    assert.equal((await ask(served.url, `GET ${at}/rollback?domain_id=${DOMAIN}&generation=7`)).status, 400);
    assert.equal((await ask(served.url, `POST ${at}/rollback?domain_id=${DOMAIN}&generation=1`)).status, 200);
    assert.deepEqual(await names("query=giraffe"), []);
    assert.equal((await ask(served.url, `POST ${at}/release?domain_id=${DOMAIN}`)).status, 200);
    assert.deepEqual(await names("query=giraffe"), ["notes.md"]);
    assert.equal((await ask(served.url, `POST ${at}/release?domain_id=${DOMAIN}`)).status, 400);
  });
});
