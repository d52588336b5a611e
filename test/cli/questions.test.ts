// `lockstep questions` writes, makes and asks the questions of a domain, and says what a crawl holds because of them.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { FolderStage } from "../engine/folder-stage.ts";
import type { Called } from "./call-here.ts";
import { startCommands } from "./start-commands.ts";

const CITIES = ["Aalen", "Bonn", "Celle", "Dessau", "Emden", "Fulda", "Gera", "Hof", "Jena", "Kiel", "Lahr", "Mainz"];

describe("lockstep questions", () => {
  let stage: FolderStage;
  before(async () => {
    stage = await FolderStage.open();
    for (const city of CITIES)
      await stage.write(`${city}.md`, `# ${city}\n\nThe mayor of ${city} lives beside the town hall.`);
    await stage.write("twice/Bonn.md", "Another one.");
    await stage.crawl();
  });
  const commands = startCommands(() => stage.storage);
  after(async () => {
    await commands.end();
    await stage.close();
  });
  const run = (...args: string[]): Promise<Called> => commands.call(args, stage.settings);

  it("adds, makes, asks, removes, and gives them as JSON that it takes again", async () => {
    const added = await run(
      "questions",
      "FOLDERS",
      "--add",
      "Where does the mayor of Kiel live?",
      "--document",
      "Kiel.md",
    );
    assert.deepEqual([added.code, added.err], [0, ""]);
    assert.match(added.out, /Where does the mayor of Kiel live\? → Kiel\.md\n1 question\. Crawls ask from 10 on\./);
    const made = await run("questions", "FOLDERS", "--make", "20");
    assert.match(made.err, /11 questions made/);
    const asked = await run("questions", "FOLDERS", "--ask");
    assert.deepEqual([asked.code, asked.out.split("\n").at(-2)], [0, "12 of 12 answered within the first 5."]);
    const json = (await run("questions", "FOLDERS", "--json")).out;
    const file = join(stage.storage, "q.json");
    await writeFile(file, json);
    assert.match(
      (await run("questions", "FOLDERS", "--remove", "where does the mayor of KIEL live?")).out,
      /11 questions/,
    );
    await run("questions", "FOLDERS", "--import", file);
    assert.equal((await run("questions", "FOLDERS", "--json")).out, json);
  });

  it("refuses what it cannot take, in a sentence, and changes nothing", async () => {
    const before = (await run("questions", "FOLDERS", "--json")).out;
    const bad = join(stage.storage, "bad.json");
    await writeFile(bad, '{"questions":[{"question":"A?","document":"x"},{"question":"a?","document":"y"}]}');
    const cases: readonly (readonly [args: string[], code: number, says: RegExp])[] = [
      [["--add", "Who?"], 2, /--add needs --document/],
      [["--add", "Who?", "--document", "none.md"], 2, /has no document 'none\.md'\. Give its path/],
      [["--add", "Who?", "--document", "Bonn.md", "--make", "3"], 2, /one of --add and --make/],
      [["--add", " ", "--document", "Kiel.md"], 2, /is empty/],
      [["--add", "x".repeat(501), "--document", "Kiel.md"], 2, /501 characters, of 500 allowed/],
      [["--remove", "Nobody asks this"], 2, /has no question 'Nobody asks this'/],
      [["--make", "0"], 2, /a number from 1 to 200/],
      [["--limits", "200,1"], 2, /'max_drop' must be percentage points from 0 to 100/],
      [["--import", bad], 2, /bad\.json' has no valid questions: 'a\?' is there twice/],
      [["--import", join(stage.storage, "none.json")], 2, /There is no file/],
      [["--words", "x"], 2, /--words belongs to --add/],
    ];
    for (const [args, code, says] of cases) {
      const called = await run("questions", "FOLDERS", ...args);
      assert.match(called.err, says, args.join(" "));
      assert.doesNotMatch(called.err, /^ {4}at /m);
      assert.equal(called.code, code, `${args.join(" ")}: ${called.err}`);
    }
    assert.equal((await run("questions", "FOLDERS", "--json")).out, before);
    assert.match((await run("questions", "NOWHERE")).err, /Domain 'NOWHERE' does not exist/);
  });

  it("says what a crawl held, and how it is confirmed; the doctor, too", async () => {
    for (const city of CITIES.slice(0, 5)) await stage.write(`${city}.md`, "Gone elsewhere.");
    const crawled = await run("crawl", "FOLDERS", "--scope", "folders");
    assert.equal(crawled.code, 1);
    assert.match(crawled.err + crawled.out, /5 additions and changes are held; removals were made/);
    const shown = await run("questions", "FOLDERS");
    assert.match(shown.out, /HELD since .*: 7 of 12 would be answered, 12 before; 5 additions and changes wait\.\n/);
    // Questions are made in the order of the documents' ids, which are random.
    assert.match(shown.out, /^ {2}lost: The mayor of Aalen .*\(Aalen\.md\)$/m);
    assert.match((await run("doctor", "FOLDERS")).out, /Questions: 5 additions and changes are held/);
    const how = /lockstep (embed FOLDERS --confirm-worse)/.exec(shown.out)?.[1]?.split(" ") ?? [];
    assert.equal((await run(...how)).code, 0);
    assert.doesNotMatch((await run("questions", "FOLDERS")).out, /HELD/);
    assert.equal((await run("questions", "FOLDERS", "--ask")).code, 1);
  });
});
