// Readers say what they think of answers; what was asked in vain is listed for those who look after the domain, and for nobody else.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { FileId } from "../../src/contracts/ids.ts";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { ask, type Reading, type Reply } from "./ask.ts";

const NONSENSE = "Zxqvwy kjhgtr plmnbv?";

describe("feedback", () => {
  let stage: FolderStage;
  let server: RunningServer;
  const keys = new Map<string, string>();
  before(async () => {
    stage = await FolderStage.open();
    await stage.write("vacation.md", "# Vacation\n\nEverybody has thirty days of vacation a year.");
    await stage.write("parking permits.pdf", "%PDF-1.4 cut off");
    await stage.tryCrawl();
    for (const [name, role] of [
      ["ada", "admin"],
      ["ben", "read"],
      ["cleo", "read"],
    ] as const) {
      keys.set(name, (await stage.app.access.keys.create({ name, role, expiresAt: "" })).key);
    }
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
  });
  after(async () => {
    await server.close();
    await stage.close();
  });

  const as = (who: string, what: string, json?: object): Promise<Reply> =>
    ask(server.url, what, { headers: { authorization: `Bearer ${keys.get(who)}` }, ...(json && { json }) });
  const vote = (who: string, given: object): Promise<Reply> =>
    as(who, "POST /v2/feedback", {
      domain_id: FOLDERS,
      question: "How many days?",
      answer: "Thirty.",
      ...given,
    });
  const list = async (): Promise<Reading> =>
    (await as("ada", `GET /v2/domains/feedback?domain_id=${FOLDERS}`)).json["data"] as Reading;
  const questions = async (): Promise<Reading[]> => (await list())["questions"] as unknown as Reading[];

  it("takes one vote of each person on an answer, which can be changed and taken back", async () => {
    for (const given of ["up", "down", "down"]) assert.equal((await vote("ben", { vote: given })).status, 200);
    assert.equal((await vote("cleo", { vote: "down", question: "how many DAYS" })).status, 200);
    const [one, ...others] = await questions();
    assert.deepEqual([one?.["down"], one?.["people"], others], [2, 2, []]);
    assert.deepEqual(one?.["answers_voted_down"], ["Thirty."]);
    assert.match(String(one?.["advice"]), /cited may be wrong or outdated/);
    await vote("ben", { vote: "up" });
    assert.deepEqual([(await list())["up"], (await list())["down"]], [1, 1]);
    await vote("cleo", { vote: "none" });
    assert.deepEqual(await questions(), [], "nobody is against it any more");
  });

  it("lists what found nothing, by whoever asked, with failed files that may have it; the command line and narrowed searches do not count", async () => {
    for (const who of ["ben", "ben", "cleo"]) {
      const { json } = await as(
        who,
        `GET /v2/search?query=${encodeURIComponent(NONSENSE)}&domain_id=${FOLDERS}&using=text`,
      );
      assert.deepEqual(json["data"]?.["results"], []);
    }
    assert.deepEqual(await questions(), [], "narrowed");
    // Texts without any known word are found by their meaning, if at all: an empty domain finds nothing.
    await stage.app.feedback.noteNothing(NONSENSE, [FOLDERS], "key:ben");
    await stage.app.feedback.noteNothing(NONSENSE, [FOLDERS], "key:ben");
    await stage.app.feedback.noteNothing("Where do I get a parking permit?", [FOLDERS], "key:cleo");
    const found = await questions();
    assert.deepEqual(found.map(({ question, times }) => [question, times]).sort(), [
      ["Where do I get a parking permit?", 1],
      [NONSENSE, 2],
    ]);
    const parking = found.find(({ question }) => String(question).includes("parking"));
    const [candidate] = (parking?.["candidates"] ?? []) as unknown as Reading[];
    assert.equal(candidate?.["path"], "parking permits.pdf");
    assert.match(String(parking?.["advice"]), /has failed: make it readable/);
    const other = found.find(({ question }) => String(question) === NONSENSE);
    assert.match(String(other?.["advice"]), /Nothing that was crawled says it/);
    const page = await as("ada", `GET /v2/domains/feedback?domain_id=${FOLDERS}&format=html`);
    assert.match(page.text, /Where do I get a parking permit\?[\s\S]*parking permits\.pdf/);
  });

  it("shows questions to nobody who only reads, and keeps neither names nor what was asked in the audit log", async () => {
    for (const format of ["json", "html"]) {
      const refused = await as("ben", `GET /v2/domains/feedback?domain_id=${FOLDERS}&format=${format}`);
      assert.equal(refused.status, 403);
      assert.doesNotMatch(refused.text, /parking/);
    }
    assert.equal((await as("ben", `POST /v2/domains/feedback/dismiss?domain_id=${FOLDERS}&question=x`)).status, 403);
    assert.doesNotMatch(JSON.stringify(await list()), /ben|cleo/);
    const audit = await as("ada", "GET /v2/audit?filter=feedback");
    assert.match(audit.text, /left out/);
    assert.doesNotMatch(audit.text, /How many days|Thirty/);
  });

  it("takes a question off the list, and refuses what is wrong in a sentence", async () => {
    const dismiss = (question: string): Promise<Reply> =>
      as("ada", `POST /v2/domains/feedback/dismiss?${new URLSearchParams({ domain_id: FOLDERS, question })}`);
    assert.equal((await dismiss(NONSENSE.toLowerCase())).status, 200);
    assert.equal((await questions()).length, 1);
    const again = await dismiss(NONSENSE);
    assert.deepEqual(
      [again.status, again.json["error"]],
      [404, `Domain '${FOLDERS}' has no such question on its list.`],
    );
    assert.match(String((await vote("ben", { vote: "sideways" })).json["error"]), /'vote'/);
    assert.equal((await vote("ben", { vote: "up", domain_id: "NOWHERE" })).status, 404);
    assert.equal((await vote("ben", { vote: "up", question: " " })).status, 400);
  });

  it("forgets after 90 days, and keeps the newest 2,000", async () => {
    stage.later(91 * 24);
    await stage.app.feedback.noteNothing("A new one?", [FOLDERS], "key:ben");
    assert.deepEqual(
      (await questions()).map(({ question }) => question),
      ["A new one?"],
    );
    const keep = { since: "", most: 2 };
    await stage.withLedgers(async ({ feedback }) => {
      for (const at of ["3", "1", "2"]) {
        const row = { id: at, vote: 0, question: at, answer: "", fileIds: [], at: `9999-01-0${at}` } as const;
        await feedback.put(FOLDERS, row, keep);
      }
      assert.deepEqual(
        (await feedback.of(FOLDERS)).map(({ id }) => id),
        ["3", "2"],
      );
    });
  });

  it("is erased where it names, cites or quotes an erased document", async () => {
    await stage.app.feedback.dismiss(FOLDERS, "2");
    await stage.app.feedback.dismiss(FOLDERS, "3");
    const fileId = (await stage.holdings()).find(({ path }) => path === "vacation.md")?.fileId as FileId;
    const quote = "Is it true that everybody has thirty days of vacation a year?";
    await vote("ben", { vote: "down", question: quote, answer: "" });
    await vote("ben", { vote: "down", question: "Second?", answer: "Everybody has thirty days of vacation a year." });
    await vote("ben", { vote: "down", question: "Third?", answer: "See there.", file_ids: `file-x, ${fileId}` });
    await vote("ben", { vote: "down", question: "Another thing?", answer: "No." });
    assert.equal((await questions()).length, 4);
    const erased = await as("ada", `POST /v2/documents/erase?domain_id=${FOLDERS}&document=vacation.md`);
    assert.equal(erased.status, 200, erased.text);
    assert.deepEqual(
      (await questions()).map(({ question }) => question),
      ["Another thing?"],
    );
  });
});
