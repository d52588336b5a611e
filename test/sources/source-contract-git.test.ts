// A Git repository keeps the contract of a source.
import { rename } from "node:fs/promises";
import { basename } from "node:path";
import { test } from "node:test";
import { sourceSuite } from "../contracts/source-suite.ts";
import { FaultyLine, type LineFault } from "./faulty-line.ts";
import { GitWorld, serveGit, WITHOUT_GIT } from "./git-world.ts";
import { TreeWorld } from "./tree-world.ts";

const OWN_COPY = "files are read from our copy on this disk, which has all of a commit before the first one is listed";
const AS_A_WHOLE =
  "whoever may read a repository may read all of it; what our own copy of it lost is in git-tree.test.ts";

if (WITHOUT_GIT) test("the contract of a source, by a repository", { skip: WITHOUT_GIT });
else
  sourceSuite("a repository", async (t) => {
    const trees = await TreeWorld.open();
    const world = await GitWorld.open();
    const server = await serveGit(world.place);
    const line = await FaultyLine.start(server.url);
    t.after(async () => {
      await line.close();
      await server.stop();
      await world.close();
      await trees.close();
    });
    const repository = `${line.origin}/${basename(world.bare)}`;
    const fail = (fault: LineFault): void => {
      line.faultOf = ({ pathname }) => (pathname.endsWith("/git-upload-pack") ? fault : undefined);
    };
    return {
      openSource: () => trees.openSource({ tree: world.tree({ repository, hidden: true }) }),
      put: (name, text) => world.publish({ [`${name}.md`]: text }),
      putAll: (texts) =>
        world.publish(Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${name}.md`, text]))),
      async remove(name) {
        await world.remove(`${name}.md`);
        await world.push();
      },
      nameOf: ({ path }) => path.replace(/\.md$/, ""),
      bodies: "as put",
      async rename(from, to) {
        await world.move(`${from}.md`, `${to}.md`);
        await world.push();
      },
      cuts: {
        "an answer that is refused": () => fail({ status: 403 }),
        "an answer that is cut": () => fail({ cutAfterBytes: 30 }),
        // What the branch points to is told in fewer bytes, what is new takes more.
        "a pack that is cut": async () => {
          await world.publish({ "alpha.md": "Edited" });
          fail({ cutAfterBytes: 300 });
        },
      },
      shut: AS_A_WHOLE,
      cutBodies: OWN_COPY,
      stallListing: () => new Promise((tell) => fail({ hangAfterBytes: 0, tell })),
      stallBodies: OWN_COPY,
      breakDown: () => rename(world.bare, `${world.bare} elsewhere`),
      mend() {
        line.faultOf = () => undefined;
      },
    };
  });
