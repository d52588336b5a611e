// Before a crawl becomes visible, the domain's questions are asked: what answers worse is held, what left is gone at once.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import { openQuestionStore } from "../../src/domains/question-store.ts";
import { DOCS, FOLDERS, FolderStage } from "./folder-stage.ts";

const BIRDS = [
  "heron",
  "ibis",
  "kestrel",
  "lapwing",
  "merlin",
  "nightjar",
  "osprey",
  "plover",
  "quail",
  "robin",
  "swift",
  "teal",
];

describe("the questions of a domain", () => {
  let stage: FolderStage;
  beforeEach(async () => {
    stage = await FolderStage.open();
    for (const bird of BIRDS)
      await stage.write(`${bird}.md`, `# ${bird}\n\nThe ${bird} lays ${bird.length} eggs in spring.`);
    await stage.tryCrawl();
    await writeQuestions({});
  });
  afterEach(() => stage.close());

  const fileOf = (name: string): string => join(stage.storage, "domains", FOLDERS, name);
  const writeQuestions = async (more: object): Promise<void> => {
    const questions = BIRDS.map((bird) => ({
      question: `How many eggs does the ${bird} lay?`,
      document: `${bird}.md`,
      words: ["eggs"],
    }));
    await writeFile(fileOf("questions.json"), JSON.stringify({ questions, ...more }));
  };
  const runs = async () => await openQuestionStore(join(stage.storage, "domains")).runs(FOLDERS);
  const finds = async (text: string): Promise<string[]> => {
    const { sources } = await stage.app.query({
      text,
      limit: 5,
      domainId: FOLDERS,
      vectorStoreId: undefined,
      using: "text",
    });
    return sources.map((source) => source.text);
  };
  /** Three documents lose what they were asked for; one goes; one is new. */
  const spoil = async (): Promise<void> => {
    for (const bird of BIRDS.slice(0, 3)) await stage.write(`${bird}.md`, "Moved to another place. Please look there.");
    await stage.remove("robin.md");
    await stage.write("wren.md", "The wren is new.");
  };

  test("hold what answers worse, and name what is lost; removals are made", async () => {
    await spoil();
    const { result, source } = await stage.tryCrawl();
    assert.equal(result.questions?.verdict, "held");
    assert.deepEqual(
      {
        asked: result.questions?.asked,
        before: result.questions?.before,
        after: result.questions?.after,
        retired: result.questions?.retired,
      },
      { asked: 11, before: 11, after: 8, retired: 1 },
    );
    assert.deepEqual(
      result.questions?.lost.map(({ document }) => document),
      ["heron.md", "ibis.md", "kestrel.md"],
    );
    assert.match(
      result.problems.join(),
      /8 of 11 are answered.*4 additions and changes are held; removals were made.*'How many eggs does the heron lay\?' \(heron\.md\).*confirm_worse=true/,
    );
    assert.deepEqual([source.embed.held, source.embed.added, source.embed.changed, source.embed.removed], [4, 0, 0, 1]);
    assert.match((await finds("heron eggs")).join(), /The heron lays 5 eggs/);
    assert.doesNotMatch((await finds("robin eggs")).join(), /robin/);
    assert.doesNotMatch((await finds("wren")).join(), /wren/);
    const [run] = await runs();
    assert.deepEqual([run?.verdict, run?.held, run?.after, run?.lost.length], ["held", 4, 8, 3]);
  });

  test("are asked again by every crawl, until it is confirmed: then nothing is embedded again", async () => {
    await spoil();
    await stage.tryCrawl();
    const again = await stage.tryCrawl();
    assert.equal(again.result.questions?.verdict, "held");
    const texts = await countTexts(stage);
    const { result } = await stage.tryCrawl({ steps: ["embed"], confirmWorse: true });
    assert.deepEqual(result.problems, []);
    assert.equal(result.questions?.verdict, "confirmed");
    assert.equal(await countTexts(stage), texts, "a text was cut and embedded again");
    assert.match((await finds("wren")).join(), /The wren is new/);
    assert.doesNotMatch((await finds("heron eggs")).join(), /The heron lays/);
    const after = await stage.tryCrawl();
    assert.deepEqual([after.result.questions, after.source.embed.unchanged], [undefined, 12]);
  });

  test("let a crawl pass that loses little, and one that comes right again", async () => {
    await stage.write("heron.md", "Moved to another place.");
    const little = await stage.tryCrawl();
    assert.equal(little.result.questions?.verdict, "passed");
    assert.match((await finds("moved")).join(), /Moved/);
    await spoil();
    await writeQuestions({ min_lost: 1, max_drop: 0 });
    assert.equal((await stage.tryCrawl()).result.questions?.verdict, "held");
    for (const bird of BIRDS)
      await stage.write(`${bird}.md`, `# ${bird}\n\nThe ${bird} lays ${bird.length} eggs in spring.`);
    const right = await stage.tryCrawl();
    assert.equal(right.result.questions?.verdict, "passed");
    assert.deepEqual(right.result.problems, []);
    assert.match((await finds("wren")).join(), /The wren is new/);
    assert.deepEqual(
      (await runs()).map(({ verdict }) => verdict),
      ["passed", "held", "passed"],
    );
  });

  test("follow a document that is renamed, and need ten", async () => {
    await stage.write("teal.md", `# teal\n\nThe teal lays 4 eggs in spring, and sings.`);
    await stage.tryCrawl();
    const text = await readFile(join(stage.root, "swift.md"), "utf8");
    await stage.remove("swift.md");
    await stage.write("birds/fast.md", text);
    assert.deepEqual((await stage.tryCrawl()).result.questions?.retired, 0);
    await stage.write("teal.md", "Nothing.");
    assert.equal((await stage.tryCrawl()).result.questions?.retired, 0);
    await writeFile(
      fileOf("questions.json"),
      JSON.stringify({ questions: [{ question: "Who?", document: "teal.md" }] }),
    );
    await stage.write("teal.md", "Nothing at all.");
    assert.equal((await stage.tryCrawl()).result.questions, undefined);
  });

  test("what is held stays until the next crawl, which replaces it", async () => {
    await spoil();
    await stage.tryCrawl();
    const open = (): Promise<readonly string[]> =>
      stage.index(async (index) => (await index.crawlDrafts?.listOpen()) ?? []);
    const [held, ...others] = await open();
    assert.ok(held && others.length === 0);
    await stage.tryCrawl({ sourceId: DOCS });
    assert.ok((await open()).includes(held), "a crawl of one source leaves it");
    await stage.tryCrawl({ scope: "all" });
    assert.ok(!(await open()).includes(held));
    await stage.tryCrawl({ scope: "all", confirmWorse: true });
    assert.deepEqual(await open(), []);
  });

  test("are asked of what watch mode and visibility=source bring, and before vectors that are learnt anew", async () => {
    await spoil();
    assert.equal((await stage.tryCrawl({ gathered: true })).result.questions?.verdict, "held");
    const { result, log } = await stage.tryCrawl({ visibility: "source" });
    assert.equal(result.questions?.verdict, "held");
    assert.match(log, /visibility=source does not apply/);
    for (let at = 0; at < 110; at += 1) await stage.write(`more/${at}.md`, `Note ${at} tells of trees and ponds.`);
    await stage.tryCrawl({ confirmWorse: true });
    const abouts = (await runs()).map(({ about, verdict }) => `${about} ${verdict}`);
    assert.deepEqual(abouts.slice(-2), ["crawl confirmed", "vectors passed"]);
  });

  test("are made from everywhere in the domain, however few", async () => {
    await writeFile(fileOf("questions.json"), "{}");
    const made = await stage.app.questions.make(FOLDERS, 3, new AbortController().signal);
    const all = (await stage.holdings()).map(({ itemId }) => itemId);
    const places = made.map(({ itemId }) => Math.floor((4 * all.indexOf(itemId as ItemId)) / all.length)).sort();
    assert.deepEqual(places, [0, 1, 2]);
  });

  test("are made of sentences, not of code, tables or headings", async () => {
    const fence = "```";
    await stage.write(
      "code/report.md",
      `# Quarterly report of the orchard accounts\n\n${fence}sql\nSELECT tree, sum(apples) FROM harvest WHERE orchard = 4 GROUP BY tree\n${fence}\n\n| Tree | Apples picked | Apples sold |\n| --- | --- | --- |\n| Old Boskoop by the pond | 40 | 38 |\n\nLadders are lent to neighbours.\n`,
    );
    await stage.write("code/query.txt", "SELECT pear, plum, quince FROM harvest WHERE orchard = 7 ORDER BY pear;\n");
    await stage.tryCrawl({ confirmWorse: true });
    await writeFile(fileOf("questions.json"), "{}");
    const made = await stage.app.questions.make(FOLDERS, 200, new AbortController().signal);
    const about = (path: string): string[] =>
      made.filter(({ document }) => document === path).map(({ question }) => question);
    assert.deepEqual(about("code/report.md"), ["Ladders are lent to neighbours"]);
    assert.deepEqual(about("code/query.txt"), []);
  });

  test("that cannot be read hold additions and changes, and say why", async () => {
    await writeFile(fileOf("questions.json"), '{"questions":[{"question":"Who?"}]}');
    await spoil();
    const { result } = await stage.tryCrawl();
    assert.match(
      result.problems.join(" "),
      /questions\.json cannot be read: question 1 \('Who\?'\) names no 'document'/,
    );
    assert.doesNotMatch((await finds("wren")).join(), /wren/);
    assert.doesNotMatch((await finds("robin eggs")).join(), /robin/);
  });
});

/** Texts that the index has or had: one that is made again has another number. */
async function countTexts(stage: FolderStage): Promise<string> {
  const { DatabaseSync } = await import("node:sqlite");
  const { vectorStoreId } = await stage.app.domains.get(FOLDERS);
  const database = new DatabaseSync(join(stage.storage, "index", `${vectorStoreId}.sqlite`), { readOnly: true });
  try {
    return String(database.prepare("SELECT next_chunk AS n FROM state").get()?.["n"]);
  } finally {
    database.close();
  }
}
