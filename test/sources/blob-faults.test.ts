// Faults of blob storage make a listing partial and never a wrong file.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { RemoteError } from "../../src/contracts/errors.ts";
import type { FileTree } from "../../src/contracts/file-tree.ts";
import type { SourceId } from "../../src/contracts/ids.ts";
import { createBlobTree } from "../../src/sources/blob/create-blob-tree.ts";
import { ofKind } from "../kinds.ts";
import { temporaryFolder, textOf, walk } from "./blob-world.ts";

const SIGNATURE = "c2lnbmF0dXJlIHRoYXQgbm9ib2R5IHRlbGxz";
const TEXT = "ten bytes.";

/** What the emulator never does: answers that end too early, pages that never come. */
let page = (_marker: string, _response: ServerResponse): void => undefined;
let bytesSent = 0;
const service = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? "", "http://host");
  if (searchParams.get("comp") === "list") return page(searchParams.get("marker") ?? "", response);
  const from = Number(/bytes=(\d+)-/.exec(request.headers["x-ms-range"]?.toString() ?? "")?.[1] ?? 0);
  response.writeHead(from > 0 ? 206 : 200, {
    "content-length": TEXT.length - from,
    etag: '"0x1"',
    "last-modified": new Date(0).toUTCString(),
    "x-ms-blob-type": "BlockBlob",
  });
  response.write(TEXT.slice(from, from + bytesSent));
  if (bytesSent >= TEXT.length) response.end();
  else setImmediate(() => response.destroy());
});

let tree: FileTree;
let folder: string;
before(async () => {
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  folder = await temporaryFolder();
  const rules = { include: [], exclude: [], hidden: false, maxFileBytes: 1000 };
  const limits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };
  const containerUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}/account/box`;
  const config = { sourceId: "box" as SourceId, containerUrl, prefix: "", credential: "BOX", ...rules, limits };
  const credential = (): string => `sv=2024-01-01&sp=rl&sig=${SIGNATURE}`;
  tree = createBlobTree({ ...ofKind("blob_sources"), ...config }, { credential, folder });
});
after(async () => {
  service.closeAllConnections();
  service.close();
  await rm(folder, { recursive: true, force: true });
});

function listed(response: ServerResponse, names: readonly string[], next: string): void {
  const blob = (name: string): string =>
    `<Blob><Name>${name}</Name><Properties><Last-Modified>${new Date(0).toUTCString()}</Last-Modified><Etag>0x1</Etag><Content-Length>${TEXT.length}</Content-Length><BlobType>BlockBlob</BlobType></Properties></Blob>`;
  const xml = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="http://host/" ContainerName="box"><Blobs>${names.map(blob).join("")}</Blobs><NextMarker>${next}</NextMarker></EnumerationResults>`;
  response.writeHead(200, { "content-type": "application/xml" }).end(xml);
}

test("all pages make a complete look; one that does not come makes none", async () => {
  page = (marker, response) => listed(response, marker ? ["b.md"] : ["a.md"], marker ? "" : "more");
  assert.deepEqual(
    (await walk(tree)).files.map(({ path }) => path),
    ["a.md", "b.md"],
  );
  page = (marker, response) => (marker ? response.destroy() : listed(response, ["a.md"], "more"));
  const error = await walk(tree).then(
    () => assert.fail("half a list was taken for all"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RemoteError);
  assert.match(
    error.message,
    /^Cannot read the container http:.*: the connection was (reset|closed before the answer was complete)$/,
  );
  assert.ok(!`${error.message} ${String(error.cause)} ${error.stack}`.includes(SIGNATURE));
});

test("a body that is cut is asked for from there; one that never comes whole is no file, and none is kept", async () => {
  page = (_marker, response) => listed(response, ["a.md"], "");
  const [file] = (await walk(tree)).files;
  bytesSent = 4;
  assert.equal(await textOf(tree, "a.md", file?.stamp), TEXT);
  assert.equal(await textOf(tree, "a.md", file?.stamp), TEXT);
  bytesSent = 1;
  await assert.rejects(textOf(tree, "a.md", file?.stamp), RemoteError);
  assert.deepEqual(await readdir(folder), []);
});
