// Fields of an item say what it is, in which language and state, in every registry.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { BlobServiceClient } from "@azure/storage-blob";
import type { ItemId } from "../../src/contracts/ids.ts";
import { toImageJson, toItemJson } from "../../src/http/endpoints/item-codec.ts";
import { openTableRegistry } from "../../src/ledger/registry/table-registry.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { makeDocx, paragraph } from "../extract/make-docx.ts";
import { makePdf } from "../extract/make-pdf.ts";
import { IngestStage } from "./ingest-stage.ts";

const PDF = "application/pdf";
const DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const ENGLISH = "The badger digs a burrow under the old oak and sleeps there through the long winter months.";

let azurite: Azurite;
let docs: string;
before(async () => {
  azurite = await startAzurite();
  docs = await mkdtemp(join(tmpdir(), "lockstep-fields-"));
  process.env["LOCKSTEP_TEST_FIELDS"] = azurite.connectionString;
});
after(async () => {
  delete process.env["LOCKSTEP_TEST_FIELDS"];
  await azurite.stop();
  await rm(docs, { recursive: true, force: true });
});

for (const place of ["SQLite", "Azure Table Storage"] as const) {
  describe(`an item in ${place}`, () => {
    let stage: IngestStage;
    before(async () => {
      stage = await IngestStage.open({
        INGEST_FILE_ROOTS: docs,
        INGEST_BLOB_CREDENTIAL: "LOCKSTEP_TEST_FIELDS",
        ...(place !== "SQLite" && { AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString }),
      });
    });
    after(() => stage.close());
    const shown = async (id: ItemId) => toItemJson(await stage.item(id));
    const addFile = async (source: string): Promise<ItemId> =>
      (await stage.app.ingest.addFile({ source, domainId: undefined, force: false })).id;

    it("says what PDFs, Office files, files and blobs are, in which language, and what they are called", async () => {
      const pdf = makePdf({ title: "Badgers", pages: [[{ text: ENGLISH, y: 700 }]] });
      const docx = makeDocx({ title: "Burrows", body: paragraph(ENGLISH) });
      stage.pages.files.set("/badgers.pdf", { type: PDF, bytes: pdf });
      stage.pages.files.set("/burrows.docx", { type: DOCX, bytes: docx });
      await mkdir(docs, { recursive: true });
      await writeFile(join(docs, "badgers.pdf"), pdf);
      await writeFile(join(docs, "notes.md"), `# Notes\n\n${ENGLISH}\n`);
      const container = BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient("fields");
      await container.createIfNotExists();
      await container.getBlockBlobClient("burrows.docx").uploadData(docx);
      const ids: readonly [ItemId, string, string, string][] = [
        [await stage.add("/badgers.pdf"), "Badgers", PDF, ""],
        [await stage.add("/burrows.docx"), "Burrows", DOCX, ""],
        [await addFile(join(docs, "badgers.pdf")), "Badgers", PDF, PDF],
        [await addFile(join(docs, "notes.md")), "Notes", "text/markdown", "text/markdown"],
        [await addFile(`${container.url}/burrows.docx`), "Burrows", DOCX, "application/octet-stream"],
      ];
      await stage.round();
      for (const [id, title, mimeType, fileContentType] of ids) {
        const item = await shown(id);
        const facts = [item.status, item.title, item.mimeType, item.fileContentType, item.language, item.errorMessage];
        assert.deepEqual(facts, ["Indexed", title, mimeType, fileContentType, "en", ""], item.normalizedSource);
        assert.match(item.textHash, /^sha256:[0-9a-f]{64}$/, item.normalizedSource);
        assert.notEqual(item.textHash, item.contentHash);
      }
      const text = (n: number) => ids[n]?.[0] ?? assert.fail();
      assert.equal((await shown(text(0))).textHash, (await shown(text(2))).textHash, "wherever it lies");
    });

    it("has the time of Last-Modified in ISO, and asks with an HTTP date", async () => {
      const asked: (string | undefined)[] = [];
      const modified = "Mon, 02 Nov 2026 10:00:00 GMT";
      stage.pages.answers.set("/dated", { text: "Dated.", headers: { "last-modified": modified, etag: "" } });
      stage.pages.beforeAnswer = async (path, response) => {
        if (path === "/dated") asked.push(response.req.headers["if-modified-since"]);
      };
      const id = await stage.add("/dated");
      await stage.round();
      assert.equal((await shown(id)).httpLastModified, "2026-11-02T10:00:00.000000Z");
      stage.later(2);
      await stage.round();
      assert.deepEqual(asked, [undefined, modified]);
    });

    it("counts the looks that failed, and says why they did", async () => {
      stage.pages.answers.set("/moody", { text: "Fine." });
      const id = await stage.add("/moody");
      const told = async (): Promise<[string, number, boolean]> => {
        stage.later(15);
        await stage.round();
        const { status, crawlAttempts, errorMessage } = await shown(id);
        return [status, crawlAttempts, errorMessage !== ""];
      };
      assert.deepEqual(await told(), ["Indexed", 0, false]);
      stage.pages.answers.set("/moody", { status: 500 });
      assert.deepEqual(await told(), ["Error", 1, true]);
      assert.deepEqual(await told(), ["Error", 2, true]);
      stage.pages.answers.set("/moody", { text: "Fine." });
      assert.deepEqual(await told(), ["Indexed", 2, false]);
      stage.pages.answers.set("/moody", { status: 404 });
      assert.deepEqual(await told(), ["Error", 3, true]);
    });

    it("is found once where addresses of one group say the same", async () => {
      stage.pages.answers.set("/kiwi", { text: "Kiwis cannot fly at all." });
      stage.pages.answers.set("/emu", { text: "Emus and Kiwis run, each in its own way." });
      for (const path of ["/kiwi?from=b", "/kiwi", "/kiwi?from=a", "/emu"]) await stage.add(path);
      await stage.round();
      const found = async (limit: number) => {
        const { sources } = await stage.app.query({
          text: "Kiwis",
          limit,
          domainId: undefined,
          vectorStoreId: undefined,
        });
        return sources.map(({ url }) => URL.parse(url)?.pathname).sort();
      };
      assert.deepEqual(await found(10), ["/emu", "/kiwi"]);
      assert.deepEqual(await found(2), ["/emu", "/kiwi"], "what is folded makes room");
      for (const query of ["", "?from=a", "?from=b"]) {
        const id = await stage.app.ingest.idOf(stage.pages.url(`/kiwi${query}`));
        assert.equal((await shown(id)).status, "Indexed", "its item stays");
      }
    });
  });
}

it("a message names the partition that its entity is in", async () => {
  const stage = await IngestStage.open({ AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString });
  try {
    const registry = openTableRegistry({ account: azurite.account, tableName: "IngestItems", partitions: "host" });
    stage.pages.answers.set("/message", { text: "Message." });
    const id = await stage.add("/message");
    const { QueueClient } = await import("@azure/storage-queue");
    const queue = new QueueClient(azurite.connectionString, "lockstep-ingest");
    const [message] = (await queue.peekMessages({ numberOfMessages: 1 })).peekedMessageItems;
    const { payload } = JSON.parse(Buffer.from(message?.messageText ?? "", "base64").toString()) as {
      payload: Record<string, unknown>;
    };
    const { TableClient } = await import("@azure/data-tables");
    const table = TableClient.fromConnectionString(azurite.connectionString, "IngestItems", {
      allowInsecureConnection: true,
    });
    const entity = await table.getEntity(String(payload["partitionKey"]), String(payload["rowKey"]));
    assert.deepEqual([entity["id"], payload["id"]], [id, id]);
    assert.deepEqual(await registry.keysOf(await stage.item(id)), {
      partitionKey: entity.partitionKey,
      rowKey: entity.rowKey,
    });
  } finally {
    await stage.close();
  }
});

it("a picture says from which page it is", () => {
  const page = "https://example.com/page";
  const image = { id: "img_1", url: "https://example.com/p.png", alt: "", caption: "", width: 1, height: 1 };
  const stored = { ...image, mimeType: "image/png", parentPageId: "url_1" as ItemId, parentPageUrl: page };
  const more = { surroundings: "", position: 0, isPagePicture: false, contentHash: "", bytes: 1 };
  assert.equal(toImageJson({ ...stored, ...more }).source, page);
});
