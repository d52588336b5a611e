// Every way to open a blob container works, and wrong credentials are explained.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { BadInputError, RemoteError } from "../../src/contracts/errors.ts";
import type { FileTree } from "../../src/contracts/file-tree.ts";
import type { Finding } from "../../src/contracts/finding.ts";
import type { BlobSourceConfig } from "../../src/sources/blob/blob-source-codec.ts";
import { createBlobTree } from "../../src/sources/blob/create-blob-tree.ts";
import { isAzureHost, openContainer } from "../../src/sources/blob/open-container.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { type BlobWorld, openBlobWorld, pathsOf, walk } from "./blob-world.ts";

let azurite: Azurite;
let world: BlobWorld;
let sas: string;
before(async () => {
  azurite = await startAzurite();
  world = await openBlobWorld(azurite.connectionString, "access");
  await world.put("a.md", "alpha");
  sas = await world.sas();
});
after(() => azurite.stop());

function treeOf(held: string | undefined, config: Partial<BlobSourceConfig> = {}): FileTree {
  return createBlobTree({ ...world.config, ...config }, { credential: (name) => (name === "BOX" ? held : undefined) });
}

async function findingsOf(tree: FileTree): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const isTaken = (path: string): boolean => !path.endsWith(".zip");
  for await (const finding of tree.diagnose(isTaken, new AbortController().signal)) findings.push(finding);
  return findings;
}

/** What a walk fails with, and what doctor says of the same. No word of either holds what the variable holds. */
async function refusalOf(
  tree: FileTree,
  held: string,
): Promise<{ readonly error: Error; readonly findings: readonly Finding[] }> {
  const error = await walk(tree).then(
    () => assert.fail("it was read"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RemoteError || error instanceof BadInputError);
  const findings = await findingsOf(tree);
  assert.deepEqual(findings.map(({ outcome }) => outcome).includes("problem"), true);
  const words = [error.message, String(error.cause ?? ""), error.stack, JSON.stringify(findings)].join(" ");
  const secrets = [
    held,
    ...(new URLSearchParams(held).get("sig") ?? "").split(/[^\w]/),
    /AccountKey=(\w+)/.exec(held)?.[1] ?? "",
  ];
  for (const secret of secrets) if (secret.length > 5) assert.ok(!words.includes(secret), "a secret is told");
  return { error, findings };
}

test("a signature, written in each way people have it, and a connection string open the container", async () => {
  for (const held of [sas, sas.slice(1), ` ${world.container.url}${sas}\n`, azurite.connectionString]) {
    const tree = treeOf(held);
    assert.deepEqual(pathsOf((await walk(tree)).files), ["a.md"]);
    assert.equal(tree.addressOf("a.md").url, `${world.container.url}/a.md`);
    assert.deepEqual(
      (await findingsOf(tree)).map(({ outcome }) => outcome),
      ["ok", "ok"],
    );
  }
});

test("doctor says how much the rules let in, and what is wrong with them", async () => {
  const [, inside] = await findingsOf(treeOf(sas));
  assert.equal(inside?.detail, "Of its first 1 blob 1 is taken, by type and by the rules of the source.");
  const [, nothing] = await findingsOf(treeOf(sas, { include: ["*.pdf"] }));
  assert.deepEqual(
    [nothing?.outcome, nothing?.detail],
    ["problem", "Of its first 1 blob 0 are taken, by type and by the rules of the source."],
  );
  const [, empty] = await findingsOf(treeOf(sas, { prefix: "no/" }));
  assert.equal(empty?.detail, "It can be read, and there is no blob under the prefix 'no/'.");
});

test("a credential that cannot be meant is refused before anything is asked for", async () => {
  const wrong: readonly [string | undefined, RegExp][] = [
    [undefined, /variable BOX, which the source names as its credential, is not set/],
    ["", /BOX.* is not set/],
    [
      "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq==",
      /BOX must hold a shared access signature .* or a connection string/,
    ],
    ["AccountName=somebody;AccountKey=", /BOX holds no connection string/],
    [
      `DefaultEndpointsProtocol=https;AccountName=other;AccountKey=${btoa("k".repeat(40))};EndpointSuffix=core.windows.net`,
      /is that of https:\/\/other\.blob\.core\.windows\.net, and the container is http/,
    ],
    [`https://other.blob.core.windows.net/access${sas}`, /not that of the container/],
  ];
  for (const [held, sentence] of wrong) {
    const { error, findings } = await refusalOf(treeOf(held), held ?? "");
    assert.ok(error instanceof BadInputError);
    assert.match(error.message, sentence);
    assert.deepEqual(
      findings.map(({ outcome }) => outcome),
      ["problem", "not checked"],
    );
  }
});

test("a signature alone is shown to Azure and to this machine only; elsewhere its address has to go with it", async () => {
  for (const containerUrl of ["https://evil.example/access", "https://x.blob.core.windows.net.evil.example/access"]) {
    const { error } = await refusalOf(treeOf(sas, { containerUrl }), sas);
    assert.match(error.message, /BOX holds a signature alone, and .*evil\.example is no host of Azure Storage/);
    const open = openContainer(new URL(containerUrl), "BOX", () => `${containerUrl}${sas}`);
    assert.equal((await open).url.href, containerUrl);
  }
  const open = openContainer(new URL("https://x.blob.core.windows.net/access"), "BOX", () => sas);
  assert.equal((await open).access, "the signature in BOX");
});

test("a signature that ended, or never was one, is refused with what to do", async () => {
  const ended = await world.sas(new Date("2024-05-01T00:00:00Z"));
  assert.match(
    (await refusalOf(treeOf(ended), ended)).error.message,
    /signature in BOX ended at 2024-05-01T00:00:00\.000Z: put a new one there/,
  );
  const forged = sas.replace(/sig=[^&]*/, `sig=${encodeURIComponent(btoa("x".repeat(32)))}`);
  assert.match(
    (await refusalOf(treeOf(forged), forged)).error.message,
    /refuses .*check that the signature in BOX allows to read and to list/,
  );
  const key = azurite.connectionString.replace(/AccountKey=[^;]*/, `AccountKey=${btoa("y".repeat(64))}`);
  assert.match((await refusalOf(treeOf(key), key)).error.message, /refuses .*check the key/);
});

test("nobody but the public reads without a credential", async () => {
  assert.match(
    (await refusalOf(treeOf(undefined, { credential: "" }), "")).error.message,
    /only public containers can be read: name an environment variable in 'credential'/,
  );
  await world.container.setAccessPolicy("container");
  assert.deepEqual(pathsOf((await walk(treeOf(undefined, { credential: "" }))).files), ["a.md"]);
  await world.container.setAccessPolicy();
});

test("a container that is not there, and a service that is not", async () => {
  const gone = { containerUrl: world.container.url.replace("access", "nowhere") };
  assert.match(
    (await refusalOf(treeOf(azurite.connectionString, gone), azurite.connectionString)).error.message,
    /nowhere: there is no such container/,
  );
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const error = await walk(treeOf(sas, { containerUrl: `http://127.0.0.1:${port}/account/access` })).catch(
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RemoteError);
  assert.match(error.message, /connection refused/);
});

test("signatures do not travel in the clear, and tokens of this machine go to Azure alone", async () => {
  for (const containerUrl of ["http://example.com/box", "http://account.blob.core.windows.net/box"]) {
    const held = `${containerUrl}${sas}`;
    assert.match((await refusalOf(treeOf(held, { containerUrl }), held)).error.message, /needs https/);
  }
  assert.ok(isAzureHost("account.blob.core.windows.net"));
  const others = [
    "account.blob.core.windows.net.example.com",
    "blob.core.windows.net",
    "127.0.0.1",
    "a.b.blob.core.windows.net",
  ];
  assert.deepEqual(others.filter(isAzureHost), []);
});
