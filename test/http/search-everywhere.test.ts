// A search goes over all domains; results have titles, addresses that open, and say when their source was checked.
import assert from "node:assert/strict";
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openableUrl } from "../../src/app/openable-url.ts";
import type { DomainId } from "../../src/contracts/ids.ts";
import { sayFreshness } from "../../src/lib/freshness.ts";
import { callHere } from "../cli/call-here.ts";
import { ask } from "./ask.ts";
import { type ChatStage, HR, IT, openChatStage } from "./chat-stage.ts";

interface Found {
  readonly domain_id: string;
  readonly title: string;
  readonly name: string;
  readonly url: string;
  readonly source_checked_utc: string;
  readonly freshness: string;
  readonly text: string;
}

describe("a search without a domain", () => {
  let at: ChatStage;
  before(async () => {
    at = await openChatStage({ HR, IT });
  });
  after(() => at?.close());

  const search = async (query: string): Promise<Found[]> => {
    const { status, json } = await ask(at.url, `GET /v2/search?format=json&${query}`);
    assert.equal(status, 200, JSON.stringify(json));
    return (json as unknown as { data: { results: Found[] } }).data.results;
  };

  test("goes over all domains, best first, over HTTP, /query, the page and the command line", async () => {
    const results = await search("query=employee+network+password&results=20");
    assert.deepEqual([...new Set(results.map(({ domain_id }) => domain_id))].sort(), ["HR", "IT"]);
    const alone = await search("query=employee+network+password&domain_id=HR");
    assert.ok(alone.length > 0 && alone.every(({ domain_id }) => domain_id === "HR"));
    const { json } = await ask(at.url, "POST /query", { json: { data: { query: "guest network" } } });
    const { sources } = json["data"] as unknown as {
      sources: { source: string; metadata: Record<string, string> }[];
    };
    const [source] = sources;
    assert.equal(source?.metadata["title"], "Guest network");
    assert.equal((await fetch(source?.source ?? "")).status, 200);
    const page = await ask(at.url, "GET /v2/search?format=ui&query=guest+network");
    assert.match(page.text, /<option value="" selected>All domains<\/option>/);
    assert.match(page.text, / · <bdi>IT<\/bdi>/);
    assert.match(page.text, /source checked less than a minute ago/);
    assert.match(page.text, /<a href="\/v2\/documents\/read\?domain_id=IT/);
    process.env["PERSISTENT_STORAGE_PATH"] = at.app.config.storagePath;
    const { out, code } = await callHere(["query", "guest network"]);
    delete process.env["PERSISTENT_STORAGE_PATH"];
    assert.equal(code, 0);
    assert.match(out, /1\. Guest network[\s\S]*source checked less than a minute ago; changed /);
  });

  test("shows titles from front matter and headings, and asks which domain a generation is of", async () => {
    const [handbook] = await search("query=everything+employees+have+to+know");
    assert.deepEqual([handbook?.title, handbook?.name], ["Staff handbook", "_index.md"]);
    const { status, json } = await ask(at.url, "GET /v2/search?query=x&generation=1");
    assert.equal(status, 400);
    assert.match(String(json["error"]), /say which domain/);
  });

  test("a source that no domain has is named", async () => {
    const { json } = await ask(at.url, "GET /v2/search?format=json&query=vacation&source_id=nope");
    assert.deepEqual(json["data"]?.["notes"], ["No domain that was searched has a source 'nope'."]);
    const { json: known } = await ask(at.url, "GET /v2/search?format=json&query=vacation&source_id=docs");
    assert.deepEqual(known["data"]?.["notes"], []);
  });

  test("one domain that does not answer hides no other; if none does, that is an error", async () => {
    const { domains } = await at.app.domains.list();
    const [hr, it] = domains;
    assert.ok(hr && it);
    await at.app.domains.update({ ...it, vectorStoreId: "vs_gone" as typeof it.vectorStoreId }, it);
    const { json } = await ask(at.url, "GET /v2/search?format=json&query=vacation");
    assert.match(
      String(json["data"]?.["notes"]),
      /Domain 'IT' was not searched: Vector store 'vs_gone' does not exist/,
    );
    assert.ok((json["data"] as unknown as { results: Found[] }).results.length > 0);
    await at.app.domains.update({ ...hr, vectorStoreId: "vs_away" as typeof hr.vectorStoreId }, hr);
    assert.equal((await ask(at.url, "GET /v2/search?format=json&query=vacation")).status, 404);
    await at.app.domains.update(hr, { ...hr, vectorStoreId: "vs_away" as typeof hr.vectorStoreId });
    await at.app.domains.update(it, { ...it, vectorStoreId: "vs_gone" as typeof it.vectorStoreId });
  });

  test("the check is dated by the last crawl that saw everything; what could not be updated says so instead", async (t) => {
    const [before] = await search("query=vacation+days&domain_id=HR");
    await at.write("HR", { "handbook/new.md": "# News\n\nThe canteen has a new cook.\n" });
    await at.crawl("HR");
    const [after] = await search("query=vacation+days&domain_id=HR");
    assert.ok(Date.parse(after?.source_checked_utc ?? "") > Date.parse(before?.source_checked_utc ?? ""));
    // A look that broke off says nothing new.
    const checked = after?.source_checked_utc;
    await rm(join(at.folder, "HR", "handbook", "new.md"));
    await chmod(join(at.folder, "HR", "handbook"), 0o000);
    t.after(() => chmod(join(at.folder, "HR", "handbook"), 0o755));
    if (process.getuid?.() !== 0) {
      await at.crawl("HR").catch(() => undefined);
      assert.equal((await search("query=vacation+days&domain_id=HR"))[0]?.source_checked_utc, checked);
    }
    // An earlier generation does not show what the last check found.
    const [earlier] = await search("query=vacation+days&domain_id=HR&generation=1");
    assert.deepEqual([earlier?.source_checked_utc, earlier?.freshness.startsWith("changed ")], ["", true]);
  });

  test("what left its source and waits for a confirmation is not said to be checked", async () => {
    await rm(join(at.folder, "HR", "handbook"), { recursive: true });
    // All of it is gone at once: the removals are held.
    await assert.rejects(at.crawl("HR"));
    const [held] = await search("query=vacation+days&domain_id=HR");
    assert.match(held?.text ?? "", /28 vacation days/);
    assert.match(held?.freshness ?? "", /^its last update failed or is held; changed /);
  });
});

test("freshness in words: ages, years, failures, and nothing where nothing is known", () => {
  const now = new Date("2026-11-18T12:00:00Z");
  const said = (checkedAt: string, changedAt: string, isBehind = false): string =>
    sayFreshness({ checkedAt, changedAt, isBehind }, now);
  assert.equal(
    said("2026-11-18T11:56:00Z", "2026-11-12T23:59:00Z"),
    "source checked 4 minutes ago; changed 12 November",
  );
  assert.equal(
    said("2026-11-18T11:00:00Z", "2025-01-02T00:00:00Z"),
    "source checked 1 hour ago; changed 2 January 2025",
  );
  assert.equal(said("2026-11-15T11:00:00Z", ""), "source checked 3 days ago");
  assert.equal(said("2026-11-18T12:30:00Z", ""), "source checked less than a minute ago");
  assert.equal(said("2026-11-18T11:56:00Z", "", true), "its last update failed or is held");
  assert.equal(said("", "never"), "");
});

test("an address opens: the source's own, our page at the passage, or the bytes", () => {
  const source = { webUrl: "", attributes: {}, fileId: "file 1", domainId: "", details: null } as const;
  const origin = "https://kb.example.com";
  assert.equal(openableUrl({ ...source, webUrl: "https://docs.example.com/a" }, origin), "https://docs.example.com/a");
  assert.equal(openableUrl(source, origin), `${origin}/openai/v1/files/file%201/content`);
  const attributes = { domain_id: "HR", source_id: "docs", item_id: "doc_1" };
  const ours = { ...source, domainId: "HR" as DomainId };
  const place = (url: string): string[] =>
    [...new URL(url, origin).searchParams.entries()].map((pair) => pair.join("="));
  assert.deepEqual(place(openableUrl({ ...ours, attributes }, "")), [
    "domain_id=HR",
    "source_id=docs",
    "item_id=doc_1",
    "format=html",
  ]);
  assert.deepEqual(
    place(openableUrl(ours, origin)),
    ["domain_id=HR", "item_id=file 1", "format=html"],
    "an attached file",
  );
});

test("PUBLIC_URL is the base of addresses, whatever the request was sent to; a strange Host is none", async (t) => {
  const at = await openChatStage({ IT }, { PUBLIC_URL: "https://kb.example.com/" });
  t.after(() => at.close());
  const { json } = await ask(at.url, "GET /v2/search?format=json&query=guest+network");
  const [hit] = (json["data"] as unknown as { results: Found[] }).results;
  assert.ok(hit?.url.startsWith("https://kb.example.com/v2/documents/read?"), hit?.url);
  const messages = [{ role: "user" as const, content: "What is the guest network called?" }];
  const { choices } = await at.client.chat.completions.create({ model: "lockstep/all", messages });
  assert.match(choices[0]?.message.content ?? "", /\(https:\/\/kb\.example\.com\/v2\/documents\/read\?/);
  assert.ok(at.app.config.warnings.some((one) => /PUBLIC_URL names 'kb\.example\.com'/.test(one)));
});

test("a domain that knows one word of the question does not outrank the one that has all of them", async (t) => {
  const pages = (word: string): Record<string, string> =>
    Object.fromEntries(
      ["Nord", "Süd", "West", "Ost", "Mitte"].map((place, at) => [
        `${word} ${place}.md`,
        `# ${word} ${place}\n\n${word} in ${place}: die Stelle ${at} antwortet, wenn jemand nach ${word} ${place} fragt.\n`,
      ]),
    );
  const answer =
    "Wer von daheim arbeitet, bekommt dreißig Euro im Monat als Zuschuss zu Strom und Heizung, dazu einmal einen Schreibtisch.";
  const others = Array.from(
    { length: 40 },
    (_, at) => `Absatz ${at} regelt, wie die Abteilung ${at} ihre Akten führt.`,
  );
  const rules = { "Regeln.md": `# Regeln\n\n${[...others.slice(0, 20), answer, ...others.slice(20)].join("\n\n")}\n` };
  // Other forms of one word are no other words.
  const forms = { "Netz.md": "# Netz\n\nStrom fließt durch das Stromnetz; Stromkosten liest man am Stromzähler ab.\n" };
  const at = await openChatStage({ A: pages("Zuschuss"), B: pages("Schreibtisch"), C: rules, D: forms });
  t.after(() => at.close());
  const query = new URLSearchParams({ query: "Zuschuss Strom Heizung Schreibtisch", results: "3" });
  const { json } = await ask(at.url, `GET /v2/search?format=json&${query}`);
  const [first, second] = (json as unknown as { data: { results: (Found & { score: number })[] } }).data.results;
  assert.match(first?.text ?? "", /dreißig Euro/);
  assert.ok((second?.score ?? 1) < 0.8, `${second?.name} ${second?.score}`);
});
