// A minimal kind of source keeps the contract of a source.
import { parseSourceId } from "../../src/contracts/ids.ts";
import { sourceSuite } from "../contracts/source-suite.ts";
import { openToySource, type ToyNote } from "../engine/toy-kind.ts";

const IN_MEMORY = "a shelf is in memory, and read in one go: it is there or not, and nothing is cut or waits";

sourceSuite("a toy shelf", async () => {
  const attic = new Map<string, ToyNote>();
  const shelves = new Map([["attic", attic]]);
  const config = { sourceId: parseSourceId("notes"), shelf: "attic" };
  const idOf = (name: string): string | undefined => [...attic].find(([, note]) => note.path === `${name}.md`)?.[0];
  let edits = 0;
  return {
    openSource: () => openToySource(config, shelves),
    put(name, text) {
      edits += 1;
      attic.set(idOf(name) ?? `note ${edits}`, { path: `${name}.md`, text, version: edits });
    },
    remove: (name) => void attic.delete(idOf(name) ?? ""),
    nameOf: ({ path }) => path.replace(/\.md$/, ""),
    bodies: "as put",
    rename(from, to) {
      const id = idOf(from) ?? "";
      attic.set(id, { text: "", version: 0, ...attic.get(id), path: `${to}.md` });
    },
    cuts: IN_MEMORY,
    shut: IN_MEMORY,
    cutBodies: IN_MEMORY,
    stallListing: IN_MEMORY,
    stallBodies: IN_MEMORY,
    breakDown: () => void shelves.delete("attic"),
    mend: () => undefined,
  };
});
