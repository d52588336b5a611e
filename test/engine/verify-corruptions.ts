import assert from "node:assert/strict";
import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type OpenAI from "openai";
import { verifyJob } from "../../src/app/verify-job.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import type { CertificateStatement } from "../../src/engine/verify/certificate.ts";
import type { Difference, VerifyRequest } from "../../src/engine/verify/verification.ts";
import type { VerifyResult } from "../../src/engine/verify/verify-domain.ts";
import { storageFolder } from "../../src/mirror/layout.ts";
import { openStage } from "../stories/stage.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";
import { DOMAIN } from "./world.ts";

/** What verify must say of a corruption: in which layer and part, of which items or paths. */
interface Expected {
  readonly layer: Difference["layer"];
  readonly part: string;
  readonly named: readonly string[];
}

/** Picks one of several; the same seed picks the same. */
export type Pick = (count: number) => number;

export interface Verified {
  readonly job: JobRecord;
  readonly data: VerifyResult;
  readonly statement: CertificateStatement;
  readonly differences: readonly Difference[];
  readonly log: string;
}

export async function verify(
  stage: FolderStage,
  wishes: Partial<VerifyRequest> & { readonly repair?: boolean } = {},
): Promise<Verified> {
  const { repair = false, ...rest } = wishes;
  const request = { domainId: FOLDERS, download: false, ...rest };
  const { start, work } = await verifyJob(stage.app, request, { repair });
  const job = await (await stage.app.runner.start({ ...start, endpoint: "test" }, work)).done;
  const log = await stage.log(job);
  const data = job.result?.data as VerifyResult;
  const statement = data?.certificate?.statement ?? assert.fail(`no certificate: ${job.result?.error}\n${log}`);
  return { job, data, statement, differences: statement.sources.flatMap((source) => source.differences), log };
}

interface Item {
  readonly item_no: number;
  readonly item_id: string;
  readonly path: string;
}

/** What is stored of a small domain, opened beside the product that has it open, too. */
export class StoredDomain {
  readonly stage: FolderStage;
  readonly pick: Pick;

  constructor(stage: FolderStage, pick: Pick) {
    this.stage = stage;
    this.pick = pick;
  }

  one<T>(rows: readonly T[]): T {
    return rows[this.pick(rows.length)] ?? assert.fail("there is none to pick");
  }

  ledger<T>(work: (db: DatabaseSync) => T): T {
    return withDatabase(join(storageFolder(this.stage.storage, "crawler"), FOLDERS, "ledger.sqlite"), work);
  }

  async store<T>(work: (db: DatabaseSync) => T): Promise<T> {
    const { vectorStoreId } = await this.stage.app.domains.get(FOLDERS);
    return withDatabase(join(storageFolder(this.stage.storage, "index"), `${vectorStoreId}.sqlite`), work);
  }

  /** An item that has a document. */
  anItem(): Item {
    return this.ledger((db) =>
      this.one(
        rows<Item>(
          db,
          `SELECT i.item_no, i.item_id, f.path FROM item i JOIN file f USING (item_no) JOIN indexed x USING (item_no)
           WHERE x.file_id <> '' AND x.store = '' ORDER BY i.item_id`,
        ),
      ),
    );
  }

  changeLedger(text: string, ...values: SQLInputValue[]): void {
    this.ledger((db) => assert.equal(db.prepare(text).run(...values).changes, 1));
  }

  async changeStore(text: string, ...values: SQLInputValue[]): Promise<void> {
    await this.store((db) => assert.equal(db.prepare(text).run(...values).changes, 1));
  }

  /** A body that documents show, and the items of those. */
  async aBody(more = ""): Promise<{ readonly bodyId: number; readonly items: string[] }> {
    return await this.store((db) => {
      const { body_id } = this.one(
        rows<{ body_id: number }>(
          db,
          `SELECT DISTINCT body_id FROM documents_active d WHERE body_id IS NOT NULL ${more} ORDER BY body_id`,
        ),
      );
      const items = rows<{ item_id: string }>(db, "SELECT item_id FROM documents_active WHERE body_id = ?", body_id);
      return { bodyId: body_id, items: items.map(({ item_id }) => item_id) };
    });
  }

  mirrorFile({ path }: Item): string {
    return join(this.stage.folder, path);
  }
}

function rows<T>(db: DatabaseSync, text: string, ...values: SQLInputValue[]): T[] {
  return db.prepare(text).all(...values) as T[];
}

function withDatabase<T>(path: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path);
  try {
    db.exec("PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = OFF");
    return work(db);
  } finally {
    db.close();
  }
}

export interface Corruption {
  readonly name: string;
  /** Does it, and says what verify must find: just that. */
  corrupt(stored: StoredDomain): Promise<Expected>;
}

const ledgerOf = (name: string, text: string): Corruption => ({
  name,
  async corrupt(stored) {
    const { item_no, item_id } = stored.anItem();
    stored.changeLedger(text, item_no);
    return { layer: "ledger", part: "", named: [item_id] };
  },
});

const bodyOf = (
  name: string,
  part: string,
  change: (bodyId: number, stored: StoredDomain) => Promise<void>,
  more = "",
) => ({
  name,
  async corrupt(stored: StoredDomain): Promise<Expected> {
    const { bodyId, items } = await stored.aBody(more);
    await change(bodyId, stored);
    return { layer: "index", part, named: items };
  },
});

const labelOf = (name: string, column: string): Corruption => ({
  name,
  async corrupt(stored) {
    const { item_id } = stored.anItem();
    await stored.changeStore(
      `UPDATE documents SET ${column} = 'stale' WHERE id = (SELECT id FROM documents_active WHERE item_id = ?)`,
      item_id,
    );
    return { layer: "index", part: "label", named: [item_id] };
  },
});

/** Adds a document that is like that of an item, except for its ids. */
async function addDocument(
  stored: StoredDomain,
  like: string,
  ids: { readonly item_id: string; readonly file_id: string },
): Promise<void> {
  await stored.store((db) => {
    db.exec("CREATE TEMP TABLE ghost AS SELECT * FROM documents LIMIT 0");
    db.prepare("INSERT INTO ghost SELECT * FROM documents_active WHERE item_id = ?").run(like);
    const id = "id = (SELECT next_document FROM state)";
    db.prepare(`UPDATE ghost SET ${id}, item_id = ?, file_id = ?`).run(ids.item_id, ids.file_id);
    db.exec("INSERT INTO documents SELECT * FROM ghost; UPDATE state SET next_document = next_document + 1");
    db.exec("UPDATE state SET visible_revision = visible_revision + 1");
  });
}

const OF_ITEM = "WHERE item_no = ?";
const A_CHUNK = "(SELECT id FROM chunks WHERE body_id = ? ORDER BY id LIMIT 1)";
const HAS_SECTIONS = "AND (SELECT count(*) FROM sections s WHERE s.body_id = d.body_id) > 1";

export const CORRUPTIONS: readonly Corruption[] = [
  ledgerOf("the ledger has another hash of a file", `UPDATE file SET sha256 = '${"0".repeat(64)}' ${OF_ITEM}`),
  ledgerOf("the ledger has another size", `UPDATE file SET size = size + 1 ${OF_ITEM}`),
  ledgerOf("the ledger has another address", `UPDATE item SET url = 'file:///elsewhere' ${OF_ITEM}`),
  ledgerOf("the ledger has another time", `UPDATE file SET modified_at = '2001-01-01T00:00:00.000000Z' ${OF_ITEM}`),
  ledgerOf("the ledger has another name", `UPDATE file SET name = 'other.md' ${OF_ITEM}`),
  ledgerOf("the ledger has another file id", `UPDATE indexed SET file_id = 'file-other' ${OF_ITEM}`),
  ledgerOf("the ledger has another hash of a document", `UPDATE indexed SET sha256 = '${"1".repeat(64)}' ${OF_ITEM}`),
  ledgerOf("the ledger lost a row", `DELETE FROM file ${OF_ITEM}`),
  {
    name: "a byte of a file is another",
    async corrupt(stored) {
      const item = stored.anItem();
      const path = stored.mirrorFile(item);
      const [bytes, { atime, mtime }] = [await readFile(path), await stat(path)];
      const at = stored.pick(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await writeFile(path, bytes);
      await utimes(path, atime, mtime);
      return { layer: "mirror", part: "", named: [item.item_id] };
    },
  },
  {
    name: "a file is missing",
    async corrupt(stored) {
      const item = stored.anItem();
      await rm(stored.mirrorFile(item));
      return { layer: "mirror", part: "", named: [item.item_id] };
    },
  },
  {
    name: "a file is too many",
    async corrupt(stored) {
      const name = `stranger-${stored.pick(1000)}.md`;
      await writeFile(join(stored.stage.folder, "02_embedded", name), "Nobody knows this file.");
      return { layer: "mirror", part: "", named: [`FOLDERS/05_folders/docs/02_embedded/${name}`] };
    },
  },
  bodyOf("a chunk has another text", "chunks", (id, stored) =>
    stored.changeStore(`UPDATE chunks SET text = text || ' x' WHERE id = ${A_CHUNK}`, id),
  ),
  bodyOf("a chunk is missing", "chunks", (id, stored) =>
    stored.changeStore(`DELETE FROM chunks WHERE id = ${A_CHUNK}`, id),
  ),
  bodyOf(
    "a section is missing",
    "sections",
    (id, stored) => stored.changeStore("DELETE FROM sections WHERE body_id = ? AND position = 1", id),
    HAS_SECTIONS,
  ),
  bodyOf("a section has another text", "sections", (id, stored) =>
    stored.changeStore("UPDATE sections SET content = content || '!' WHERE body_id = ? AND position = 0", id),
  ),
  bodyOf("a text has another title", "text", (id, stored) =>
    stored.changeStore("UPDATE bodies SET title = title || '!' WHERE id = ?", id),
  ),
  bodyOf("a byte of a vector is another", "vectors", async (id, stored) => {
    const vector = await stored.store((db) =>
      Buffer.from(
        rows<{ vector: Uint8Array }>(db, `SELECT vector FROM vectors WHERE chunk_id = ${A_CHUNK}`, id)[0]?.vector ?? [],
      ),
    );
    const at = 4 + stored.pick(vector.length - 4);
    vector[at] = (vector[at] ?? 0) ^ 1;
    await stored.changeStore(`UPDATE vectors SET vector = ? WHERE chunk_id = ${A_CHUNK}`, vector, id);
  }),
  bodyOf("a vector is cut", "vectors", (id, stored) =>
    stored.changeStore(`UPDATE vectors SET vector = substr(vector, 1, 20) WHERE chunk_id = ${A_CHUNK}`, id),
  ),
  bodyOf("a vector is missing", "vectors", (id, stored) =>
    stored.changeStore(`DELETE FROM vectors WHERE chunk_id = ${A_CHUNK}`, id),
  ),
  bodyOf("a vector is that of another text", "vectors", (id, stored) =>
    stored.changeStore(`UPDATE vectors SET body_id = body_id + 1000 WHERE chunk_id = ${A_CHUNK}`, id),
  ),
  labelOf("a label has another path", "path"),
  labelOf("a label has another address", "url"),
  labelOf("a label has another name", "name"),
  labelOf("a label has another time", "modified_at"),
  {
    name: "an attribute of a document is another",
    async corrupt(stored) {
      const { item_id } = stored.anItem();
      await stored.changeStore(
        `UPDATE documents SET attributes = json_set(attributes, '$.file_type', 'exe')
         WHERE id = (SELECT id FROM documents_active WHERE item_id = ?)`,
        item_id,
      );
      return { layer: "index", part: "label", named: [item_id] };
    },
  },
  {
    name: "the attributes of a document cannot be read",
    async corrupt(stored) {
      const { item_id } = stored.anItem();
      await stored.changeStore(
        "UPDATE documents SET attributes = '{' WHERE id = (SELECT id FROM documents_active WHERE item_id = ?)",
        item_id,
      );
      return { layer: "index", part: "label", named: [item_id] };
    },
  },
  {
    name: "a document is called failed",
    async corrupt(stored) {
      const { item_id } = stored.anItem();
      await stored.changeStore(
        "UPDATE documents SET status = 'failed' WHERE id = (SELECT id FROM documents_active WHERE item_id = ?)",
        item_id,
      );
      return { layer: "index", part: "text", named: [item_id] };
    },
  },
  {
    name: "a document is there twice",
    async corrupt(stored) {
      const { item_id } = stored.anItem();
      await addDocument(stored, item_id, { item_id, file_id: "file-zzzz" });
      return { layer: "index", part: "document", named: [item_id] };
    },
  },
  {
    name: "a document is missing",
    async corrupt(stored) {
      const { item_id } = stored.anItem();
      await stored.changeStore(
        "DELETE FROM documents WHERE id = (SELECT id FROM documents_active WHERE item_id = ?)",
        item_id,
      );
      return { layer: "index", part: "document", named: [item_id] };
    },
  },
  {
    name: "a document is made of other bytes",
    async corrupt(stored) {
      const { item_id } = stored.anItem();
      const hash = "2".repeat(64);
      await stored.changeStore(
        "UPDATE documents SET sha256 = ? WHERE id = (SELECT id FROM documents_active WHERE item_id = ?)",
        hash,
        item_id,
      );
      return { layer: "index", part: "document", named: [item_id] };
    },
  },
  {
    name: "a document is too many",
    async corrupt(stored) {
      const { item_id } = stored.anItem();
      const ghost = `doc_ghost_${stored.pick(1000)}`;
      await addDocument(stored, item_id, { item_id: ghost, file_id: `file-${ghost}` });
      return { layer: "index", part: "document", named: [ghost] };
    },
  },
];

/** Fails unless verify names just what was corrupted. */
export function assertNamed({ statement, differences, job, log }: Verified, expected: Expected, name: string): void {
  const named = differences.map(({ layer, part, item_id, path }) => [layer, part, item_id || path].join(" "));
  const wanted = expected.named.map((one) => [expected.layer, expected.part, one].join(" "));
  assert.deepEqual(named.sort(), wanted.sort(), `${name}\n${log}`);
  assert.equal(statement.verdict, "differs", name);
  assert.deepEqual(
    statement.sources.flatMap(({ behind }) => behind),
    [],
    name,
  );
  assert.equal(job.result?.ok, false, name);
}

const WORDS =
  "ibex okapi vole numbat quagga wombat axolotl river mountain budget travel hotel invoice holiday canteen".split(" ");

/** Some documents with headings, one without, two with the same content, and one without text. */
export async function fillStage(stage: FolderStage, pick: Pick): Promise<void> {
  const sentence = (): string => {
    const words = Array.from({ length: 6 + pick(6) }, () => WORDS[pick(WORDS.length)] ?? "");
    return `The ${words.join(" ")} ${pick(100_000)}.`;
  };
  const count = 3 + pick(4);
  for (let at = 0; at < count; at++) {
    const sections = Array.from({ length: 1 + pick(3) }, (_, no) => `## Part ${no}\n\n${sentence()} ${sentence()}\n`);
    await stage.write(
      `${at % 2 ? "deep/" : ""}note-${at}.md`,
      `# Note ${at}\n\n${sentence()}\n\n${sections.join("\n")}`,
    );
  }
  await stage.write("plain.txt", `${sentence()}\n${sentence()}`);
  const twin = `# Twin\n\n${sentence()}`;
  await stage.write("twin-a.md", twin);
  await stage.write("twin-b.md", twin);
  await stage.write("nothing.txt", "");
}

/** The same numbers for the same seed (mulberry32). */
export function pickBy(seed: number): Pick {
  let state = seed * 2_654_435_761;
  return (count) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, count);
  };
}

interface StoreCorruption {
  readonly name: string;
  /** Does it to the file of an item in the store of a service; returns the part that verify must name. */
  corrupt(client: OpenAI, file: { readonly vector_store_id: string; readonly fileId: string }): Promise<string>;
}

/** What others may do to the files of a vector store. */
export const STORE_CORRUPTIONS: readonly StoreCorruption[] = [
  {
    name: "an attribute of a store's file is another",
    async corrupt({ vectorStores: { files } }, { vector_store_id, fileId }) {
      const { attributes } = await files.retrieve(fileId, { vector_store_id });
      await files.update(fileId, { vector_store_id, attributes: { ...attributes, file_type: "exe" } });
      return "attributes";
    },
  },
  {
    name: "a store's file has the hash of other bytes",
    async corrupt({ vectorStores: { files } }, { vector_store_id, fileId }) {
      const { attributes } = await files.retrieve(fileId, { vector_store_id });
      const content_hash = "3".repeat(64);
      await files.update(fileId, { vector_store_id, attributes: { ...attributes, content_hash } });
      return "document";
    },
  },
  {
    name: "a store lost a file",
    async corrupt({ vectorStores: { files } }, { vector_store_id, fileId }) {
      await files.delete(fileId, { vector_store_id });
      return "document";
    },
  },
  {
    name: "a store has a second file of an item",
    async corrupt({ vectorStores: { files }, files: uploads }, { vector_store_id, fileId }) {
      const { attributes } = await files.retrieve(fileId, { vector_store_id });
      const file = new File(["An older text that nobody should find."], "older.txt");
      const upload = await uploads.create({ file, purpose: "assistants" });
      const older = { ...attributes, content_hash: "4".repeat(64) };
      await files.createAndPoll(vector_store_id, { file_id: upload.id, attributes: older });
      return "state";
    },
  },
];

/** The same with a library, and a vector store at a service. */
async function playStoreCorruption(pick: Pick): Promise<string> {
  const stage = await openStage({}, "remote");
  const verified = async (repair = false): Promise<CertificateStatement> => {
    const { start, work } = await verifyJob(stage.world.app, { domainId: DOMAIN, download: false }, { repair });
    const { result } = await (await stage.world.app.runner.start({ ...start, endpoint: "test" }, work)).done;
    const data = result?.data as Partial<VerifyResult> | undefined;
    return data?.certificate?.statement ?? assert.fail(result?.error);
  };
  try {
    await stage.plant();
    assert.equal((await verified()).verdict, "agrees");
    const files = Object.entries(await stage.fileIds()).sort();
    const [path, fileId] = files[pick(files.length)] ?? assert.fail();
    const { name, corrupt } = STORE_CORRUPTIONS[pick(STORE_CORRUPTIONS.length)] ?? assert.fail();
    const { vectorStoreId: vector_store_id } = await stage.world.app.domains.get(DOMAIN);
    const part = await corrupt(stage.world.openai(), { vector_store_id, fileId });
    const { verdict, sources } = await verified();
    const itemOf = new Map(
      (await stage.docs.map("vectorstore_map")).map((row) => [row["openai_file_id"], row["sharepoint_unique_file_id"]]),
    );
    const named = sources.flatMap(({ differences }) =>
      differences.map((one) => [one.layer, one.part, one.item_id].join(" ")),
    );
    assert.deepEqual(
      named,
      [["index", part, itemOf.get(fileId)].join(" ")],
      `${name}: ${path}\n${JSON.stringify(sources, null, 1)}`,
    );
    assert.equal(verdict, "differs");
    const repaired = await verified(true);
    assert.equal(repaired.verdict, "agrees", `${name}, repaired: ${JSON.stringify(repaired.sources)}`);
    return name;
  } finally {
    await stage.close();
  }
}

/** One seed in so many has its index at a service. */
const REMOTE_SHARE = 8;

/** A small domain, one random corruption: verify names it and nothing else, and repairing leaves nothing. Returns what it was. */
export async function playCorruption(seed: number): Promise<string> {
  const pick = pickBy(seed);
  if (seed % REMOTE_SHARE === 0) return await playStoreCorruption(pick);
  const stage = await FolderStage.open();
  try {
    await fillStage(stage, pick);
    await stage.crawl();
    const before = await verify(stage);
    assert.equal(before.statement.verdict, "agrees", before.log);
    const corruption = CORRUPTIONS[pick(CORRUPTIONS.length)] ?? assert.fail();
    const expected = await corruption.corrupt(new StoredDomain(stage, pick));
    assertNamed(await verify(stage), expected, corruption.name);
    const after = await verify(stage, { repair: true });
    assert.equal(after.statement.verdict, "agrees", `${corruption.name}, repaired\n${after.log}`);
    return corruption.name;
  } finally {
    await stage.close();
  }
}
