// The proxy finds the model in path or body, for every version of Azure's protocol.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import OpenAI, { AzureOpenAI, toFile } from "openai";
import { ask } from "./ask.ts";
import { type ProxiedServer, SERVICE_KEY, sendRaw, serveProxied } from "./scripted-service.ts";

const VERSION = "2025-04-01-preview";
const MESSAGES = [{ role: "user" as const, content: "hello" }];
type Service = "dated" | "undated" | "openai";

describe("which way to the model: in the path for Azure's dated versions, in the body for all others", () => {
  let at: ProxiedServer;
  before(async () => {
    at = await serveProxied();
  });
  after(() => at.close());
  afterEach(() => {
    at.service.seen.length = 0;
  });

  const point = (service: Service, model = ""): void => {
    const azure = { kind: "azure_openai" as const, baseUrl: `${at.service.url}/`, model };
    if (service === "openai") at.point({});
    else at.point({ ...azure, apiVersion: service === "dated" ? VERSION : "v1" });
  };
  const last = (): { url: string; model: unknown } => {
    const { url = "", body = "" } = at.service.seen.at(-1) ?? {};
    return { url, model: body.startsWith("{") ? (JSON.parse(body) as { model: unknown }).model : undefined };
  };

  const PLAIN: readonly (readonly [Service, string, string])[] = [
    ["dated", "/files?limit=3&api-version=2024-01-01", `/openai/files?limit=3&api-version=${VERSION}`],
    ["dated", "/vector_stores/vs_1/search", `/openai/vector_stores/vs_1/search?api-version=${VERSION}`],
    ["dated", "/responses", `/openai/responses?api-version=${VERSION}`],
    ["dated", "/chat/completions", `/openai/deployments/gpt%204o/chat/completions?api-version=${VERSION}`],
    ["dated", "/completions", `/openai/deployments/gpt%204o/completions?api-version=${VERSION}`],
    ["dated", "/embeddings", `/openai/deployments/gpt%204o/embeddings?api-version=${VERSION}`],
    ["dated", "/audio/speech", `/openai/deployments/gpt%204o/audio/speech?api-version=${VERSION}`],
    ["dated", "/images/generations", `/openai/deployments/gpt%204o/images/generations?api-version=${VERSION}`],
    ["dated", "/deployments/mine/embeddings", `/openai/deployments/mine/embeddings?api-version=${VERSION}`],
    ["undated", "/chat/completions?api-version=2024-01-01", "/openai/v1/chat/completions"],
    ["undated", "/files?API-Version=x&limit=3", "/openai/v1/files?limit=3"],
    ["openai", "/embeddings?api-version=2024-01-01", "/v1/embeddings"],
  ];
  for (const [service, path, expected] of PLAIN) {
    test(`${service}: ${path}`, async () => {
      point(service);
      for (const prefix of ["/openai", "/openai/v1"]) {
        const reply = await ask(at.url, `POST ${prefix}${path}`, { json: { model: "gpt 4o", input: "ü" } });
        assert.equal(reply.status, 200);
        assert.deepEqual(last(), { url: expected, model: "gpt 4o" });
        const { authorization, "api-key": apiKey } = at.service.seen.at(-1)?.headers ?? {};
        const key = service === "openai" ? [`Bearer ${SERVICE_KEY}`, undefined] : [undefined, SERVICE_KEY];
        assert.deepEqual([authorization, apiKey], key);
      }
    });
  }

  for (const service of ["dated", "undated", "openai"] as const) {
    test(`both official clients reach the same model: ${service}`, async () => {
      point(service);
      const clients = [
        new OpenAI({ baseURL: `${at.url}/openai/v1`, apiKey: "any", maxRetries: 0 }),
        new AzureOpenAI({ endpoint: at.url, apiKey: "any", apiVersion: "2024-10-21", maxRetries: 0 }),
      ];
      for (const client of clients) {
        await client.chat.completions.create({ model: "mine", messages: MESSAGES });
        const path = { dated: "/openai/deployments/mine", undated: "/openai/v1", openai: "/v1" }[service];
        assert.equal(last().url.split("?")[0], `${path}/chat/completions`);
        assert.equal(last().model, "mine");
        await client.files.list();
        assert.equal(last().url.includes("/deployments/"), false);
      }
    });
  }

  test("a client of Azure need not repeat the model in the body; of two, the path's counts", async () => {
    point("openai");
    for (const json of [{ messages: MESSAGES }, { model: "other", messages: MESSAGES }]) {
      await ask(at.url, "POST /openai/deployments/my%20model/chat/completions?api-version=2024-10-21", { json });
      assert.deepEqual(last(), { url: "/v1/chat/completions", model: "my model" });
    }
  });

  test("the model of a form is found wherever it stands, and the form arrives as it was sent", async () => {
    point("dated");
    const client = new OpenAI({ baseURL: `${at.url}/openai/v1`, apiKey: "any", maxRetries: 0 });
    const file = await toFile(Buffer.from("RIFF…"), "Grüße.wav");
    await client.audio.transcriptions.create({ file, model: "whisper", language: "de" });
    const { url, body } = at.service.seen.at(-1) ?? {};
    assert.equal(url, `/openai/deployments/whisper/audio/transcriptions?api-version=${VERSION}`);
    for (const part of ['filename="Grüße.wav"', "RIFF…", 'name="language"']) assert.ok(body?.includes(part), part);
  });

  test("without a model the default deployment is asked, or the client told", async () => {
    point("dated", "standard");
    await ask(at.url, "POST /openai/chat/completions", { json: { messages: MESSAGES } });
    assert.match(last().url, /^\/openai\/deployments\/standard\/chat/);
    point("dated");
    const reply = await ask(at.url, "POST /openai/chat/completions", { json: { messages: MESSAGES } });
    assert.deepEqual([reply.status, reply.json["error"]?.["param"]], [400, "model"]);
  });

  test("no model leads out of the service's paths, and none makes us read without end", async () => {
    point("dated");
    for (const model of ["..", "../../admin", "%2e%2e", "a/../../b"]) {
      const reply = await ask(at.url, "POST /openai/chat/completions", { json: { model } });
      assert.equal(reply.status, 400, model);
    }
    assert.equal(at.service.seen.length, 0);
    const body = JSON.stringify({ model: "m", input: "x".repeat(33 * 1024 * 1024) });
    const headers = { "content-type": "application/json" };
    const reply = await sendRaw(at.url, "/openai/embeddings", { method: "POST", headers, body });
    assert.equal(reply.status, 413);
    assert.match(reply.text, /deployments\/\{model\}/);
  });
});
