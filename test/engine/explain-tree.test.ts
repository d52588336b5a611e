// The explanation of a file in a folder says why a search finds it or does not.
import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import type { ExplainedDocument } from "../../src/engine/explain/explain.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";

describe("why a file of a folder is, or is not, found", () => {
  let stage: FolderStage;
  before(async () => {
    stage = await FolderStage.open({ source: { exclude: ["drafts/**"] } });
    await stage.write("notes.md", "The kestrel hovers above the meadow.");
    await stage.write("lamp.md", "Lamps are filled with whale oil no more.");
    await stage.write("drafts/plan.md", "A plan that nobody should find.");
    await stage.crawl();
    await stage.rename("notes.md", "Birds/kestrel.md");
    await stage.remove("lamp.md");
    await stage.crawl();
  });
  after(() => stage.close());

  const explain = async (document: string, query = "kestrel"): Promise<ExplainedDocument> => {
    const { documents } = await stage.app.explainDocument({ domainId: FOLDERS, query, document });
    assert.equal(documents.length, 1, JSON.stringify(documents));
    return documents[0] ?? assert.fail();
  };
  const atSource = ({ stages }: ExplainedDocument): string => stages[0]?.detail ?? "";

  test("one that moved says where it came from, and is found", async () => {
    const found = await explain("kestrel.md");
    assert.match(found.verdict, /^Found at place 1/);
    assert.match(atSource(found), /came from 'notes\.md' .* UTC, as the same document\./);
  });

  test("one that is missing says since when, and how long it is kept", async () => {
    for (const called of ["lamp.md", "LAMP.md", stage.at("lamp.md")]) {
      const { sourceId, path, verdict, stages } = await explain(called);
      assert.deepEqual([sourceId, path], ["docs", "lamp.md"]);
      assert.match(verdict, /^It is missing since \d{4}-\d\d-\d\d .*: it was at 'lamp\.md'/);
      assert.match(stages[0]?.detail ?? "", /missing for 24 hours and in 3 complete crawls \(1 so far\)/);
      assert.deepEqual(stages.map(({ outcome }) => outcome).slice(1), ["not reached", "not reached", "not reached"]);
    }
  });

  test("one that is left out by a rule, or by its type, says that", async () => {
    assert.match(atSource(await explain("drafts/plan.md")), /The rules of 'docs' \(.*\) leave out a file of that name/);
    assert.match(atSource(await explain("photo.xyz")), /Files of type 'xyz' are not taken in/);
    assert.match(atSource(await explain("elsewhere.md")), /the log of a crawl says so/);
  });

  test("one that is left out for its size, as a link, or by git, says that", async () => {
    const config = { exclude: ["drafts/**"], maxFileBytes: 2 ** 20 };
    const other = await FolderStage.open({ source: config });
    try {
      await other.write("notes.md", "The kestrel hovers.");
      await other.write("deep/large.md", "kestrel ".repeat(200_000));
      await symlink(other.at("notes.md"), other.at("link.md"));
      await other.crawl();
      const sayOf = async (document: string): Promise<string> =>
        (await other.app.explainDocument({ domainId: FOLDERS, query: "kestrel", document })).documents[0]?.verdict ??
        "";
      assert.match(
        await sayOf("deep/large.md"),
        /^'docs' leaves it out: It has 1600000 bytes; the limit is 1048576\.$/,
      );
      assert.match(await sayOf("link.md"), /^'docs' leaves it out: It is a link/);
      assert.doesNotMatch(await sayOf("../outside.md"), /leaves it out/);
    } finally {
      await other.close();
    }
    const ignoring = await FolderStage.open({ source: { gitignore: true } });
    try {
      await ignoring.write(".gitignore", "logs/\n*.log.md\n");
      await ignoring.write("notes.md", "The kestrel hovers.");
      await ignoring.write("a.log.md", "kestrel");
      await ignoring.write("logs/b.md", "kestrel");
      await ignoring.crawl();
      for (const document of ["a.log.md", "logs/b.md"]) {
        const { documents } = await ignoring.app.explainDocument({ domainId: FOLDERS, query: "kestrel", document });
        assert.match(documents[0]?.verdict ?? "", /^'docs' leaves it out: A \.gitignore names it/, document);
      }
    } finally {
      await ignoring.close();
    }
  });

  test("one that cannot be read says why, and is found all the same", async () => {
    const entry = await stage.document("Birds/kestrel.md");
    await stage.withLedgers(async (ledgers) => {
      const ledger = await ledgers.open({ domainId: FOLDERS, config: stage.config }, { readOnly: false });
      ledger.manifest.put({ ...entry, status: "error", error: "another program has locked it", retryCount: 2 });
      await ledger.close();
    });
    const found = await explain("kestrel.md");
    assert.match(found.verdict, /^Found at place 1/);
    assert.match(atSource(found), /could not be read 2 times in a row: another program has locked it\. Every crawl/);
  });

  test("one that was purged says when, and what brings it back", async () => {
    await stage.expireGenerations();
    const { verdict, stages } = await explain("lamp.md");
    assert.match(verdict, /was missing for longer than the grace period, and was purged/);
    assert.match(stages[0]?.detail ?? "", /If its file is restored, the next crawl brings it back/);
  });
});
