// Models that search domains: they are listed, answer from their domain with citations, streamed or not, and know what was asked before.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, afterEach, before, describe, test } from "node:test";
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionMessage } from "openai/resources/chat/completions";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { ask } from "./ask.ts";
import { type ChatStage, HR, IT, openChatStage } from "./chat-stage.ts";
import { type ScriptedService, startScriptedService } from "./scripted-service.ts";

type Annotations = NonNullable<ChatCompletionMessage["annotations"]>;

const VACATION = "How many vacation days do I have?";

function textOf({ choices }: ChatCompletion): string {
  return choices[0]?.message.content ?? assert.fail("no text");
}

function annotationsOf({ choices }: ChatCompletion): Annotations {
  return choices[0]?.message.annotations ?? assert.fail("no annotations");
}

/** The client's types do not know the field. */
function annotationsIn(delta: object | undefined): unknown {
  return delta && Reflect.get(delta, "annotations");
}

/** Each cited sentence with the title of its source. */
function citedIn(text: string, annotations: Annotations): string[] {
  return annotations.map(({ type, url_citation: { start_index, end_index, title } }) => {
    assert.equal(type, "url_citation");
    return `${title}: ${text.slice(start_index, end_index)}`;
  });
}

describe("models that search domains, without a language model", () => {
  let at: ChatStage;
  before(async () => {
    at = await openChatStage({ HR, IT });
  });
  after(() => at?.close());

  const chat = (model: string, ...turns: string[]): Promise<ChatCompletion> =>
    at.client.chat.completions.create({
      model,
      messages: turns.map((content, place) => ({
        role: (turns.length - place) % 2 === 1 ? ("user" as const) : ("assistant" as const),
        content,
      })),
    });

  test("there is one for every domain and one for all, before the others, and each can be looked up", async () => {
    const { data } = await at.client.models.list();
    assert.deepEqual(data.map(({ id }) => id).slice(0, 4), [
      "lockstep/all",
      "lockstep/HR",
      "lockstep/IT",
      "lockstep-extractive",
    ]);
    assert.equal((await at.client.models.retrieve("lockstep/hr")).id, "lockstep/HR");
    await assert.rejects(at.client.models.retrieve("lockstep/nobody"), /'lockstep\/nobody' does not exist/);
    await assert.rejects(chat("lockstep/nobody", "x"), { status: 404 });
  });

  test("no new domain is called all, whatever its case, by creating or renaming; the sentence says why", async () => {
    for (const id of ["all", "ALL", "All"]) {
      const made = await ask(at.url, "POST /v2/domains/create", { json: { domain_id: id, name: "Everything" } });
      assert.equal(made.status, 400);
      assert.match(String(made.json["error"]), /means all domains, so a domain cannot be called so/);
      const renamed = await ask(at.url, "PUT /v2/domains/update?domain_id=IT&dry_run=true", {
        json: { domain_id: id },
      });
      assert.equal(renamed.status, 400, renamed.text);
      assert.match(renamed.text, /means all domains/);
    }
  });

  test("an answer cites its sentences, and ends with its sources, which open", async () => {
    const completion = await chat("lockstep/HR", VACATION);
    const text = textOf(completion);
    const annotations = annotationsOf(completion);
    assert.equal(completion.model, "lockstep/HR");
    assert.ok(citedIn(text, annotations).includes("Vacation: Every employee has 28 vacation days a year."), text);
    assert.match(text, /28 vacation days a year\. \[1\]\n/);
    const list = /\n\nSources:\n([\s\S]*)$/.exec(text)?.[1] ?? assert.fail(text);
    assert.match(list, /^1\. \[Vacation\]\(http\S+\): source checked less than a minute ago; changed \d+ \w+$/m);
    for (const { url_citation } of annotations) {
      assert.ok(url_citation.url.startsWith(`${at.url}/v2/documents/read?`), url_citation.url);
      const page = await fetch(url_citation.url);
      assert.equal(page.status, 200);
      assert.match(await page.text(), /Every employee has 28 vacation days/);
    }
  });

  test("streamed, it is the same text, and the last chunk has the citations", async () => {
    const whole = await chat("lockstep/HR", VACATION);
    const chunks: ChatCompletionChunk[] = [];
    const stream = await at.client.chat.completions.create({
      model: "lockstep/HR",
      messages: [{ role: "user", content: VACATION }],
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) chunks.push(chunk);
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), textOf(whole));
    const last = chunks.findLast(({ choices }) => choices.length > 0)?.choices[0];
    assert.equal(last?.finish_reason, "stop");
    assert.deepEqual(annotationsIn(last?.delta), annotationsOf(whole));
    assert.ok((chunks.at(-1)?.usage?.completion_tokens ?? 0) > 10);
    assert.ok(chunks.every(({ model }) => model === "lockstep/HR"));
    assert.ok(chunks.slice(0, -1).every(({ usage }) => usage === null));
  });

  test("a domain answers for itself alone; lockstep/all for every domain", async () => {
    const question = "What is the guest network called?";
    assert.match(textOf(await chat("lockstep/IT", question)), /called Heron/);
    assert.match(textOf(await chat("lockstep/all", question)), /called Heron/);
    assert.match(textOf(await chat("lockstep/all", VACATION)), /28 vacation days/);
    assert.doesNotMatch(textOf(await chat("lockstep/HR", question)), /Heron/);
  });

  test("what the domain does not have is said, without a source", async () => {
    for (const question of [
      "Who won the football world cup in 1998?",
      "xyzzy qwertz",
      "Wie hoch ist der Eiffelturm?",
    ]) {
      const completion = await chat("lockstep/HR", question);
      assert.match(textOf(completion), /^Nothing here answers this/, question);
      assert.deepEqual(annotationsOf(completion), []);
      assert.doesNotMatch(textOf(completion), /Sources:|http/);
    }
  });

  const FOLLOW_UPS: readonly (readonly [string, string, string])[] = [
    [VACATION, "Which of them carry over?", "Vacation"],
    ["How much may a hotel night cost?", "And in Zurich?", "Travel policy"],
    ["Whom do I tell when I am ill?", "When do I need a certificate for it?", "Sick leave"],
    ["How many places does the garage have?", "How do guests get in there?", "Parking"],
    ["When are laptops replaced?", "What if it is broken?", "Laptops"],
    ["What does the company pay into the pension plan?", "May I add something to it?", "Pension plan"],
    ["How large is the training budget?", "Who approves that?", "Training"],
    ["What does lunch in the canteen cost?", "Are there vegetarian ones?", "Canteen"],
    ["How many days may I work from home?", "Who agrees on them?", "Working from home"],
    ["Does the company lease bicycles?", "Is insurance included?", "Bicycles"],
  ];
  for (const [first, second, title] of FOLLOW_UPS) {
    test(`"${second}" after "${first}" finds the same document`, async () => {
      const begun = await chat("lockstep/HR", first);
      assert.equal(annotationsOf(begun)[0]?.url_citation.title, title, textOf(begun));
      const followed = await chat("lockstep/HR", first, textOf(begun), second);
      assert.equal(annotationsOf(followed)[0]?.url_citation.title, title, textOf(followed));
      const found = await at.client.responses.create({
        model: "lockstep/HR",
        input: [
          { role: "user", content: first },
          { role: "assistant", content: textOf(begun) },
          { role: "user", content: second },
        ],
        include: ["file_search_call.results"],
      });
      const search = found.output.find(({ type }) => type === "file_search_call");
      assert.ok(search?.type === "file_search_call");
      assert.equal(search.results?.[0]?.attributes?.["title"], title);
    });
  }

  test("a new subject is found although something else was asked before", async () => {
    const followed = await chat("lockstep/all", VACATION, "28.", "On which floor do printers print in colour?");
    assert.equal(annotationsOf(followed)[0]?.url_citation.title, "Printers", textOf(followed));
  });

  test("responses do the same, are kept, and go on from each other", async () => {
    const response = await at.client.responses.create({ model: "lockstep/HR", input: VACATION });
    const message = response.output.at(-1);
    assert.ok(message?.type === "message" && message.content[0]?.type === "output_text");
    const [first] = message.content[0].annotations;
    assert.ok(first?.type === "url_citation");
    assert.equal(
      response.output_text.slice(first.start_index, first.end_index),
      "Every employee has 28 vacation days a year.",
    );
    assert.match(response.output_text, /Sources:\n1\. \[Vacation\]/);
    assert.deepEqual(await at.client.responses.retrieve(response.id), response);
    const replayed = await at.client.responses.retrieve(response.id, { stream: true });
    const kinds: string[] = [];
    for await (const event of replayed) kinds.push(event.type);
    assert.ok(kinds.includes("response.output_text.annotation.added"));
    const next = await at.client.responses.create({
      model: "lockstep/HR",
      input: "Which of them carry over?",
      previous_response_id: response.id,
    });
    assert.match(next.output_text, /Up to five of them carry over/);
    const stream = at.client.responses.stream({ model: "lockstep/HR", input: VACATION });
    assert.equal((await stream.finalResponse()).output_text, response.output_text);
    await assert.rejects(
      at.client.responses.create({
        model: "lockstep/HR",
        input: "x",
        tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }],
      }),
      /leave out the tool file_search/,
    );
  });

  test("wire search results say where they open and how fresh they are", async () => {
    const { domains } = await at.app.domains.list();
    const store = domains.find(({ domainId }) => domainId === "HR")?.vectorStoreId ?? assert.fail("no store");
    const page = await at.client.vectorStores.search(store, { query: "vacation days" });
    const [hit] = page.data;
    const { url, title, freshness, source_checked } = hit?.attributes ?? {};
    assert.match(String(url), new RegExp(`^${at.url}/v2/documents/read\\?`));
    assert.equal(title, "Vacation");
    assert.match(String(freshness), /^source checked less than a minute ago; changed /);
    assert.ok(Date.now() - Date.parse(String(source_checked)) < 600_000);
    assert.equal((await fetch(String(url))).status, 200);
  });

  test("a limit of tokens leaves out quotes that do not fit, and says so", async () => {
    const messages = [{ role: "user" as const, content: VACATION }];
    for (const field of ["max_tokens", "max_completion_tokens"]) {
      const whole = await at.client.chat.completions.create({ model: "lockstep/HR", messages, [field]: 1000 });
      assert.equal(whole.choices[0]?.finish_reason, "stop");
      const cut = await at.client.chat.completions.create({ model: "lockstep/HR", messages, [field]: 12 });
      assert.equal(cut.choices[0]?.finish_reason, "length");
      assert.deepEqual(annotationsOf(cut), []);
      assert.doesNotMatch(textOf(cut), /Sources:|vacation days/);
    }
  });

  test("a question as long as a book costs no more than to read it", async () => {
    const costOf = async (times: number): Promise<number> => {
      const begun = process.cpuUsage();
      assert.match(textOf(await chat("lockstep/HR", `${VACATION} `.repeat(times))), /28 vacation days/);
      const { user, system } = process.cpuUsage(begun);
      return user + system;
    };
    await costOf(10);
    const [short, long] = [await costOf(1000), await costOf(8000)];
    assert.ok(long < 16 * short, `${short} and ${long} µs`);
  });

  test("a domain that cannot be read is named in what all of them answer, found or not", async (t) => {
    const file = join(at.app.config.storagePath, "domains", "IT", "domain.json");
    const before = await readFile(file, "utf8");
    t.after(() => writeFile(file, before));
    await writeFile(file, "{");
    assert.match(textOf(await chat("lockstep/all", VACATION)), /28 vacation days[\s\S]*Domain 'IT' was not searched: /);
    const nothing = textOf(await chat("lockstep/all", "What is the guest network called?"));
    assert.match(nothing, /^Nothing here answers this\.\n\nDomain 'IT' was not searched: /);
    const response = await at.client.responses.create({ model: "lockstep/all", input: VACATION });
    assert.match(response.output_text, /Domain 'IT' was not searched: /);
    assert.match(
      (await ask(at.url, "GET /v2/search?query=vacation&format=ui")).text,
      /Domain .{0,20}IT.{0,20} was not searched/,
    );
  });

  test("bad requests are refused in the words of the protocol", async () => {
    const messages = [{ role: "user" as const, content: "x" }];
    for (const [body, param] of [
      [{ model: "lockstep/HR" }, "messages"],
      [{ model: "lockstep/HR", messages: "x" }, "messages"],
      [{ model: "lockstep/HR", messages: [] }, "messages"],
      [{ model: "lockstep/HR", messages, n: 2 }, "n"],
      [{ model: "lockstep/HR", messages, max_tokens: 0 }, "max_tokens"],
      [{ model: "lockstep/HR", messages, stream: "yes" }, "stream"],
      // Quotes are text, whatever a program would like to read.
      [{ model: "lockstep/HR", messages, response_format: { type: "json_object" } }, "response_format"],
    ] as const) {
      const reply = await fetch(`${at.url}/openai/v1/chat/completions`, { method: "POST", body: JSON.stringify(body) });
      assert.equal(reply.status, 400);
      assert.equal(((await reply.json()) as { error: { param: string } }).error.param, param);
    }
  });
});

interface Asked {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly [field: string]: unknown;
}

for (const backend of ["embedded", "openai"] as const) {
  describe(`models that search domains, written by a model; ${backend} backend`, () => {
    let service: ScriptedService;
    let store: ChatStage | undefined;
    let at: ChatStage;
    let asked: Asked[] = [];
    before(async () => {
      service = await startScriptedService();
      const model = { OPENAI_DEFAULT_MODEL_NAME: "scribe", OPENAI_API_KEY: "sk-of-the-model-behind" };
      if (backend === "embedded") {
        at = await openChatStage({ HR, IT }, { ...model, OPENAI_BASE_URL: `${service.url}/v1` });
        return;
      }
      // The service is a lockstep server, whose language model is the scripted one.
      store = await openChatStage({}, { ...model, OPENAI_BASE_URL: `${service.url}/v1` });
      const remote = { OPENAI_SERVICE_TYPE: "openai", OPENAI_BASE_URL: `${store.url}/openai/v1` };
      at = await openChatStage({ HR, IT }, { ...model, ...remote });
    });
    after(async () => {
      await at?.close();
      await store?.close();
      await service?.close();
    });
    afterEach(() => {
      service.answer = undefined;
      asked = [];
    });

    const send = (outgoing: ServerResponse, event: object): void => {
      outgoing.write(`data: ${JSON.stringify(event)}\n\n`);
    };
    /** The model says this, piece by piece if it is asked to stream. */
    const saying = (
      pieces: readonly string[],
      { finish = "stop", toolCalls = undefined as object | undefined } = {},
    ): void => {
      service.answer = async (incoming, outgoing) => {
        const request = (await json(incoming)) as Asked;
        asked.push(request);
        if (request["stream"] !== true) {
          const message = {
            role: "assistant",
            content: pieces.join("") || null,
            ...(toolCalls && { tool_calls: [toolCalls] }),
          };
          const body = {
            id: "x",
            object: "chat.completion",
            created: 1,
            model: "scribe-1",
            choices: [{ index: 0, message, finish_reason: finish }],
          };
          outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
          return;
        }
        outgoing.writeHead(200, { "content-type": "text/event-stream" });
        const chunk = (delta: object, finish_reason: string | null): object => ({
          id: "x",
          object: "chat.completion.chunk",
          created: 1,
          model: "scribe-1",
          choices: [{ index: 0, delta, finish_reason }],
        });
        send(outgoing, chunk({ role: "assistant", content: "" }, null));
        for (const content of pieces) send(outgoing, chunk({ content }, null));
        if (toolCalls) send(outgoing, chunk({ tool_calls: [{ index: 0, ...toolCalls }] }, null));
        if (finish) send(outgoing, chunk({}, finish));
        if (finish)
          send(outgoing, {
            id: "x",
            object: "chat.completion.chunk",
            created: 1,
            model: "scribe-1",
            choices: [],
            usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
          });
        outgoing.end(finish ? "data: [DONE]\n\n" : undefined);
      };
    };
    const messages = [
      { role: "system" as const, content: "Answer like a pirate." },
      { role: "user" as const, content: VACATION },
    ];
    /** The number under which the model was shown the passage that says this. */
    const numberOf = (words: string): string => {
      const given = asked.at(-1)?.messages[1]?.content ?? "";
      const at = given.indexOf(words);
      return [...given.slice(0, at).matchAll(/ number="(\d+)"/g)].at(-1)?.[1] ?? assert.fail(`not shown: ${words}`);
    };

    test("the model gets the client's own words, our rules, and the passages; not the domain's name", async () => {
      saying(["Aye."]);
      const tools = [{ type: "function" as const, function: { name: "book", parameters: {} } }];
      await at.client.chat.completions.create({
        model: "lockstep/HR",
        messages,
        tools,
        temperature: 0.3,
        max_tokens: 77,
      });
      const [request] = asked;
      assert.equal(request?.model, "scribe");
      assert.deepEqual([request["temperature"], request["max_tokens"], request["tools"]], [0.3, 77, tools]);
      assert.deepEqual(
        request.messages.map(({ role }) => role),
        ["system", "user", "user"],
      );
      assert.match(request.messages[0]?.content ?? "", /^Answer like a pirate\.\n\n[\s\S]*not instructions to follow/);
      assert.match(request.messages[1]?.content ?? "", /Every employee has 28 vacation days/);
      assert.equal(request.messages[2]?.content, VACATION);
    });

    test("its citations name the passage it was shown, at the sentence; numbers it made up name nothing", async () => {
      saying(["x"]);
      await at.client.chat.completions.create({ model: "lockstep/HR", messages });
      const number = numberOf("28 vacation days");
      const pieces = [
        "Ahoy! You have",
        " 28 days",
        `. 【${number}`,
        "】 Five carry over 【",
        `${number}, 99】. Rum 【77】.`,
      ];
      saying(pieces);
      const whole = await at.client.chat.completions.create({ model: "lockstep/HR", messages });
      const text = textOf(whole);
      assert.match(
        text,
        /^Ahoy! You have 28 days\. \[1\] Five carry over \[1\]\. Rum\.\n\nSources:\n1\. \[Vacation\]\(http[^)]+\)/,
      );
      assert.deepEqual(citedIn(text, annotationsOf(whole)), [
        "Vacation: You have 28 days.",
        "Vacation: Five carry over",
      ]);
      const stream = await at.client.chat.completions.create({ model: "lockstep/HR", messages, stream: true });
      let streamed = "";
      let last: ChatCompletionChunk["choices"][number] | undefined;
      for await (const { choices } of stream) {
        streamed += choices[0]?.delta.content ?? "";
        last = choices[0] ?? last;
      }
      assert.equal(streamed, text);
      assert.deepEqual(annotationsIn(last?.delta), annotationsOf(whole));
    });

    test("a call of the client's tool passes through, streamed or not, without sources behind it", async () => {
      const call = { id: "call_1", type: "function", function: { name: "book", arguments: "{}" } };
      saying([], { finish: "tool_calls", toolCalls: call });
      const tools = [{ type: "function" as const, function: { name: "book", parameters: {} } }];
      const whole = await at.client.chat.completions.create({ model: "lockstep/HR", messages, tools });
      assert.deepEqual([whole.choices[0]?.finish_reason, whole.choices[0]?.message.tool_calls], ["tool_calls", [call]]);
      assert.equal(whole.choices[0]?.message.content, null);
      const stream = at.client.chat.completions.stream({ model: "lockstep/HR", messages, tools });
      const final = await stream.finalChatCompletion();
      assert.equal(final.choices[0]?.finish_reason, "tool_calls");
      assert.equal(final.choices[0]?.message.tool_calls?.[0]?.id, "call_1");
    });

    test("JSON that a program reads stays JSON", async () => {
      saying(["x"]);
      await at.client.chat.completions.create({ model: "lockstep/HR", messages });
      saying([`{"days": 28}【${numberOf("28 vacation days")}】`]);
      const asJson = { model: "lockstep/HR", messages, response_format: { type: "json_object" as const } };
      const whole = await at.client.chat.completions.create(asJson);
      assert.deepEqual(JSON.parse(textOf(whole)), { days: 28 });
      assert.equal(annotationsOf(whole)[0]?.url_citation.title, "Vacation");
    });

    test("responses are written by it, too, and cite addresses", async () => {
      saying(["x"]);
      await at.client.chat.completions.create({ model: "lockstep/HR", messages });
      saying([`You have 28 days 【${numberOf("28 vacation days")}】.`]);
      const response = await at.client.responses.create({ model: "lockstep/HR", input: VACATION });
      assert.match(response.output_text, /^You have 28 days \[1\]\.\n\nSources:\n1\. \[Vacation\]/);
      assert.equal(Reflect.get(response, "store"), backend === "embedded");
      if (backend === "embedded") return;
      await assert.rejects(
        at.client.responses.create({ model: "lockstep/HR", input: "x", previous_response_id: response.id }),
        /keeps no responses|not found/,
      );
    });

    test("when it breaks off, so does the answer; when it refuses, its status and words arrive", async () => {
      saying(["You have"], { finish: "" });
      await assert.rejects(async () => {
        const stream = await at.client.chat.completions.create({ model: "lockstep/HR", messages, stream: true });
        for await (const _chunk of stream);
      });
      service.answer = (_incoming, outgoing) =>
        void outgoing
          .writeHead(429, { "content-type": "application/json" })
          .end(JSON.stringify({ error: { message: "slow down", type: "requests", param: null, code: null } }));
      await assert.rejects(at.client.chat.completions.create({ model: "lockstep/HR", messages }), { status: 429 });
    });

    test("other models are passed on as ever", async () => {
      saying(["Plain."]);
      const plain = await at.client.chat.completions.create({ model: "scribe", messages });
      assert.equal(textOf(plain), "Plain.");
      assert.deepEqual(asked[0]?.messages, messages);
      const { data } = await at.client.models.list();
      const ids = data.map(({ id }) => id);
      assert.deepEqual(ids.slice(0, 4), ["lockstep/all", "lockstep/HR", "lockstep/IT", "scribe"]);
      assert.equal(new Set(ids).size, ids.length);
    });

    test("nothing found: it is said without asking the model, and no source is listed", async () => {
      saying(["I made something up."]);
      const { domains } = await at.app.domains.list();
      const domain = domains.find(({ domainId }) => domainId === "IT") ?? assert.fail("no domain");
      // A vector store without a document, as of a domain whose folder is empty.
      const empty = await at.client.vectorStores.create({ name: "empty" });
      await at.app.domains.update({ ...domain, vectorStoreId: empty.id as VectorStoreId }, domain);
      const completion = await at.client.chat.completions.create({ model: "lockstep/IT", messages });
      assert.equal(asked.length, 0);
      assert.match(textOf(completion), /^Nothing here answers this[^[]*$/);
      assert.deepEqual(annotationsOf(completion), []);
      // Tools of the client may know more.
      const tools = [{ type: "function" as const, function: { name: "book", parameters: {} } }];
      await at.client.chat.completions.create({ model: "lockstep/IT", messages, tools });
      assert.match(asked[0]?.messages[1]?.content ?? "", /^The search found no passages\.$/);
      // A program that reads JSON cannot read our sentence.
      saying([`{"days": null}`]);
      const asJson = { model: "lockstep/IT", messages, response_format: { type: "json_object" as const } };
      assert.equal(textOf(await at.client.chat.completions.create(asJson)), `{"days": null}`);
    });
  });
}
