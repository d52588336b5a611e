import type { ItemId } from "../../src/contracts/ids.ts";
import { KnowledgeBase } from "../../src/mirror/knowledge-base.ts";
import { contentOf, KILLED_DOCS, KILLED_RULES, textOf } from "./knowledge-texts.ts";

/** Keeps version after version until it is killed, and says what is done. One document comes and goes. */
const [folder = "", from = "1"] = process.argv.slice(2);
const base = new KnowledgeBase(folder);
const now = new Date("2026-01-01T00:00:00Z");

for (let n = Number(from); ; n++) {
  for (const docId of KILLED_DOCS) {
    await base.keep(docId, contentOf(n), textOf(docId, n));
    await base.relocate(docId, `moved/${n}.md`);
    await base.prune(docId, KILLED_RULES, now);
    process.stdout.write(`${docId} ${n}\n`);
  }
  const passing = "doc_passing" as ItemId;
  await base.keep(passing, contentOf(n), textOf(passing, n));
  await base.remove(passing);
}
