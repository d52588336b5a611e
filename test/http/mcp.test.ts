// AI clients search and read documents at /mcp, with both packages and both eras of the protocol.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ask, type Reading } from "./ask.ts";
import { CLIENTS, type McpClient } from "./mcp-clients.ts";
import { HOLIDAYS, type McpWorld, openMcpWorld, TRAVEL } from "./mcp-world.ts";

const KEPT_SHORT = 40_000;
/** Longer than one part, with characters of two code units. */
const CHAPTERS = Array.from(
  { length: 400 },
  (_, at) => `## Chapter ${at} 😀\n\n${`Widget${at} costs ${at} euros. `.repeat(10)}`,
);
const LONG = `# Handbook\n\n${CHAPTERS.join("\n\n")}\n`;

for (const [name, open] of Object.entries(CLIENTS)) {
  describe(`MCP over HTTP with ${name}`, () => {
    let world: McpWorld;
    let client: McpClient;
    before(async () => {
      world = await openMcpWorld();
      await world.write("HR", "handbook.md", LONG);
      await world.crawl("HR");
      client = await open({ url: world.url });
    });
    after(async () => {
      await client?.close();
      await world.close();
    });

    it("declares four tools that only read, and notices where they come", async () => {
      const { tools } = await client.tools();
      const list = tools as unknown as Reading[];
      assert.deepEqual(
        list.map((tool) => String(tool["name"])),
        ["search", "fetch", "list_domains", "explain"],
      );
      for (const tool of list) {
        assert.equal(tool["annotations"]?.["readOnlyHint"], true);
        assert.equal(tool["annotations"]?.["destructiveHint"], false);
        assert.equal(tool["outputSchema"]?.["type"], "object");
        assert.match(String(tool["description"]), /\S{3,}/);
      }
      const notices = name.includes("2025") || name === "sdk 1.x" ? {} : { listChanged: true, subscribe: true };
      assert.deepEqual(client.capabilities["resources"], notices);
    });

    it("searches all domains, and one", async () => {
      const all = await client.call("search", { query: "hotels" });
      assert.equal(all.isError, false, all.text);
      assert.deepEqual(JSON.parse(all.text), all.data);
      const results = all.data["results"] as unknown as Reading[];
      assert.deepEqual(results.map((one) => String(one["domain"])).sort(), ["HR", "IT"]);
      const travel = results.find((one) => String(one["title"]) === "Travel policy");
      assert.ok(travel, all.text);
      assert.deepEqual(Object.keys(travel), ["id", "title", "url", "text", "domain", "modified", "freshness"]);
      assert.match(String(travel["text"]), /120 euros/);
      assert.match(String(travel["freshness"]), /^source checked .*; changed /);
      const page = await ask(world.url, `GET ${String(travel["url"]).slice(world.url.length).split("#")[0]}`);
      assert.equal(page.status, 200);
      assert.match(page.text, /120 euros/);
      const one = await client.call("search", { query: "hotels", domain: "IT", limit: 3 });
      assert.deepEqual(
        (one.data["results"] as unknown as Reading[]).map((result) => String(result["domain"])),
        ["IT"],
      );
      const narrowed = await client.call("search", { query: "hotels", path: "holidays", file_type: ["md"] });
      for (const result of narrowed.data["results"] as unknown as Reading[])
        assert.equal(String(result["title"]), "Holidays");
    });

    it("reads a document by the id of a passage and of the document", async () => {
      const found = await client.call("search", { query: "vacation days", limit: 1 });
      const id = String(found.data["results"]?.[0]?.["id"]);
      const whole = await client.call("fetch", { id });
      assert.deepEqual(JSON.parse(whole.text), whole.data);
      assert.deepEqual(Object.keys(whole.data), ["id", "title", "text", "url", "metadata"]);
      assert.equal(String(whole.data["text"]), HOLIDAYS.trim());
      assert.equal(whole.data["metadata"]?.["complete"], true);
      assert.equal(String(whole.data["metadata"]?.["domain"]), "HR");
      const [document = ""] = id.split("#");
      assert.equal(String((await client.call("fetch", { id: document })).data["text"]), HOLIDAYS.trim());
    });

    it("reads a long document in parts that add up to it, and says so in each", async () => {
      const found = await client.call("search", { query: "Widget390", limit: 1 });
      const id = String(found.data["results"]?.[0]?.["id"]);
      const there = await client.call("fetch", { id });
      assert.match(String(there.data["text"]), /^## Chapter 390 😀\n\nWidget390/);
      assert.equal(there.data["metadata"]?.["complete"], false);
      let text = "";
      for (let offset: unknown = 0; offset !== undefined; ) {
        const { data } = await client.call("fetch", { id, offset });
        const part = String(data["text"]);
        assert.ok([...part].length <= KEPT_SHORT);
        assert.equal(data["metadata"]?.["offset"], offset);
        assert.match(String(data["metadata"]?.["note"]), /^These are characters \d+ to \d+ of \d+\./);
        text += part;
        offset = data["metadata"]?.["next_offset"];
      }
      assert.equal(text, LONG.replaceAll(/ +$/gm, "").trim());
      const beyond = await client.call("fetch", { id, offset: 10_000_000 });
      assert.equal(beyond.data["text"] as unknown, "");
      assert.match(String(beyond.data["metadata"]?.["note"]), /ends before/);
    });

    it("answers what cannot be done with a sentence", async () => {
      const wrong: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
        [
          "fetch",
          { id: "HR/notes/doc_unknown" },
          /^Domain 'HR' has no such document, or has it no longer\. Search again/,
        ],
        ["fetch", { id: "NOWHERE/notes/doc_1" }, /NOWHERE/],
        ["fetch", { id: "../../etc/passwd" }, /is not the id of a document/],
        ["fetch", { id: "HR/notes/%ff" }, /is not the id of a document/],
        ["fetch", { id: "x\u0000\u202e\u0007".repeat(1000) }, /is not the id of a document/],
        ["fetch", { id: 7 }, /'id' must be text/],
        ["fetch", {}, /Missing 'id'/],
        ["search", { query: "" }, /Missing 'query'/],
        ["search", { query: "x".repeat(10_001) }, /'query' must be text of 1 to 10000 characters/],
        ["search", { query: "x", limit: 1000 }, /'limit' must be a whole number from 1 to 50/],
        ["search", { query: "x", domain: "../HR" }, /'domain' must be/],
        ["search", { query: "x", domain: "NOWHERE" }, /NOWHERE/],
        ["search", { query: "x", modified_from: "yesterday" }, /'modified_from' must be a date/],
        ["search", { query: "x", file_type: [{}] }, /'file_type' must be a list/],
        [
          "search",
          { query: "x", __proto__polluted: 1 },
          /Unknown argument '__proto__polluted'\. Accepted: query, domain/,
        ],
        ["explain", { query: "x", document: "travel.md" }, /Missing 'domain': there are 'HR', 'IT'/],
      ];
      for (const [tool, args, sentence] of wrong) {
        const answer = await client.call(tool, args);
        assert.equal(answer.isError, true, JSON.stringify(args).slice(0, 100));
        assert.match(answer.text, sentence);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not come back.
        assert.doesNotMatch(answer.text, /[\u0000-\u001f\u202e]|at .*\.ts/);
      }
      await assert.rejects(client.call("delete_everything", {}), /Unknown tool: delete_everything/);
      // What clients send for what they leave out.
      assert.equal((await client.call("search", { query: "hotels", domain: null })).isError, false);
    });

    it("lists the domains, and explains why a document is found", async () => {
      const { data } = await client.call("list_domains", {});
      const domains = data["domains"] as unknown as Reading[];
      assert.deepEqual(
        domains.map((one) => [String(one["id"]), String(one["name"]), one["searchable"] as unknown]),
        [
          ["HR", "About HR", true],
          ["IT", "About IT", true],
        ],
      );
      const found = await client.call("explain", { query: "hotels", document: "travel.md", domain: "HR" });
      assert.match(String(found.data["documents"]?.[0]?.["verdict"]), /^Found at place 1/);
      const hit = await client.call("search", { query: "hotels", domain: "HR", limit: 1 });
      const id = String(hit.data["results"]?.[0]?.["id"]);
      const same = await client.call("explain", { query: "hotels", document: id });
      assert.deepEqual(same.data["documents"], found.data["documents"]);
    });

    it("has documents as resources, page by page", async () => {
      const { resources } = await client.resources();
      const list = resources as unknown as Reading[];
      assert.deepEqual(list.map((one) => String(one["name"])).sort(), [
        "handbook.md",
        "holidays.md",
        "laptops.md",
        "travel.md",
      ]);
      const travel = list.find((one) => String(one["name"]) === "travel.md");
      assert.equal(String(travel?.["title"]), "Travel policy");
      assert.match(String(travel?.["annotations"]?.["lastModified"]), /^20\d\d-/);
      const read = await client.read(String(travel?.["uri"]));
      assert.equal(String(read["contents"]?.[0]?.["text"]), TRAVEL.trim());
      const handbook = String(list.find((one) => String(one["name"]) === "handbook.md")?.["uri"]);
      const part = String((await client.read(handbook))["contents"]?.[0]?.["text"]);
      const [, next] =
        /\[lockstep: these are characters 0 to 40000 of \d+\. The next part is (\S+)\]$/.exec(part) ?? [];
      assert.ok(next, part.slice(-200));
      assert.match(String((await client.read(next))["contents"]?.[0]?.["text"]), /of \d+\./);
      await assert.rejects(client.read("lockstep://documents/HR/notes/doc_gone"), /no such document/);
      await assert.rejects(client.read("file:///etc/passwd"), /not the id of a document/);
      await assert.rejects(client.read(`${handbook}?offset=-1`), /may end in '\?offset='/);
      await assert.rejects(client.resources("nonsense"), /cursor is not valid/);
    });
  });
}
