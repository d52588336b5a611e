// The clients that people use ask the server in their default way, and get answers with sources.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ChatOpenAI } from "@langchain/openai";
import { OpenAI as LlamaOpenAI } from "@llamaindex/openai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { type ChatStage, HR, openChatStage } from "./chat-stage.ts";

const MODEL = "lockstep/HR";
const FIRST = "How many vacation days do I have?";
const SECOND = "Which of them carry over?";
const ANSWER =
  /28 vacation days a year\. \[1\][\s\S]*\n\nSources:\n1\. \[Vacation\]\(http:\/\/127\.0\.0\.1:\d+\/v2\/documents\//;
const FOLLOWED = /Up to five of them carry over[\s\S]*\n\nSources:\n1\. \[Vacation\]/;

describe("chat clients", () => {
  let at: ChatStage;
  let baseURL: string;
  let apiKey: string;
  before(async () => {
    at = await openChatStage({ HR });
    baseURL = `${at.url}/openai/v1`;
    // As in a company: readers have a key.
    const { keys } = at.app.access;
    await keys.create({ name: "boss", role: "admin", expiresAt: "" });
    ({ key: apiKey } = await keys.create({ name: "colleague", role: "read", expiresAt: "" }));
  });
  after(() => at?.close());

  test("the official client", async () => {
    const client = new OpenAI({ baseURL, apiKey });
    const messages = [{ role: "user" as const, content: FIRST }];
    const { choices } = await client.chat.completions.create({ model: MODEL, messages });
    assert.match(choices[0]?.message.content ?? "", ANSWER);
    assert.equal(choices[0]?.message.annotations?.[0]?.url_citation.title, "Vacation");
    const stream = client.chat.completions.stream({ model: MODEL, messages });
    assert.match((await stream.finalContent()) ?? "", ANSWER);
    await assert.rejects(new OpenAI({ baseURL, apiKey: "wrong", maxRetries: 0 }).models.list(), { status: 401 });
  });

  test("LangChain", async () => {
    const model = new ChatOpenAI({ model: MODEL, apiKey, configuration: { baseURL } });
    const begun = await model.invoke(FIRST);
    assert.match(String(begun.content), ANSWER);
    const followed = await model.invoke([
      ["human", FIRST],
      ["ai", String(begun.content)],
      ["human", SECOND],
    ]);
    assert.match(String(followed.content), FOLLOWED);
    let streamed = "";
    for await (const { content } of await model.stream(FIRST)) streamed += String(content);
    assert.equal(streamed, begun.content);
  });

  test("the AI SDK", async () => {
    const lockstep = createOpenAICompatible({ name: "lockstep", baseURL, apiKey });
    const { text } = await generateText({ model: lockstep(MODEL), prompt: FIRST });
    assert.match(text, ANSWER);
    const followed = streamText({
      model: lockstep(MODEL),
      messages: [
        { role: "user", content: FIRST },
        { role: "assistant", content: text },
        { role: "user", content: SECOND },
      ],
    });
    let streamed = "";
    for await (const piece of followed.textStream) streamed += piece;
    assert.match(streamed, FOLLOWED);
  });

  test("LlamaIndex", async () => {
    const llm = new LlamaOpenAI({ model: MODEL, apiKey, baseURL });
    const { message } = await llm.chat({ messages: [{ role: "user", content: FIRST }] });
    assert.match(String(message.content), ANSWER);
    let streamed = "";
    const stream = await llm.chat({
      messages: [
        { role: "user", content: FIRST },
        { role: "assistant", content: message.content },
        { role: "user", content: SECOND },
      ],
      stream: true,
    });
    for await (const { delta } of stream) streamed += delta;
    assert.match(streamed, FOLLOWED);
  });
});

test("the guide's lines run as they stand there", async (t) => {
  const at = await openChatStage({ HR });
  t.after(() => at.close());
  const guide = readFileSync(new URL("../../docs/guides/chat-clients.md", import.meta.url), "utf8");
  const blocks = [...guide.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
  assert.equal(blocks.length, 4);
  for (const code of blocks) {
    assert.ok(code.trim().split("\n").length <= 12, "ten lines or so");
    const run = promisify(execFile)(process.execPath, [
      "--input-type=module",
      "-e",
      code.replaceAll("http://127.0.0.1:8000", at.url),
    ]);
    assert.match((await run).stdout, ANSWER, code);
  }
});
