// A folder keeps the contract of a source.
import { rename } from "node:fs/promises";
import { sourceSuite } from "../contracts/source-suite.ts";
import { TreeWorld } from "./tree-world.ts";

const NO_LINE =
  "the operating system reads a disk, or says that it cannot: nothing is cut on the way, and nothing waits";

sourceSuite("a folder", async (t) => {
  const world = await TreeWorld.open();
  t.after(() => world.close());
  let edits = 0;
  return {
    openSource: () => world.openSource({}, { hidden: true }),
    // Apart from one another, and long ago: of a file that was written this moment nobody can tell.
    put: (name, text) => world.write(`${name}.md`, text, new Date(Date.UTC(2024, 0, 1, 0, ++edits))),
    remove: (name) => world.remove(`${name}.md`),
    nameOf: ({ path }) => path.replace(/\.md$/, ""),
    bodies: "as put",
    rename: (from, to) => world.move(`${from}.md`, `${to}.md`),
    cuts: NO_LINE,
    shut: (folder) => void world.shut.add(folder),
    cutBodies: NO_LINE,
    stallListing: NO_LINE,
    stallBodies: NO_LINE,
    breakDown: () => rename(world.root, `${world.root} elsewhere`),
    mend: () => world.shut.clear(),
  };
});
