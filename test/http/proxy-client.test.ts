// The official clients work unchanged against the server and through the proxy.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AzureOpenAI } from "openai";
import { ask } from "./ask.ts";
import { makeCalls, normalised, type Outcome } from "./client-calls.ts";
import { type OpenServer, openProxyTo, openServer } from "./open-server.ts";

/** Calls that are meant to fail, and what the client raises. */
const RAISED: Readonly<Record<string, string>> = {
  "models.retrieve, unknown": "NotFoundError",
  "files.create, empty": "BadRequestError",
  "files.retrieve, unknown": "NotFoundError",
  "vectorStores.search, wrong": "BadRequestError",
  "responses.create, unknown model": "NotFoundError",
  "responses.create, unknown store, streamed": "NotFoundError",
  "beta.threads.create": "NotFoundError",
  "files.delete, twice": "NotFoundError",
};

describe("the official client", () => {
  let direct: OpenServer;
  let behind: OpenServer;
  let proxy: OpenServer;
  let straight: Outcome[];
  before(async () => {
    direct = await openServer();
    behind = await openServer();
    proxy = await openProxyTo(behind);
    ({ outcomes: straight } = await makeCalls(direct.client));
  });
  after(async () => {
    await proxy.close();
    await behind.close();
    await direct.close();
  });
  const resultOf = (call: string): Record<string, unknown> =>
    straight.find((one) => one.call === call)?.result as Record<string, unknown>;

  test("works unchanged against a server with the embedded backend", () => {
    const raised = straight.flatMap(({ call, result }) => {
      const { raised: name } = result as { raised?: string };
      return name === undefined ? [] : [[call, name]];
    });
    assert.deepEqual(Object.fromEntries(raised), RAISED);
    const [first] = resultOf("vectorStores.search")["data"] as { filename: string; content: { text: string }[] }[];
    assert.equal(first?.filename, "Reise nach Zürich.md");
    assert.match(first?.content[0]?.text ?? "", /190 euros/);
    assert.match(JSON.stringify(resultOf("responses.create")["output_text"]), /190 euros/);
    const chat = JSON.stringify(resultOf("chat.completions.create"));
    assert.match(chat, /Taken from the documents, no language model.*190 euros\. \(Reise nach Zürich\.md\)/);
    assert.match(JSON.stringify(resultOf("vectorStores.search, wrong")), /expected a string or an array of strings/);
    const list = resultOf("GET /responses");
    assert.equal((list["data"] as unknown[]).length, 2);
    assert.equal(list["has_more"], true);
  });

  test("gets the same through the proxy, call by call, errors included", async () => {
    const { outcomes, ids } = await makeCalls(proxy.client);
    const [here, there] = [normalised(straight), normalised(outcomes)];
    for (const [at, outcome] of here.entries()) assert.deepEqual(there[at], outcome, outcome.call);
    assert.equal(there.length, here.length);
    const paths = [`/vector_stores/${ids.store}`, "/files", "/models", "/files/file-none", "/nothing?x=1"];
    for (const path of paths) {
      const [one, other] = [await ask(behind.url, `GET /openai/v1${path}`), await ask(proxy.url, `GET /openai${path}`)];
      assert.deepEqual([other.status, other.type, other.text], [one.status, one.type, one.text], path);
      assert.match(other.headers.get("x-request-id") ?? "", /^req_/);
    }
  });

  test("of Azure works, too, on the embedded backend", async () => {
    const azure = new AzureOpenAI({ endpoint: direct.url, apiKey: "any", apiVersion: "2024-10-21", maxRetries: 0 });
    const { data: models } = await azure.models.list();
    const [answers, embeds] = [models[0]?.id ?? "", models.at(-1)?.id ?? ""];
    const messages = [{ role: "user" as const, content: "How much may a hotel night in Zurich cost?" }];
    const { choices } = await azure.chat.completions.create({ model: answers, messages });
    assert.match(choices[0]?.message.content ?? "", /190 euros/);
    assert.equal((await azure.embeddings.create({ model: embeds, input: "x" })).data.length, 1);
  });
});
