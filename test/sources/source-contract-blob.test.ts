// A blob container keeps the contract of a source.
import { after, before } from "node:test";
import { createBlobTree } from "../../src/sources/blob/create-blob-tree.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { sourceSuite } from "../contracts/source-suite.ts";
import { openBlobWorld } from "./blob-world.ts";
import { FaultyLine, type LineFault } from "./faulty-line.ts";
import { TreeWorld } from "./tree-world.ts";

let azurite: Azurite;
let line: FaultyLine;
before(async () => {
  azurite = await startAzurite();
  line = await FaultyLine.start(new URL(/BlobEndpoint=([^;]+)/.exec(azurite.connectionString)?.[1] ?? "").origin);
  // The emulator would show all of them in one answer.
  line.rewrite = (url) => {
    if (url.searchParams.get("comp") === "list") url.search += "&maxresults=2";
  };
});
after(async () => {
  await line.close();
  await azurite.stop();
});

const isNextPage = (url: URL): boolean => url.searchParams.has("marker");
const isBody = (url: URL): boolean => !url.searchParams.has("comp");

let containers = 0;
sourceSuite("a blob container", async (t) => {
  const trees = await TreeWorld.open();
  const world = await openBlobWorld(azurite.connectionString, `contract-${++containers}`);
  t.after(() => trees.close());
  const containerUrl = line.origin + new URL(world.container.url).pathname;
  const sas = await world.sas();
  const openTree = () => createBlobTree({ ...world.config, containerUrl, hidden: true }, { credential: () => sas });
  const texts = new Map<string, string>();
  const put = async (name: string, text: string): Promise<void> => {
    texts.set(name, text);
    await world.put(`${name}.md`, text);
  };
  const remove = async (name: string): Promise<void> => void (await world.container.deleteBlob(`${name}.md`));
  const setTier = async (folder: string, tier: "Archive" | "Hot"): Promise<void> => {
    for await (const { name } of world.container.listBlobsFlat({ prefix: folder }))
      await world.container.getBlobClient(name).setAccessTier(tier);
  };
  const fail = (isMeant: (url: URL) => boolean, fault: LineFault, times = Infinity): void => {
    let left = times;
    line.faultOf = (url) => (isMeant(url) && left-- > 0 ? fault : undefined);
  };
  const stall = (isMeant: (url: URL) => boolean, hangAfterBytes: number): Promise<void> =>
    new Promise((tell) => fail(isMeant, { hangAfterBytes, tell }));
  line.faultOf = () => undefined;
  return {
    openSource: () => trees.openSource({ tree: openTree() }),
    put,
    remove,
    nameOf: ({ path }) => path.replace(/\.md$/, ""),
    bodies: "as put",
    async rename(from, to) {
      await put(to, texts.get(from) ?? "");
      await remove(from);
    },
    cuts: {
      "a page that is refused": () => fail(isNextPage, { status: 403 }),
      "a page that is cut": () => fail(isNextPage, { cutAfterBytes: 300 }),
    },
    shut: (folder) => setTier(`${folder}/`, "Archive"),
    cutBodies: (how) => fail(isBody, { cutAfterBytes: 1000 }, how === "once" ? 1 : Infinity),
    stallListing: () => stall(isNextPage, 0),
    stallBodies: () => stall(isBody, 1000),
    breakDown: async () => void (await world.container.delete()),
    async mend() {
      line.faultOf = () => undefined;
      await setTier("", "Hot");
    },
    refuses: { "a backslash": "the service makes a slash of it" },
  };
});
