// The answer above the results is taken from the documents or written by the model, sentence by sentence, with its sources.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, afterEach, before, describe, test } from "node:test";
import { parseSseEvents } from "../../src/lib/sse.ts";
import type { Block } from "../../src/sandbox/seed/text-blocks.ts";
import { writePdf } from "../../src/sandbox/seed/write-pdf.ts";
import { ask } from "./ask.ts";
import { type ChatStage, HR, openChatStage } from "./chat-stage.ts";
import { type ScriptedService, startScriptedService } from "./scripted-service.ts";

interface AnswerJson {
  readonly answer: string;
  readonly written_by: string;
  readonly sentences: readonly {
    readonly text: string;
    readonly supported: boolean;
    readonly sources: readonly { readonly title: string; readonly url: string; readonly freshness: string }[];
  }[];
}

const VACATION = "How many vacation days does an employee have a year?";
const FOREIGN = "Who won the football world cup in 1998?";
const answerOf = async (at: ChatStage, query: string): Promise<AnswerJson> =>
  (await ask(at.url, `GET /v2/search/answer?${new URLSearchParams({ query })}`)).json["data"] as unknown as AnswerJson;
const pageOf = async (at: ChatStage, query: string): Promise<string> =>
  (await fetch(`${at.url}/v2/search?${new URLSearchParams({ query, format: "ui" })}`)).text();

describe("answers without a model", () => {
  let at: ChatStage;
  before(async () => {
    at = await openChatStage({ HR });
  });
  after(() => at?.close());

  test("are sentences of the documents, each with an address that opens at its passage", async () => {
    const { answer, written_by, sentences } = await answerOf(at, VACATION);
    assert.equal(written_by, "");
    assert.match(answer, /28 vacation days/);
    assert.ok(sentences.length <= 3);
    const [{ text, supported, sources } = assert.fail("no sentence")] = sentences;
    assert.equal(text, "Every employee has 28 vacation days a year.");
    assert.ok(supported);
    assert.equal(sources[0]?.title, "Vacation");
    assert.match(sources[0]?.freshness ?? "", /^source checked/);
    const page = await (await fetch(sources[0]?.url ?? "")).text();
    assert.match(page, /id="passage"[^>]*>[\s\S]*28 vacation days/);
  });

  test("the page shows them above the results, and says where they are from", async () => {
    const page = await pageOf(at, VACATION);
    const [above = "", below] = page.split('aria-label="Results"');
    assert.ok(below, "results follow");
    assert.match(
      above,
      /Every employee has 28 vacation days a year\.[\s\S]*\/v2\/documents\/read\?[^"]*passage=0[^"]*#passage/,
    );
    assert.match(above, /Taken from the documents, no language model/);
    assert.doesNotMatch(above, /data-stream/);
  });

  test("a question to which nothing answers gets that sentence, and the closest passages", async () => {
    const { answer, sentences } = await answerOf(at, FOREIGN);
    assert.deepEqual([answer, sentences], ["Nothing here answers this", []]);
    assert.match(await pageOf(at, FOREIGN), /<p class="nothing">Nothing here answers this<\/p>/);
    assert.match(
      await pageOf(at, "How many vacation days do astronauts on Mars get?"),
      /Nothing here answers this[\s\S]*Closest passages/,
    );
  });

  test("a question without words is refused, not answered", async () => {
    assert.equal((await ask(at.url, "GET /v2/search/answer?query=+")).status, 400);
  });
});

describe("answers with a model", () => {
  let service: ScriptedService;
  let at: ChatStage;
  let says = "";
  let asked = 0;
  let fails = false;
  before(async () => {
    service = await startScriptedService();
    service.answer = async (incoming, outgoing) => {
      await json(incoming);
      asked += 1;
      if (fails) {
        outgoing.writeHead(503, { "content-type": "application/json" }).end('{"error":{"message":"Overloaded."}}');
        return;
      }
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      for (const content of says) {
        outgoing.write(
          `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`,
        );
      }
      outgoing.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`);
      outgoing.end("data: [DONE]\n\n");
    };
    at = await openChatStage({ HR }, { OPENAI_DEFAULT_MODEL_NAME: "servant", OPENAI_BASE_URL: `${service.url}/v1` });
  });
  after(async () => {
    await at?.close();
    await service?.close();
  });
  afterEach(() => {
    asked = 0;
    fails = false;
  });

  test("every sentence has the passages it cites; one that cites none, or none that was sent, is marked", async () => {
    says =
      "You get 28 days 【1】. It is sunny. So says the law 【99】. Up to five, e.g. in March, carry over.【1】【2】 Enjoy.";
    const { written_by, sentences } = await answerOf(at, VACATION);
    assert.equal(written_by, "servant");
    assert.deepEqual(
      sentences.map(({ text, supported, sources }) => [text, supported, sources.length]),
      [
        ["You get 28 days.", true, 1],
        ["It is sunny.", false, 0],
        ["So says the law.", false, 0],
        ["Up to five, e.g. in March, carry over.", true, 2],
        ["Enjoy.", false, 0],
      ],
    );
    const page = await (
      await fetch(`${at.url}/v2/search/answer?${new URLSearchParams({ query: VACATION, format: "html" })}`)
    ).text();
    assert.match(page, /It is sunny\.[\s\S]{0,60}No source/);
    assert.match(page, /Written by servant/);
  });

  test("it comes as a stream, sentence by sentence, with an end", async () => {
    says = "You get 28 days 【1】. Enjoy.";
    const query = new URLSearchParams({ query: VACATION, format: "stream" });
    const events = parseSseEvents(await (await fetch(`${at.url}/v2/search/answer?${query}`)).text());
    assert.deepEqual(
      events.map(({ event, data }) => [event, JSON.parse(data).text ?? JSON.parse(data).result?.ok]),
      [
        ["start_json", undefined],
        ["sentence", "You get 28 days."],
        ["sentence", "Enjoy."],
        ["end_json", true],
      ],
    );
  });

  test("a model that finds nothing says so in the same words; and model=false does not ask it", async () => {
    says = "Nothing here answers this.";
    assert.deepEqual(await answerOf(at, VACATION).then(({ answer, sentences }) => [answer, sentences]), [
      "Nothing here answers this",
      [],
    ]);
    assert.equal(asked, 1);
    const { json: told } = await ask(
      at.url,
      `GET /v2/search/answer?${new URLSearchParams({ query: VACATION, model: "false" })}`,
    );
    assert.equal((told["data"] as unknown as AnswerJson).written_by, "");
    assert.equal(asked, 1);
  });

  test("the page has the sentences of the documents until the model writes, and still if it does not", async () => {
    const page = await pageOf(at, VACATION);
    assert.equal(asked, 0, "the page does not wait for it");
    assert.match(page, /data-stream="\/v2\/search\/answer\?query=[^"]*format=stream"/);
    assert.match(page, /Every employee has 28 vacation days a year\./);
    fails = true;
    const query = new URLSearchParams({ query: VACATION, format: "stream" });
    const end = parseSseEvents(await (await fetch(`${at.url}/v2/search/answer?${query}`)).text()).at(-1);
    assert.equal(end?.event, "end_json");
    assert.match(JSON.parse(end?.data ?? "{}").result.error, /Overloaded/);
    const response = await fetch(`${at.url}/v2/search/answer?${new URLSearchParams({ query: VACATION })}`);
    assert.equal(response.status, 502);
  });
});

/** Cellars of these names, all over the pages of a PDF whose passages span pages. */
const CELLARS = "Abel Borka Cirro Dunja Elvis Fabro Gitta Hovar Irmel Jolle Kasib Lumen Mirka Noldo Orval Pilar".split(
  " ",
);

function writeCellars(): { readonly pdf: Buffer; pageOf(name: string): number } {
  const blocks = CELLARS.flatMap((name, at): Block[] => [
    { kind: "paragraph", text: `${`Shelf ${at} is dusted and counted whenever somebody comes by. `.repeat(9 + at)}` },
    { kind: "paragraph", text: `The cellar of ${name} opens with the green key.` },
    { kind: "paragraph", text: `${`Crate ${at} stays closed until the harvest is over. `.repeat(14)}` },
  ]);
  const pdf = Buffer.from(writePdf(blocks, "Cellars"));
  const pages = pdf.toString("latin1").split("endstream");
  return { pdf, pageOf: (name) => pages.findIndex((content) => content.includes(name)) + 1 };
}

async function assertCited(at: ChatStage, name: string, page: number): Promise<void> {
  const { sentences } = await answerOf(at, `Which key opens the cellar of ${name}?`);
  const { sources } = sentences.find(({ text }) => text.includes(name)) ?? assert.fail(name);
  assert.equal(sources[0]?.title, `Cellars, page ${page}`);
  const hash = new URL(sources[0]?.url ?? "").hash;
  const read = await (await fetch(sources[0]?.url ?? "")).text();
  const opensAt = /^#page-(\d+)$/.exec(hash)?.[1] ?? /data-page="(\d+)" hidden/.exec(read)?.[1];
  assert.equal(Number(opensAt), page, `${name}: ${hash}`);
}

test("a sentence of a PDF is cited at its own page, wherever its passage begins", async (t) => {
  const { pdf, pageOf: pageIn } = writeCellars();
  const at = await openChatStage({ HR });
  t.after(() => at.close());
  await writeFile(join(at.folder, "HR", "cellars.pdf"), pdf);
  await at.crawl("HR");
  for (const name of CELLARS) await assertCited(at, name, pageIn(name));
});

test("so is what a model writes in words of its own", async (t) => {
  const { pdf, pageOf: pageIn } = writeCellars();
  const service = await startScriptedService();
  t.after(() => service.close());
  service.answer = async (incoming, outgoing) => {
    const { messages } = (await json(incoming)) as { messages: { content: string }[] };
    const name = /cellar of (\w+)\?/.exec(messages.at(-1)?.content ?? "")?.[1] ?? "";
    const number = messages[1]?.content.split(/(?=<passage-\w+ number)/).findIndex((one) => one.includes(name)) ?? 0;
    const content = `Green is the key to ${name}'s cellar 【${number + 1}】.`;
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ choices }));
  };
  const at = await openChatStage(
    { HR },
    { OPENAI_DEFAULT_MODEL_NAME: "servant", OPENAI_BASE_URL: `${service.url}/v1` },
  );
  t.after(() => at.close());
  await writeFile(join(at.folder, "HR", "cellars.pdf"), pdf);
  await at.crawl("HR");
  for (const name of CELLARS) await assertCited(at, name, pageIn(name));
});
