// `lockstep documents` lists, explains and compares documents, and prints nothing that a terminal obeys.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { plainLine } from "../../src/cli/plain-text.ts";
import { FolderStage } from "../engine/folder-stage.ts";

const CLI = fileURLToPath(new URL("../../bin/lockstep.mjs", import.meta.url));

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
  after(() => stage.close());

  async function run(...args: string[]): Promise<{ readonly out: string }> {
    const env = { HOME: stage.storage, ...stage.settings };
    const child = spawn(process.execPath, [CLI, "documents", ...args], {
      cwd: stage.storage,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let out = "";
    child.stdout.on("data", (bytes) => {
      out += bytes;
    });
    const [code] = (await once(child, "close")) as [number];
    assert.equal(code, 0);
    return { out };
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
