// Chat completions work without a language model: they quote what the store holds.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AnswersStage, answersStage, CARS, MODEL, TRAVEL } from "./embedded-answers-stage.ts";

const ask = (content: string) => ({ model: MODEL, messages: [{ role: "user" as const, content }] });

describe("chats without a language model", () => {
  let at: AnswersStage;
  before(async () => {
    at = await answersStage();
  });
  after(() => at.close());

  test("there is nothing to search before there is a store", async () => {
    const reply = await at.ask("POST", "/chat/completions", ask("hotel"));
    assert.equal(reply.status, 400);
    assert.match(JSON.stringify(reply.json), /SEARCH_DEFAULT_GLOBAL_VECTOR_STORE_ID/);
  });

  test("the only store is searched, and the quotes name their files, streamed or not", async () => {
    await at.fill({ "Travel.md": TRAVEL, "Cars.md": CARS });
    const question = ask("How much may a hotel night in Copenhagen cost?");
    const whole = await at.client.chat.completions.create(question);
    const text = whole.choices[0]?.message.content ?? "";
    assert.match(text, /^Taken from the documents, no language model:/);
    assert.match(text, /190 euros\. \(Travel\.md\)$/m);
    assert.equal(whole.choices[0]?.finish_reason, "stop");
    assert.ok((whole.usage?.completion_tokens ?? 0) > 10);
    const stream = at.client.chat.completions.stream(question);
    assert.equal(await stream.finalContent(), text);
    assert.equal((await stream.finalChatCompletion()).choices[0]?.finish_reason, "stop");
  });

  test("the last thing the user said is the question", async () => {
    const { choices } = await at.client.chat.completions.create({
      messages: [
        { role: "system", content: "Answer about hotels." },
        { role: "user", content: "How much is a hotel?" },
        { role: "assistant", content: "145 euros." },
        { role: "user", content: [{ type: "text", text: "When are cars washed?" }] },
      ],
      model: MODEL,
    });
    assert.match(choices[0]?.message.content ?? "", /Cars are washed every week\. \(Cars\.md\)/);
  });

  test("a file's name is no Markdown", async () => {
    await at.fill({ "Bells ![x](y) <img src=z>.md": "# Bells\n\nThe bells ring at noon." });
    const stores: string[] = [];
    for await (const store of at.client.vectorStores.list()) stores.push(store.id);
    await at.client.vectorStores.delete(stores.find((id) => id !== stores[0]) ?? "");
    const { choices } = await at.client.chat.completions.create(ask("When do the bells ring?"));
    assert.match(choices[0]?.message.content ?? "", /ring at noon\. \(Bells ! \[x\]\(y\) < img src=z>\.md\)/);
  });

  const WRONG: readonly (readonly [string, object, number, string | null])[] = [
    ["an unknown model", { ...ask("x"), model: "gpt-5" }, 404, "model"],
    ["no messages", { model: MODEL }, 400, "messages"],
    ["messages that are none", { model: MODEL, messages: "x" }, 400, "messages"],
    ["nobody asking", { model: MODEL, messages: [{ role: "system", content: "x" }] }, 400, "messages"],
    ["several answers", { ...ask("x"), n: 2 }, 400, "n"],
  ];
  for (const [about, body, status, param] of WRONG) {
    test(`${about} is refused`, async () => {
      const reply = await at.ask("POST", "/chat/completions", body);
      assert.deepEqual([reply.status, (reply.json["error"] as { param: unknown }).param], [status, param]);
    });
  }

  test("with several stores the setting says which, or the client is told", async () => {
    await at.fill({ "Other.md": "# Other\n" });
    const reply = await at.ask("POST", "/chat/completions", ask("hotel"));
    assert.equal(reply.status, 400);
  });

  test("responses are listed, newest first, page by page", async () => {
    const ids: string[] = [];
    for (const input of ["one", "two", "three"])
      ids.unshift((await at.client.responses.create({ model: MODEL, input })).id);
    const page = async (query: string): Promise<string[]> => {
      const { status, json } = await at.ask("GET", `/responses?${query}`);
      assert.equal(status, 200);
      return (json["data"] as { id: string }[]).map(({ id }) => id);
    };
    assert.deepEqual(await page("limit=100"), ids);
    assert.deepEqual(await page("limit=2"), ids.slice(0, 2));
    assert.deepEqual(await page(`after=${ids[1]}`), ids.slice(2));
    assert.deepEqual(await page("order=asc&limit=1"), ids.slice(-1));
    assert.equal((await at.ask("GET", "/responses?after=resp_none")).status, 400);
    assert.equal((await at.ask("GET", "/responses?limit=0")).status, 400);
  });
});
