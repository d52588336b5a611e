// A bucket keeps the contract of a source.
import { join } from "node:path";
import { createS3Tree } from "../../src/sources/s3/create-s3-tree.ts";
import { sourceSuite } from "../contracts/source-suite.ts";
import { FaultyLine, type LineFault } from "./faulty-line.ts";
import { S3Server } from "./s3-server.ts";
import { TreeWorld } from "./tree-world.ts";

const isNextPage = (url: URL): boolean => url.searchParams.has("continuation-token");
const isBody = (url: URL): boolean => !url.searchParams.has("list-type");

sourceSuite("a bucket", async (t) => {
  const trees = await TreeWorld.open();
  const server = await S3Server.start();
  const line = await FaultyLine.start(server.endpoint);
  t.after(async () => {
    await line.close();
    await server.stop();
    await trees.close();
  });
  // All of them would be in one answer.
  line.rewrite = (url) => {
    if (!isBody(url)) url.searchParams.set("max-keys", "2");
  };
  const config = { ...server.config, endpoint: line.origin, hidden: true };
  const options = {
    variable: () => "KEY:SECRET",
    folder: join(trees.storage, "read"),
    timing: { wait: async () => undefined },
  };
  const setClass = (folder: string, storageClass: string): void => {
    for (const [key, { body }] of server.objects)
      if (key.startsWith(folder)) server.put(key, body.toString(), { storageClass });
  };
  const fail = (isMeant: (url: URL) => boolean, fault: LineFault, times = Infinity): void => {
    let left = times;
    line.faultOf = (url) => (isMeant(url) && left-- > 0 ? fault : undefined);
  };
  const stall = (isMeant: (url: URL) => boolean, hangAfterBytes: number): Promise<void> =>
    new Promise((tell) => fail(isMeant, { hangAfterBytes, tell }));
  return {
    openSource: () => trees.openSource({ tree: createS3Tree(config, options) }),
    put: (name, text) => server.put(`${name}.md`, text),
    remove: (name) => void server.objects.delete(`${name}.md`),
    nameOf: ({ path }) => path.replace(/\.md$/, ""),
    bodies: "as put",
    rename(from, to) {
      server.put(`${to}.md`, server.objects.get(`${from}.md`)?.body.toString() ?? "");
      server.objects.delete(`${from}.md`);
    },
    cuts: {
      "a page that is refused": () => fail(isNextPage, { status: 403 }),
      "a page that is cut": () => fail(isNextPage, { cutAfterBytes: 300 }),
    },
    shut: (folder) => setClass(`${folder}/`, "GLACIER"),
    cutBodies: (how) => fail(isBody, { cutAfterBytes: 1000 }, how === "once" ? 1 : Infinity),
    stallListing: () => stall(isNextPage, 0),
    stallBodies: () => stall(isBody, 1000),
    breakDown() {
      server.bucket = "another";
    },
    mend() {
      line.faultOf = () => undefined;
      setClass("", "STANDARD");
    },
  };
});
