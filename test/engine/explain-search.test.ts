// What explains a result has the numbers of the search: place and score are equal, whatever is asked for and however much is wanted.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { DocumentExplanation } from "../../src/engine/explain/explain.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";

const WORDS = [
  "ibex",
  "river",
  "bridge",
  "invoice",
  "harbour",
  "violin",
  "garden",
  "winter",
  "payroll",
  "castle",
  "otter",
  "train",
];

/** A generator of its own, so that a failure can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("an explanation beside its search", () => {
  let stage: FolderStage;
  const next = random(7);
  const pick = (count: number): string =>
    Array.from({ length: count }, () => WORDS[Math.floor(next() * WORDS.length)]).join(" ");
  before(async () => {
    stage = await FolderStage.open();
    for (let at = 0; at < 60; at += 1) {
      const parts = Array.from({ length: 1 + (at % 4) }, (_, part) => `## Part ${part}\n\n${pick(30)}.`);
      await stage.write(`${at % 3}/note-${at}.md`, `# Note ${at} ${pick(1)}\n\n${parts.join("\n\n")}`);
    }
    await stage.write("twin.md", "A passage that two have.");
    await stage.write("other/twin.md", "A passage that two have.");
    await stage.write("picture.xyz", "no document");
    await stage.crawl();
  });
  after(() => stage.close());
  const explain = async (
    query: string,
    document: string,
    limit: number,
  ): Promise<DocumentExplanation["documents"][number]> => {
    const { documents } = await stage.app.explainDocument({ domainId: FOLDERS, query, document, limit });
    return documents[0] ?? assert.fail("nothing was explained");
  };

  test("60 random pairs of question and document", async () => {
    let found = 0;
    for (let pair = 0; pair < 60; pair += 1) {
      const query = pick(1 + Math.floor(next() * 3));
      const limit = [1, 5, 10, 50][pair % 4] ?? 10;
      const { sources } = await stage.app.query({ text: query, limit, domainId: FOLDERS, vectorStoreId: undefined });
      const path = `${pair % 3}/note-${(pair * 7) % 60}.md`;
      const document = pair % 2 === 0 ? (sources.at(Math.floor(next() * sources.length))?.details?.path ?? path) : path;
      if (!document.startsWith(`${Number(/note-(\d+)/.exec(document)?.[1]) % 3}/`)) continue;
      const at = sources.findIndex(({ details }) => details?.path === document);
      const { place, score } = await explain(query, document, limit);
      const expected = at < 0 ? [null, null] : [at + 1, sources[at]?.score];
      assert.deepEqual([place, score], expected, `'${query}', ${document}, ${limit}`);
      if (place !== null) found += 1;
    }
    assert.ok(found > 18, `${found} were found`);
  });

  test("a passage that two share has the place of the one that stands for it", async () => {
    for (const document of ["twin.md", "other/twin.md"]) {
      assert.deepEqual((await explain("passage that two have", document, 10)).place, 1, document);
    }
  });

  test("a file that is left out is told so first", async () => {
    const { verdict, place } = await explain("no document", "picture.xyz", 10);
    assert.equal(verdict, "Files of type 'xyz' are not taken in.");
    assert.equal(place, null);
    const again = await stage.crawl();
    assert.equal(again.source.download.skipped, 1);
  });
});
