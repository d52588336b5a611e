// A language model of this machine is found on the page, and writes the answers after one click, also after a restart.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { ask } from "./ask.ts";
import { type ChatStage, HR, openChatStage } from "./chat-stage.ts";
import { type ScriptedService, startScriptedService } from "./scripted-service.ts";

describe("language models of this machine", () => {
  let service: ScriptedService;
  let at: ChatStage;
  let servers: { name: string; baseUrl: string }[];
  before(async () => {
    service = await startScriptedService();
    service.answer = async (incoming, outgoing) => {
      for await (const _piece of incoming);
      const message = { role: "assistant", content: "Written 【1】." };
      const body = incoming.url?.endsWith("/models")
        ? { data: [{ id: "llama3.2:3b" }, { id: "nomic-embed-text" }, { id: "<b>odd</b>" }, { id: 7 }] }
        : { choices: [{ index: 0, message, finish_reason: "stop" }] };
      outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    servers = [
      { name: "Ollama", baseUrl: `${service.url}/v1` },
      // Nothing listens there.
      { name: "LM Studio", baseUrl: "http://127.0.0.1:9/v1" },
    ];
    at = await openChatStage({ HR }, {}, { localServers: servers });
  });
  after(async () => {
    await at?.close();
    await service?.close();
  });

  const answer = async (): Promise<string> => {
    const messages = [{ role: "user" as const, content: "How many vacation days do I have?" }];
    const { choices } = await at.client.chat.completions.create({ model: "lockstep/HR", messages });
    return choices[0]?.message.content ?? "";
  };

  test("they are found, without those that only embed, on the overview and on their page", async () => {
    const { json } = await ask(at.url, "GET /v2/answers?format=json");
    const found = { server: "Ollama", base_url: "", writes: false };
    assert.deepEqual(json["data"], [
      { model: "llama3.2:3b", ...found },
      { model: "<b>odd</b>", ...found },
    ]);
    for (const path of ["/", "/v2/answers?format=html"]) {
      const { text } = await ask(at.url, `GET ${path}`);
      assert.match(text, /Let <bdi>llama3\.2:3b<\/bdi> write \(Ollama\)/);
      assert.doesNotMatch(text, /<b>odd/);
    }
  });

  test("one click, and it writes at once; another, and answers are quotes again", async () => {
    assert.match(await answer(), /^Taken from the documents/);
    const overview = (await ask(at.url, "GET /")).text;
    const button = /action="(\/v2\/answers\/choose\?[^"]*llama3\.2[^"]*)" method="post"/.exec(overview)?.[1] ?? "";
    const clicked = await ask(at.url, `POST ${button.replaceAll("&amp;", "&")}`);
    assert.equal(clicked.status, 200);
    assert.match(clicked.text, /<strong>llama3\.2:3b<\/strong><\/bdi> at <code>http:\/\/127\.0\.0\.1/);
    assert.match(await answer(), /^Written \[1\]\.\n\nSources:/);
    assert.doesNotMatch((await ask(at.url, "GET /")).text, /A language model runs on this machine/);
    const file = join(at.app.config.storagePath, "index", "answer-model.json");
    assert.deepEqual(JSON.parse(await readFile(file, "utf8")), { model: "llama3.2:3b", base_url: `${service.url}/v1` });
    const settings = readConfig({ PERSISTENT_STORAGE_PATH: at.app.config.storagePath });
    const again = await compose(settings, { searchesHere: true, readOnly: true, localServers: servers });
    const view = await again.answerModels.view();
    assert.deepEqual([view.current?.model, view.from], ["llama3.2:3b", "page"]);
    await again.close();
    await ask(at.url, "POST /v2/answers/choose?format=html");
    assert.match(await answer(), /^Taken from the documents/);
  });

  test("only what is found can be chosen; readers cannot; an edited file leads nowhere else", async () => {
    for (const [query, status] of [
      ["server=Ollama&model=unknown", 404],
      ["server=http://evil.example&model=llama3.2:3b", 404],
      ["model=llama3.2:3b", 400],
    ] as const) {
      assert.equal((await ask(at.url, `POST /v2/answers/choose?${query}`)).status, status);
    }
    const file = join(at.app.config.storagePath, "index", "answer-model.json");
    for (const text of ["", "{", '{"model":"x","base_url":"https://evil.example/v1"}', '{"model":7}']) {
      await writeFile(file, text);
      assert.equal((await at.app.answerModels.view()).current, null, text);
    }
    const { keys } = at.app.access;
    await keys.create({ name: "boss", role: "admin", expiresAt: "" });
    const { key } = await keys.create({ name: "reader", role: "read", expiresAt: "" });
    const headers = { authorization: `Bearer ${key}` };
    assert.equal((await fetch(`${at.url}/v2/answers?format=json`, { headers })).status, 403);
    assert.doesNotMatch(await (await fetch(at.url, { headers })).text(), /llama3\.2/);
  });

  test("the settings win", async (t) => {
    const settings = { OPENAI_DEFAULT_MODEL_NAME: "scribe", OPENAI_BASE_URL: `${service.url}/v1` };
    const other = await openChatStage({}, settings, { localServers: servers });
    t.after(() => other.close());
    const { json } = await ask(other.url, "GET /v2/answers?format=json");
    assert.deepEqual(json["data"], [
      { model: "scribe", server: "settings", base_url: `${service.url}/v1`, writes: true },
    ]);
    const refused = await ask(other.url, "POST /v2/answers/choose?server=Ollama&model=llama3.2:3b");
    assert.equal(refused.status, 400);
    assert.match(String(refused.json["error"]), /The settings say which model writes answers/);
  });
});
