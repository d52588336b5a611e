import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import type { IndexedRef } from "../../src/contracts/search-index.ts";
import { storageFolder } from "../../src/mirror/layout.ts";
import { readMapText } from "../read-map-text.ts";
import { type AuthoredFile, DECOY, markersOf } from "./folder-author.ts";
import { DOCS, FOLDERS, type FolderStage } from "./folder-stage.ts";

/** So many of the last words are looked for although no file has them now. */
const NOT_FORGOTTEN = 30;

/** Which documents there were stays known for a while. */
const MANIFEST_TABLES: ReadonlySet<string> = new Set(["tracked", "version", "lineage"]);

/** What the manifest said of a file when it was last looked at to the end. */
interface Record {
  readonly docId: ItemId;
  readonly hash: string;
  /** "": it was not there, or nobody could see that it was. */
  readonly path: string;
  readonly node: string;
  readonly family: number;
}

/**
 * Knows which file is which, and what must follow from that. A rename is decidable when no file but this one ever had the
 * content that it had at the last complete look and has now, and it has its node still or nothing new is at its old place:
 * then it keeps its document. So does a file that stayed where
 * it was, whatever was written into it, and one that was renamed and slightly edited, when neither its old nor its new place
 * was ever another's meanwhile and it has no copies. Of everything else only is asked that it be found.
 */
export class FolderOracle {
  readonly #stage: FolderStage;
  readonly #files: ReadonlyMap<string, AuthoredFile>;
  readonly #records = new Map<number, Record>();
  /** By content: the files that ever had it when somebody looked. */
  readonly #holders = new Map<string, Set<number>>();
  readonly #members = new Map<number, Set<number>>();
  /** Files that were at a path at any look since the last complete one. */
  readonly #visitors = new Map<string, Set<number>>();
  readonly #markersOf = new Map<ItemId, Set<string>>();
  readonly #spoken = new Set<string>();
  /** How many identities were asked for, to show that something was tested. */
  asked = 0;

  constructor(stage: FolderStage, files: ReadonlyMap<string, AuthoredFile>) {
    this.#stage = stage;
    this.#files = files;
  }

  /** Somebody is about to look, and may be stopped in the middle of it. */
  beforeLook(): void {
    for (const [path, file] of this.#files) {
      note(this.#holders, hashOf(file.text), file.trueId);
      note(this.#members, file.family, file.trueId);
      note(this.#visitors, path, file.trueId);
      for (const marker of markersOf(file.text)) this.#spoken.add(marker);
    }
    this.#forgetDisputed();
  }

  /** A look was stopped: it may have settled what nobody can tell. */
  async afterStop(): Promise<void> {
    for (const [path, file] of this.#files) {
      const record = this.#records.get(file.trueId);
      if (!record || file.locked || this.#isDecidable(path, file, record, await this.#nodeOf(path))) continue;
      this.#records.delete(file.trueId);
    }
  }

  /** A complete look is over: everything must be in step. */
  async afterLook(): Promise<void> {
    const manifest = await this.#stage.manifest();
    const present = new Map(manifest.filter(isPresent).map((entry) => [entry.path, entry]));
    this.#checkManifest(manifest, present);
    await this.#checkIdentities(present);
    const holdings = await this.#stage.holdings();
    await this.#checkIndex(holdings, present);
    await this.#checkSearch(holdings);
    await this.#checkMirror();
    await this.#checkKnowledge(manifest, present);
    this.#learn(present);
    await this.#checkPurged(manifest);
    this.#visitors.clear();
    for (const [path, file] of this.#files) note(this.#visitors, path, file.trueId);
  }

  /** Nobody can say whose a document is when its place was taken by another file while its own was out of sight, or locked. */
  #forgetDisputed(): void {
    const whereabouts = new Map([...this.#files].map(([path, file]) => [file.trueId, { path, file }]));
    const owners = new Map([...this.#records].map(([trueId, { path }]) => [path, trueId]));
    const disputed = new Set<number>();
    for (const [path, { trueId, locked, text }] of this.#files) {
      const owner = owners.get(path);
      if (owner === undefined || owner === trueId) continue;
      const elsewhere = whereabouts.get(owner);
      const isSeenElsewhere = elsewhere && !elsewhere.file.locked && this.#isUnchanged(owner, elsewhere.file.text);
      if (isSeenElsewhere && !locked) continue;
      disputed.add(owner).add(trueId);
      const mine = this.#records.get(trueId)?.path;
      const inMyPlace = mine === undefined ? undefined : this.#files.get(mine)?.trueId;
      if (inMyPlace !== undefined && (locked || !this.#isUnchanged(trueId, text))) disputed.add(inMyPlace);
    }
    for (const trueId of disputed) this.#records.delete(trueId);
  }

  #isUnchanged(trueId: number, text: string): boolean {
    return this.#records.get(trueId)?.hash === hashOf(text);
  }

  #checkManifest(manifest: readonly ManifestEntry[], present: ReadonlyMap<string, ManifestEntry>): void {
    const ids = manifest.map(({ docId }) => docId);
    assert.equal(new Set(ids).size, ids.length, "no document has two entries");
    for (const [path, file] of this.#files) {
      if (file.locked) continue;
      const entry = present.get(path) ?? assert.fail(`the manifest has no '${path}'`);
      assert.equal(entry.status, "active", `status of '${path}' (${entry.error})`);
      assert.equal(entry.contentHash, hashOf(file.text), `content of '${path}' in the manifest`);
    }
    const unknown = [...present.keys()].filter((path) => !this.#files.has(path) && !this.#mayLinger(path));
    assert.deepEqual(unknown, [], "what is not there is not there in the manifest");
  }

  /** A file that cannot be read, at a place where there was none, may be any of those that are gone. */
  #mayLinger(path: string): boolean {
    if (this.#files.has(path)) return false;
    return [...this.#files].some(([at, { trueId, locked }]) => locked && this.#records.get(trueId)?.path !== at);
  }

  async #checkIdentities(present: ReadonlyMap<string, ManifestEntry>): Promise<void> {
    for (const [path, file] of this.#files) {
      const record = this.#records.get(file.trueId);
      if (!record || file.locked || !this.#isDecidable(path, file, record, await this.#nodeOf(path))) continue;
      this.asked += 1;
      const entry = present.get(path);
      const told = `'${path}' was '${record.path}'; the manifest says ${JSON.stringify(entry?.lineage)}`;
      assert.equal(entry?.docId, record.docId, `file ${file.trueId} keeps its document: ${told}`);
    }
  }

  #isDecidable(path: string, file: AuthoredFile, record: Record, node: string): boolean {
    const hash = hashOf(file.text);
    const isAlone = (content: string): boolean => this.#holders.get(content)?.size === 1;
    const isHis = (place: string): boolean => [...(this.#visitors.get(place) ?? [])].every((id) => id === file.trueId);
    if (hash === record.hash) {
      const isTraceable = path === record.path || node === record.node || this.#isLeft(record.path);
      return file.text !== "" && isAlone(hash) && isTraceable;
    }
    const isOnly = record.path !== "" && this.#members.get(record.family)?.size === 1;
    if (path === record.path) return isOnly && isAlone(record.hash) && isHis(path);
    return isOnly && isAlone(record.hash) && isHis(path) && isHis(record.path) && this.#isSlightEdit(file, record);
  }

  async #nodeOf(path: string): Promise<string> {
    const { dev, ino } = await lstat(this.#stage.at(path));
    return `${dev}:${ino}`;
  }

  /** Nothing is there, or a file that came from elsewhere as it was: with new content, it may as well be the one that was copied and edited. */
  #isLeft(path: string): boolean {
    const now = this.#files.get(path);
    return !now || (!now.locked && this.#isUnchanged(now.trueId, now.text));
  }

  /** Nothing but a line was added to what was known. */
  #isSlightEdit({ text }: AuthoredFile, { hash }: Record): boolean {
    const lines = text.trimEnd().split("\n");
    const [last = ""] = lines.slice(-1);
    return (
      /^(Later added|Appended): /.test(last) &&
      lines.length > 4 &&
      hashOf(text.slice(0, text.indexOf(`\n${last}`))) === hash
    );
  }

  async #checkIndex(holdings: readonly IndexedRef[], present: ReadonlyMap<string, ManifestEntry>): Promise<void> {
    const paths = holdings.map(({ path = "" }) => path);
    const held = new Map(holdings.map((ref) => [unmarked(ref.path ?? "", paths), ref]));
    assert.equal(held.size, holdings.length, "no path is in the index twice");
    for (const [path, file] of this.#files) {
      const entry = present.get(path);
      if (!entry || entry.contentHash === hashOf("")) continue;
      const ref = held.get(path);
      if (!ref && file.locked && entry.versions.length === 0) continue;
      assert.ok(ref, `'${path}' is in the index, which has ${[...held.keys()].sort().join(", ")}`);
      assert.equal(ref.itemId, entry.docId, `'${path}' in the index`);
      // Known by a run that was killed, and closed since: what was read before is all that can be searched.
      if (!file.locked) assert.equal(ref.sha256, entry.contentHash, `'${path}' in the index`);
    }
    const extra = [...held.keys()].filter((path) => !this.#files.has(path) && !this.#mayLinger(path));
    assert.deepEqual(extra, [], "the index holds nothing else");
    // An empty file is no document: it waits in `03_failed/`, with a row that says why.
    const isEmpty = ({ contentHash }: ManifestEntry): boolean => contentHash === hashOf("");
    const empty = new Set([...present.values()].filter(isEmpty).map(({ docId }) => docId));
    const rows = (await this.#idsInMap("vectorstore_map.csv")).filter((id) => !empty.has(id as ItemId));
    assert.deepEqual(rows, holdings.map(({ itemId }) => itemId as string).sort(), "the map and the index");
  }

  async #idsInMap(name: string): Promise<string[]> {
    const text = await readMapText(this.#stage.app, FOLDERS, DOCS, name);
    return (text.match(/\bdoc_[0-9a-z_-]+/gi) ?? []).sort();
  }

  /** Every word that only one text has is found where that text is now, and nowhere else. */
  async #checkSearch(holdings: readonly IndexedRef[]): Promise<void> {
    const wanted = new Map<string, Set<string>>();
    for (const marker of [...this.#spoken].slice(-NOT_FORGOTTEN)) wanted.set(marker, new Set());
    for (const [path, { text }] of this.#files) {
      for (const marker of markersOf(text)) note(wanted, marker, path);
    }
    const known = holdings.map(({ path = "" }) => path);
    const pathOf = new Map(holdings.map(({ fileId, path = "" }) => [fileId as string, unmarked(path, known)]));
    const isOpen = (path: string): boolean => !this.#files.get(path)?.locked && !this.#mayLinger(path);
    for (const [marker, paths] of wanted) {
      const found = await this.#search(marker, pathOf);
      const [readable, seen] = [paths, found].map((all) => [...all].filter(isOpen).sort());
      assert.deepEqual(seen, readable, `where search finds '${marker}'`);
    }
    assert.deepEqual([...(await this.#search(DECOY, pathOf))], [], "what is left out is not found");
  }

  async #search(word: string, pathOf: ReadonlyMap<string, string>): Promise<Set<string>> {
    const request = { text: word, limit: 50, domainId: FOLDERS, vectorStoreId: undefined };
    const { sources } = await this.#stage.app.query(request);
    const saying = sources.filter(({ text }) => text.includes(word));
    const files = saying.flatMap(({ fileId, details }) => [
      fileId,
      ...(details?.alsoIn ?? []).map((one) => one.fileId),
    ]);
    return new Set(files.map((fileId) => pathOf.get(fileId) ?? assert.fail(`${fileId} is no document of the source`)));
  }

  async #checkMirror(): Promise<void> {
    const mirrored = new Map<string, string>();
    const onDisk = await this.#stage.below("02_embedded");
    for (const path of onDisk) {
      mirrored.set(unmarked(path, onDisk), await readFile(join(this.#stage.folder, "02_embedded", path), "utf8"));
    }
    const expected = [...this.#files].filter(([, { locked, text }]) => !locked && text !== "");
    for (const [path, { text }] of expected) assert.equal(mirrored.get(path), text, `'${path}' in the mirror`);
    const extra = [...mirrored.keys()].filter((path) => !this.#files.has(path) && !this.#mayLinger(path));
    assert.deepEqual(extra, [], "the mirror has nothing else");
  }

  async #checkKnowledge(
    manifest: readonly ManifestEntry[],
    present: ReadonlyMap<string, ManifestEntry>,
  ): Promise<void> {
    assert.deepEqual(await this.#stage.below(".staging"), [], "nothing is left in staging");
    const folders = await readdir(join(this.#stage.folder, "knowledge_base", "documents")).catch(() => []);
    const known = new Set(manifest.map(({ docId }) => docId));
    const orphans = folders.filter((name) => !known.has(name as ItemId));
    assert.deepEqual(orphans, [], "no folder of the knowledge base is an orphan");
    for (const [path, { text, locked }] of this.#files) {
      const entry = present.get(path);
      if (locked || text === "" || !entry) continue;
      const kept = await this.#stage.kept(entry.docId);
      for (const marker of markersOf(text)) assert.ok(kept?.text.includes(marker), `'${path}' in the knowledge base`);
      assert.equal(entry.versions.at(-1)?.hash, entry.contentHash, `the current version of '${path}'`);
      const versions = new Set(entry.versions.map(({ versionId }) => versionId));
      assert.deepEqual(
        kept?.versions.filter((id) => !versions.has(id)),
        [],
        `versions of '${path}'`,
      );
    }
  }

  /** From here on, this is what the files are. */
  #learn(present: ReadonlyMap<string, ManifestEntry>): void {
    const seen = [...this.#files].filter(
      ([path, file]) => !file.locked || this.#records.get(file.trueId)?.path === path,
    );
    const there = new Set(seen.map(([, { trueId }]) => trueId));
    for (const [trueId, record] of this.#records) {
      if (!there.has(trueId)) this.#records.set(trueId, { ...record, path: "" });
    }
    for (const [path, file] of this.#files) {
      const entry = present.get(path);
      // Of a locked file in the place of another one, the manifest tells what was there before.
      if (!entry || !there.has(file.trueId)) continue;
      const { docId, contentHash: hash, node } = entry;
      for (const [trueId, other] of this.#records) if (other.docId === docId) this.#records.delete(trueId);
      this.#records.set(file.trueId, { docId, hash, path, node, family: file.family });
      if (!file.locked) for (const marker of markersOf(file.text)) note(this.#markersOf, docId, marker);
    }
  }

  /**
   * Of a purged file, neither its id nor a word that only it had is anywhere but where versions and users' properties are; of one that the
   * manifest does not know any more, they are nowhere.
   */
  async #checkPurged(manifest: readonly ManifestEntry[]): Promise<void> {
    const purged = new Set(manifest.flatMap(({ docId, status }) => (status === "deleted" ? [docId] : [])));
    const known = new Set(manifest.map(({ docId }) => docId));
    const isGone = (docId: ItemId): boolean => purged.has(docId) || !known.has(docId);
    const gone = [...this.#markersOf].filter(([docId]) => isGone(docId));
    if (gone.length === 0) return;
    const alive = new Set([...this.#markersOf].flatMap(([docId, markers]) => (isGone(docId) ? [] : [...markers])));
    const ofPurged = new Set(gone.flatMap(([docId, markers]) => (purged.has(docId) ? [...markers] : [])));
    const stored = await this.#everythingStored();
    const left = gone
      .flatMap(([docId, markers]) =>
        [docId, ...markers].map((word) => ({ word, mayStay: purged.has(docId) || ofPurged.has(word) })),
      )
      .filter(({ word }) => !alive.has(word))
      .flatMap(({ word, mayStay }) =>
        [...(stored.get(word) ?? [])]
          .filter((where) => !(mayStay && STAYS_WITH_ENTRY.test(where)))
          .map((where) => `${word} in ${where}`),
      );
    assert.deepEqual(left, [], "nothing of a purged document is left");
  }

  /** Ids and marker words in index, map files, metadata, knowledge base and mirror, and where they are. */
  async #everythingStored(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const words = new Map<string, Set<string>>();
    const read = (text: string, where: string): void => {
      for (const word of text.match(/qzx[0-9a-z]+mark|\bdoc_[0-9a-z_-]+/gi) ?? []) {
        words.set(word, (words.get(word) ?? new Set()).add(where));
      }
    };
    const index = storageFolder(this.#stage.storage, "index");
    const databases = (await readdir(index, { recursive: true })).filter((name) => /\.(db|sqlite)$/.test(name));
    for (const name of databases) for (const { text, table } of textsOf(join(index, name))) read(text, table);
    assert.ok(databases.length > 0 && words.size > 0, "the index was read");
    for (const folder of ["02_embedded", "03_failed", "knowledge_base", ".staging"]) {
      for (const path of await this.#stage.below(folder)) {
        read(path, folder);
        read(await readFile(join(this.#stage.folder, folder, path), "utf8"), folder);
      }
    }
    const ledger = join(storageFolder(this.#stage.storage, "crawler"), FOLDERS, "ledger.sqlite");
    for (const { text, table, column } of textsOf(ledger)) {
      if (!MANIFEST_TABLES.has(table) && column !== "item_id") read(text, `ledger, ${table}.${column}`);
    }
    const domains = storageFolder(this.#stage.storage, "domains");
    const name = "files_metadata.json";
    read(await readFile(join(domains, FOLDERS, name), "utf8").catch(() => ""), name);
    return words;
  }
}

const STAYS_WITH_ENTRY = /^(knowledge_base|files_metadata\.json|ledger, embedded_file\.)/;

/** Every text in every table, but for the list of all words ever, and what SQLite keeps for full-text search, which cannot be read as text. */
function* textsOf(file: string): Generator<{ readonly text: string; readonly table: string; readonly column: string }> {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = database.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table'").all();
    const virtual = tables.flatMap(({ name, sql }) => (String(sql).startsWith("CREATE VIRTUAL") ? [String(name)] : []));
    for (const { name } of tables) {
      if (name === "words" || virtual.some((one) => name === one || String(name).startsWith(`${one}_`))) continue;
      for (const row of database.prepare(`SELECT * FROM "${name}"`).iterate()) {
        for (const [column, text] of Object.entries(row)) {
          if (typeof text === "string") yield { text, table: String(name), column };
        }
      }
    }
  } finally {
    database.close();
  }
}

function isPresent({ status }: ManifestEntry): boolean {
  return status === "active" || status === "error";
}

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function note<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set.add(value));
}

/** The name at the source of a file that got a mark in the mirror, since another one differs from it in upper and lower case alone. */
function unmarked(path: string, others: readonly string[]): string {
  const plain = path.replace(/~[0-9a-f]{8}(?=\.[^./]*$)/, "");
  const collides = others.some((other) => other !== path && other.toLowerCase() === plain.toLowerCase());
  return collides && !others.includes(plain) ? plain : path;
}
