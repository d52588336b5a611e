// Every example in the documentation is accepted by the server that shows it.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AskInit, ask } from "./ask.ts";
import { type ServedWorld, serveWorld } from "./served-world.ts";

/** A 400 about something that only this installation does not have. */
const MADE_UP = /generation \d+ (of domain 'DEMO' )?is not kept|there is no generation 3|nothing to release/i;

describe("the examples in the documentation", () => {
  let served: ServedWorld;
  before(async () => {
    served = await serveWorld({}, async (world) => {
      await world.change("add", { path: "Handbook.md", text: "# Handbook\n\nHotels cost up to 180 EUR." });
    });
  });
  after(() => served?.close());

  it("every one is accepted by the server that shows it", async () => {
    const index = (await ask(served.url, "GET /v2")).text;
    const paths = [...index.matchAll(/^ {2}[A-Z, ]+ (\/\S+) /gm)].map(([, path = ""]) => path);
    assert.ok(paths.length > 40);
    const tried: string[] = [];
    const problems: string[] = [];
    const functions = (await ask(served.url, "GET /api")).text.split(/(?=^\/api\/)/m);
    for (const path of paths) {
      const told = functions.find((one) => one.startsWith(`${path}\n`));
      const text = told ?? (await ask(served.url, `GET ${path}`)).text;
      const block = /^Examples\n((?: {2}.*\n)+)/m.exec(text)?.[1] ?? "";
      for (const line of block.split("\n").filter((one) => one.trim() !== "")) {
        tried.push(path);
        // From the first key on everybody has to bring one, and the other examples would not.
        if (path !== "/v2/keys/create") problems.push(await tryOut(line.trim(), path));
      }
    }
    assert.deepEqual(
      problems.filter((problem) => problem !== ""),
      [],
    );
    const without = paths.filter((path) => !tried.includes(path));
    assert.deepEqual(without, [], "endpoints without an example");
  });

  /** What is wrong with it, "" when nothing is. Ids in examples are made up, so 404 and the like are fine. */
  async function tryOut(line: string, path: string): Promise<string> {
    const { request, init } = readExample(line);
    assert.ok(request.split(" ")[1]?.startsWith(path), `${line} is an example of another endpoint than ${path}`);
    if (path === "/v2/domains/create") await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO");
    else if ((await ask(served.url, "GET /v2/domains/get?domain_id=DEMO")).status === 404) await createDemo();
    const reply = await ask(served.url, request, init);
    const wrong = [400, 405, 413, 415, 500].includes(reply.status) && !MADE_UP.test(reply.text);
    // The example's source is at an address that is none of ours.
    if (path === "/v2/domains/create") await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO");
    return wrong ? `${request}: ${reply.status} ${reply.text.slice(0, 300)}` : "";
  }

  async function createDemo(): Promise<void> {
    const { file_sources } = served.world.domainJson({ source_id: "documents" });
    const reply = await ask(served.url, "POST /v2/domains/create", {
      json: { domain_id: "DEMO", name: "Demo", file_sources },
    });
    assert.equal(reply.status, 200, reply.text);
    const crawled = await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO");
    assert.equal(crawled.json["ok"], true, crawled.text);
  }

  /** An address, or a command line of curl with the few options that examples use. */
  function readExample(line: string): { readonly request: string; readonly init: AskInit } {
    if (!line.startsWith("curl ")) return { request: `GET ${line.slice(served.url.length)}`, init: {} };
    const address = new RegExp(`${served.url}([^']*)`).exec(line)?.[1] ?? assert.fail(`no address of ours in ${line}`);
    if (/ -T \S+ /.test(line)) return { request: `PUT ${address}`, init: { body: "A file." } };
    const body = / -d '(.*)'/.exec(line)?.[1];
    const method = / -X (\w+)/.exec(line)?.[1] ?? (body === undefined ? "GET" : "POST");
    return { request: `${method} ${address}`, init: body === undefined ? {} : { json: JSON.parse(body) } };
  }
});
