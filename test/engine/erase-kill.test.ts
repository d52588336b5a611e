// An erasing that is killed at any moment is finished by the next crawl, and says so until then.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findMarker } from "./find-marker.ts";
import { killChild } from "./folder-killer.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";

const MARKER = "zyxquorvix";
const TEXT = `# Pay\n\nThe ${MARKER} payroll of the harbour office was forty two thousand crowns in the year of the flood.`;

let stage: FolderStage;
before(async () => {
  stage = await FolderStage.open();
  await stage.write("ibex.md", "# Ibex\n\nAn ibex climbs the steep walls of the valley.");
  await stage.write(`hr/${MARKER}.md`, TEXT);
  await stage.crawl();
});
after(() => stage.close());

async function search(): Promise<{ readonly names: readonly string[]; readonly notes: string }> {
  const asked = { text: `${MARKER} payroll`, limit: 10, domainId: FOLDERS, vectorStoreId: undefined };
  const { sources, notes = [] } = await stage.app.query(asked);
  return { names: sources.map(({ name }) => name), notes: notes.join(" ") };
}

// The 1st line says that it begins, the 2nd that the intent is there; then a line for each place.
for (const [at, lines] of [1, 2, 4, 6, 9, 10, 11, 14, 15].entries()) {
  test(`killed at line ${lines} of its log`, async () => {
    const when = await killChild(stage, "erase", { lines, ms: (at * 7) % 20 });
    await stage.reopen();
    const { erased } = await stage.app.erasures(FOLDERS);
    const { names, notes } = await search();
    const isOpen = erased.some(({ finishedAt }) => finishedAt === "");
    if (erased.length === 0) assert.ok(names.includes(`${MARKER}.md`), `${when}: not begun, and not there`);
    else if (names.includes(`${MARKER}.md`)) assert.match(notes, /was interrupted or is under way/, when);
    if (isOpen) assert.match(notes, /was interrupted/, when);
    await stage.crawl();
    const done = (await stage.app.erasures(FOLDERS)).erased;
    if (done.length === 0) return;
    assert.ok(
      done.every(({ finishedAt }) => finishedAt !== ""),
      when,
    );
    assert.deepEqual(await findMarker(stage.storage, MARKER), [], when);
    await stage.app.allowErased(FOLDERS, done[0]?.item ?? "");
    await stage.crawl();
    assert.ok((await search()).names.includes(`${MARKER}.md`), when);
  });
}
