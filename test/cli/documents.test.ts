// `lockstep documents` lists, explains and compares documents, and prints nothing that a terminal obeys.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { plainLine } from "../../src/cli/terminal-text.ts";
import { FolderStage } from "../engine/folder-stage.ts";
import type { Called } from "./call-here.ts";
import { startCommands } from "./start-commands.ts";

describe("lockstep documents", () => {
  let stage: FolderStage;
  before(async () => {
    stage = await FolderStage.open();
    await stage.write("handbook/travel.md", "# Travel\n\nBy plane.\n");
    await stage.write("gone.txt", "Soon gone.");
    await stage.crawl();
    await stage.write("handbook/travel.md", "# Travel\n\n    By \u001b[31mtrain.\n");
    await stage.remove("gone.txt");
    await stage.crawl();
  });
  const commands = startCommands(() => stage.storage);
  after(async () => {
    await commands.end();
    await stage.close();
  });

  async function run(...args: string[]): Promise<Called> {
    const called = await commands.call(["documents", ...args], stage.settings);
    assert.deepEqual([called.code, called.err], [0, ""]);
    return called;
  }

  it("lists, tells and compares, in words for people", async () => {
    const [listed, one, changed] = await Promise.all([
      run("FOLDERS", "--status", "missing"),
      run("FOLDERS", "handbook/travel.md"),
      run("FOLDERS", "handbook/travel.md", "--difference", "v1..v2"),
    ]);
    assert.match(listed.out, /^missing +[-\d]{10} [:\d]{5} {2}doc_\w+ {2}gone\.txt\n1 document\.\n$/);
    const { docId } = await stage.document("handbook/travel.md");
    assert.match(one.out, new RegExp(`^Document +${docId}$`, "m"));
    assert.match(one.out, /^2 versions\n {2}v1 .*\n {2}v2 .*\nHistory\n {2}\S+ {2}found\n {2}\S+ {2}edited$/m);
    const [sections, before] = await Promise.all([
      run("FOLDERS", "travel.md", "--sections"),
      run("FOLDERS", "handbook/travel.md", "--sections", "--generation", "1", "--json"),
    ]);
    assert.match(
      sections.out,
      /^[-0-9a-f]{36}\n\n?[-0-9a-f]{36} {2}# Travel\n +By {2}?\[31mtrain\.\n\n2 sections of handbook\/travel\.md\.$/m,
    );
    const json = JSON.parse(before.out) as { sections: { content: string }[]; total: number };
    assert.deepEqual([json.sections[1]?.content, json.total], ["By plane.", 2]);
    const alone = await commands.call(["documents", "FOLDERS", "--sections"], stage.settings);
    assert.match(alone.err, /--sections needs a document/);
    assert.match(changed.out, /^-By plane\.\n\+ {4}By {2}?\[31mtrain\.$/m, "indented, and without an escape sequence");
  });
});

it("a line of a text keeps its indentation on a terminal, and nothing that a terminal obeys", () => {
  assert.deepEqual(["    return 1", "\t\tx = \u001b[31mred\u0007", ""].map(plainLine), [
    "    return 1",
    "\t\tx =  [31mred",
    "",
  ]);
});
