import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Converter } from "../../contracts/converter.ts";
import type { Domain } from "../../contracts/domain.ts";
import { ConflictError } from "../../contracts/errors.ts";
import type { FileId, ItemId, VectorStoreId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { LedgerEntry } from "../../contracts/ledger.ts";
import type { LostQuestion, Question } from "../../contracts/questions.ts";
import type { Index } from "../../contracts/search-index.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { namesIn, pathExists, removeEmptyFolders } from "../../lib/file-system.ts";
import { hashFile } from "../../lib/hash.ts";
import { isInFile, WordFinder } from "../../lib/mask-file.ts";
import { PRIVATE_FOLDER, UPLOADING_FOLDER } from "../../mirror/layout.ts";
import type { Mirror } from "../../mirror/mirror.ts";
import type { EngineParts } from "../engine-parts.ts";
import { deleteItem } from "../ingest/remove-items.ts";
import { folderOfRun } from "../with-ledger.ts";
import type { DocumentQuotes } from "./quotes.ts";

/** An item on its way out, with all that is known of it. In memory only: nothing that is written down may name it. */
export interface LeavingItem {
  readonly run: SourceRun;
  readonly itemId: ItemId;
  /** What it was ever called, as far as that means nothing else: paths, addresses, names that no other item has. */
  readonly words: readonly string[];
  readonly fileIds: readonly FileId[];
  /** Made when it is needed: it has the runs of words of the whole text. */
  quotes(): Promise<DocumentQuotes>;
}

export interface OpenStore {
  readonly storeId: VectorStoreId;
  readonly index: Index;
  readonly isOwn: boolean;
}

export interface PlaceContext {
  readonly domain: Domain;
  /** The domain's own store, those that were swapped for it or are being built, and others that have index rows. */
  readonly stores: readonly OpenStore[];
  readonly parts: EngineParts;
  readonly job: JobContext;
}

export interface PlaceResult {
  /** How many files, rows or documents; in a dry run, how many it would be. */
  readonly removed: number;
  /** How many documents each kept generation of a store lost. */
  readonly generations?: readonly { readonly store: string; readonly number: number; readonly documents: number }[];
  /** What could not be removed, one sentence each; without names. */
  readonly left?: readonly string[];
}

/** Shorter words are in too many others. */
export const SHORTEST_WORD = 4;

/** A place where something of a document may be. */
export interface ErasedPlace {
  /** As receipts name it. */
  readonly name: string;
  /**
   * What it reaches: kinds of files by the words of their pages in docs/formats, and tables of databases. A house test holds this to
   * everything that is persisted.
   */
  readonly covers: readonly string[];
  /** Repeatable after a kill. */
  erase(item: LeavingItem, context: PlaceContext): Promise<PlaceResult>;
}

/**
 * Where erasing reaches, in this order: first what is found by names alone, then the index and the ledger, which have the names. So
 * after a kill at any moment, what is left can still be found.
 */
export const PLACES: readonly ErasedPlace[] = [
  {
    name: "certificates",
    covers: ["domains/<DOMAIN_ID>/certificates/", "domains/<DOMAIN_ID>/certificates/quick.json"],
    erase: eraseCertificates,
  },
  { name: "reports", covers: ["reports/crawls/"], erase: eraseReports },
  {
    name: "questions",
    covers: ["domains/<DOMAIN_ID>/questions.json", "domains/<DOMAIN_ID>/question-runs.json"],
    erase: eraseQuestions,
  },
  { name: "feedback", covers: ["ledger.feedback"], erase: eraseFeedback },
  { name: "logs of jobs", covers: ["jobs/<router>/"], erase: maskJobs },
  { name: "audit log", covers: ["audit/YYYY-MM.jsonl"], erase: maskAudit },
  {
    name: "stored answers",
    covers: ["answers.sqlite", "answers.responses", "answers.conversations", "answers.conversation_items"],
    erase: eraseAnswers,
  },
  {
    name: "copies of migrations",
    covers: [".lockstep/before-ledger/", "backup/<stamp>/", "*.corrupt-<time>"],
    erase: maskCopies,
  },
  { name: "uploads", covers: ["index/detached-uploads.txt"], erase: eraseUploads },
  {
    name: "index",
    covers: [
      "index/<vector_store_id>.sqlite",
      ...["documents", "bodies", "sections", "chunks", "vectors", "spaces", "kept_documents", "loose_bodies"],
      ...["chunks_text", "labels_text", "words", "words_triples", "chunks_postings", "labels_postings"],
    ].map((name) => (name.includes("/") ? name : `store.${name}`)),
    erase: eraseFromIndex,
  },
  { name: "uploaded files", covers: ["domains/<DOMAIN_ID>/uploads/"], erase: eraseUploaded },
  {
    name: "mirror",
    covers: ["02_embedded/", "03_failed/", "01_originals/<list>.csv", "01_originals/<path>.aspx.html"],
    erase: eraseFromMirror,
  },
  {
    name: "knowledge base",
    covers: ["content.md", "metadata.json", "versions/<version_id>/"],
    erase: eraseFromKnowledge,
  },
  { name: "caches of sources", covers: [".lockstep/tree/"], erase: eraseCaches },
  {
    name: "web registry",
    covers: [
      "index/registry.sqlite",
      "registry.items",
      "web/documents/<ab>/<cd>/<item id>",
      "web/documents/snapshots/",
      "images.json",
      "img_<26 letters>.jpg",
      "img_<26 letters>.thumbnail.jpg",
    ],
    erase: eraseFromRegistry,
  },
  {
    name: "ledger and exports",
    covers: [
      "crawler/<DOMAIN_ID>/ledger.sqlite",
      ...["item", "file", "indexed", "acknowledged", "member", "upload", "embedded_file", "page", "page_link"].map(
        (t) => `ledger.${t}`,
      ),
      ...["tracked", "version", "lineage", "cleared", "plan", "plan_item"].map((t) => `ledger.${t}`),
      ...["sharepoint_map.csv", "files_map.csv", "vectorstore_map.csv", "manifest.json", "files_metadata.json"],
    ],
    erase: eraseFromLedger,
  },
];

/** Certificates are signed, so one that names the item goes as a whole: the receipt has its hash, which the next one names. */
async function eraseCertificates({ words }: LeavingItem, { domain, parts }: PlaceContext): Promise<PlaceResult> {
  const folder = join(parts.domainsFolder, domain.domainId, "certificates");
  const finder = new WordFinder(words);
  const left: string[] = [];
  let removed = 0;
  for (const name of (await namesIn(folder)).filter((one) => one.endsWith(".json"))) {
    const path = join(folder, name);
    if (!(await isInFile(path, finder))) continue;
    removed += 1;
    left.push(
      `The certificate ${name} (sha256:${await hashFile(path)}) named it and was removed: the next one goes on from that hash.`,
    );
    await parts.erasing.removePath(path);
  }
  return { removed, left };
}

async function eraseReports(item: LeavingItem, { domain, parts, job }: PlaceContext): Promise<PlaceResult> {
  const named = { ids: [item.itemId, ...item.fileIds], words: item.words };
  const { rewritten, problems } = await parts.erasing.eraseReports(domain.domainId, named, job);
  return { removed: rewritten, left: problems.map((problem) => `It may be in a report: ${problem}.`) };
}

/** Questions that it answers, or that quote it, and their names in what came of earlier ones. */
async function eraseQuestions(item: LeavingItem, { domain, parts, job }: PlaceContext): Promise<PlaceResult> {
  const { domainId } = domain;
  const { sourceId } = item.run.config;
  const quotes = await item.quotes();
  const isOf = (one: Pick<Question, "question" | "document"> & Partial<Question>): boolean =>
    (one.itemId === item.itemId && one.sourceId === sourceId) ||
    quotes.isIn([one.question, one.document, ...(one.words ?? [])].join("\n"));
  const { questions } = await parts.questions.read(domainId);
  const runs = await parts.questions.runs(domainId);
  const asked = questions.filter(isOf);
  const names = new Set(asked.map(({ question }) => question));
  const isLost = (one: LostQuestion): boolean => names.has(one.question) || isOf(one);
  const lost = runs.flatMap((run) => run.lost.filter(isLost));
  const removed = asked.length + lost.length;
  if (removed === 0) return { removed };
  // Crawls and the audit log name the questions. First there, then what came of them: it is all found by the questions.
  const texts = [...new Set([...names, ...lost.map(({ question }) => question)])];
  await parts.erasing.maskLogs("jobs", domainId, texts, job);
  const words = asked.flatMap((one) => one.words.filter((word) => word.length >= SHORTEST_WORD));
  await parts.erasing.maskLogs("audit", domainId, [...texts, ...words], job);
  await parts.erasing.eraseReports(domainId, { ids: [], words: texts }, job);
  await parts.questions.changeRuns(domainId, (all) =>
    all.map((run) => ({ ...run, lost: run.lost.filter((one) => !isLost(one)) })),
  );
  await parts.questions.change(domainId, (set) => ({
    ...set,
    questions: set.questions.filter((one) => !isOf(one)),
  }));
  return { removed };
}

/** Questions and answers that name it, cite it or quote it. */
async function eraseFeedback(item: LeavingItem, { domain, parts }: PlaceContext): Promise<PlaceResult> {
  const { feedback } = parts.ledgers;
  const rows = await feedback.of(domain.domainId);
  if (rows.length === 0) return { removed: 0 };
  const quotes = await item.quotes();
  const cited = new Set<string>(item.fileIds);
  const named = rows.filter(
    ({ question, answer, fileIds }) => fileIds.some((id) => cited.has(id)) || quotes.isIn(`${question}\n${answer}`),
  );
  const ids = named.map(({ id }) => id);
  return { removed: await feedback.remove(domain.domainId, ids) };
}

async function maskJobs({ words }: LeavingItem, { domain, parts, job }: PlaceContext): Promise<PlaceResult> {
  return { removed: await parts.erasing.maskLogs("jobs", domain.domainId, words, job) };
}

async function maskAudit({ words }: LeavingItem, { domain, parts, job }: PlaceContext): Promise<PlaceResult> {
  return { removed: await parts.erasing.maskLogs("audit", domain.domainId, words, job) };
}

async function eraseAnswers(item: LeavingItem, { parts, job }: PlaceContext): Promise<PlaceResult> {
  const { storage } = parts.backend;
  if (storage) return { removed: await storage.eraseAnswers(await item.quotes(), job) };
  return { removed: 0, left: ["Answers that quote it are stored by the service for as long as it keeps them."] };
}

/** Text files of earlier layouts, and files that were set aside because they could not be read. */
async function maskCopies(item: LeavingItem, { domain, parts }: PlaceContext): Promise<PlaceResult> {
  const finder = new WordFinder(item.words);
  const source = folderOfRun(item.run, parts);
  const [before, backups] = [join(source, PRIVATE_FOLDER, "before-ledger"), join(source, "backup")];
  const ofDomain = join(parts.domainsFolder, domain.domainId);
  let removed = 0;
  for await (const path of filesBelow(before, backups, join(ofDomain, PRIVATE_FOLDER))) {
    removed += (await parts.erasing.maskFile(path, finder)) ? 1 : 0;
  }
  for (const folder of [source, ofDomain]) {
    for (const name of (await namesIn(folder)).filter((one) => one.includes(".corrupt-"))) {
      removed += (await parts.erasing.maskFile(join(folder, name), finder)) ? 1 : 0;
    }
  }
  for await (const folder of foldersCalled(item.itemId, backups)) {
    removed += 1;
    await parts.erasing.removePath(folder);
  }
  return { removed };
}

async function eraseUploads(item: LeavingItem, { stores, parts, job }: PlaceContext): Promise<PlaceResult> {
  const { eraseUploads } = parts.backend;
  if (!eraseUploads) return { removed: 0 };
  const files = new Set(item.fileIds);
  for (const { index } of stores) {
    for await (const refs of index.holdings(item.run.config.sourceId)) {
      for (const { itemId, fileId } of refs) if (itemId === item.itemId) files.add(fileId);
    }
  }
  const storeIds = stores.map(({ storeId }) => storeId);
  await eraseUploads.call(parts.backend, [...files], storeIds, job.signal);
  return { removed: files.size };
}

/** Deletes an uploaded file itself, since there is no other source, and what is left of unfinished uploads. */
async function eraseUploaded({ run, itemId }: LeavingItem, { parts }: PlaceContext): Promise<PlaceResult> {
  const { uploads } = run.config.kind;
  if (!uploads?.holds(run.config)) return { removed: 0 };
  const ledger = await parts.ledgers.open(run, { readOnly: true });
  const path = (await ledger.manifest.find([itemId])).get(itemId)?.path;
  const file = path === undefined ? undefined : await uploads.find(run, path);
  const top = uploads.folderOf(run.domainId);
  if (file) await parts.erasing.removePath(file);
  // What is not removed keeps its folder.
  if (file) await removeEmptyFolders(dirname(file), top);
  await parts.erasing.removePath(join(dirname(top), PRIVATE_FOLDER, UPLOADING_FOLDER));
  return { removed: file ? 1 : 0 };
}

async function eraseFromIndex({ run, itemId }: LeavingItem, { stores, job }: PlaceContext): Promise<PlaceResult> {
  const generations: { store: string; number: number; documents: number }[] = [];
  let removed = 0;
  for (const { storeId, index } of stores) {
    const erased = await index.retained?.erase(run.config.sourceId, [itemId], job);
    removed += erased?.documents ?? 0;
    for (const one of erased?.generations ?? []) generations.push({ store: storeId, ...one });
  }
  return { removed, generations };
}

async function eraseFromMirror({ run, itemId }: LeavingItem, { parts }: PlaceContext): Promise<PlaceResult> {
  const mirror = parts.openMirror(run);
  const converter = parts.openConverter(run);
  if (!(await pathExists(mirror.folder))) return { removed: 0 };
  const ledger = await parts.ledgers.open(run, { readOnly: true });
  const entry = await ledger.get(itemId);
  const files = await filesOf(entry, converter, mirror);
  const shared = entry?.mirrored && sharedOriginal(entry, converter, mirror, files.originals);
  // Partial downloads, and files between two paths.
  await mirror.recover(async (item) => (await ledger.get(item))?.mirrored?.file ?? "");
  await mirror.dropWaiting(itemId);
  for (const file of files.own) await mirror.remove(file);
  await shared?.leaveOut();
  return { removed: files.own.length + (shared ? 1 : 0) };
}

interface FilesOfItem {
  readonly own: readonly string[];
  /** Paths below `01_originals/`, of all items. */
  readonly originals: ReadonlySet<string>;
}

/** Its file, in whatever folder it may be, and its original unless other items share that. */
async function filesOf(
  entry: LedgerEntry | undefined,
  converter: Converter | undefined,
  mirror: Mirror,
): Promise<FilesOfItem> {
  const own = new Set<string>();
  const originals = converter ? mirror.originalsAmong((await mirror.scan()).keys()) : new Set<string>();
  for (const file of [entry?.mirrored?.file, entry?.indexed?.file]) {
    if (!file || !mirror.owns(file)) continue;
    const path = mirror.relativePath(file);
    for (const place of [file, mirror.embeddedFile(path), mirror.failedFile(file), mirror.originalFile(path)]) {
      if (mirror.find(place)) own.add(place);
    }
    const original =
      entry?.mirrored && converter?.originalPath({ ...entry.mirrored, itemId: entry.itemId }, path, originals);
    if (original !== undefined && original !== null && !converter?.leaveOut) own.add(mirror.originalFile(original));
  }
  return { own: [...own], originals };
}

/** The export of a list, of which the item is a row. */
function sharedOriginal(
  { itemId, mirrored }: LedgerEntry,
  converter: Converter | undefined,
  mirror: Mirror,
  originals: ReadonlySet<string>,
): { leaveOut(): Promise<void> } | undefined {
  if (!mirrored || !converter?.leaveOut) return undefined;
  const item = { ...mirrored, itemId };
  const path = converter.originalPath(item, mirror.relativePath(mirrored.file), originals);
  if (path === undefined) return undefined;
  return { leaveOut: async () => converter.leaveOut?.(mirror.absolute(mirror.originalFile(path)), [item]) };
}

async function eraseFromKnowledge({ run, itemId }: LeavingItem, { parts }: PlaceContext): Promise<PlaceResult> {
  if (!run.config.kind.abilities.keepsTexts) return { removed: 0 };
  const knowledge = parts.openKnowledge(run);
  const versions = (await knowledge.history(itemId)).length;
  await knowledge.remove(itemId);
  return { removed: versions };
}

/** Clones of repositories: made anew by the next crawl. */
async function eraseCaches({ run }: LeavingItem, { parts }: PlaceContext): Promise<PlaceResult> {
  const cache = join(folderOfRun(run, parts), PRIVATE_FOLDER, "tree");
  const names = await namesIn(cache);
  if (names.length === 0) return { removed: 0 };
  await parts.erasing.removePath(cache);
  return {
    removed: names.length,
    left: [
      "What the source itself keeps, as the repository it is read from: a crawl that reads all of it has it again in its clone.",
    ],
  };
}

/** The record of an address and of those that lead to it, with documents, snapshots and pictures; unless another domain has it. */
async function eraseFromRegistry({ run, itemId, words }: LeavingItem, { parts }: PlaceContext): Promise<PlaceResult> {
  if (!run.config.kind.abilities.registersAddresses) return { removed: 0 };
  const repository = parts.itemRepository();
  const { registry, members, documents } = repository;
  const left: string[] = [];
  let removed = 0;
  const ids = new Set([itemId]);
  for await (const page of registry.entries()) {
    for (const { item } of page) if (item.aliasOf === itemId) ids.add(item.id);
  }
  for (const id of ids) {
    const all = await members.of(id);
    const others = all.filter(({ domainId }) => domainId !== run.domainId);
    await members.change(
      all.filter((one) => !others.includes(one)),
      () => undefined,
    );
    if (others.length > 0) {
      left.push("Another domain has the same address: its record, document and pictures stay.");
      continue;
    }
    const found = await registry.get(id);
    if (found) removed += 1;
    const warn = (sentence: string): void => void left.push(sentence);
    if (found && !(await deleteItem(id, found.version, repository, warn))) {
      throw new ConflictError(`Item '${id}' is being visited. Erase it again when that is over.`);
    }
    await documents.erase(id);
    await repository.images.delete(id);
  }
  // Records of pages that redirected to it.
  const finder = new WordFinder(words);
  for await (const page of registry.entries()) {
    for (const { item, version } of page) {
      if (!item.http.redirectChain.some((address) => finder.isIn(Buffer.from(address)))) continue;
      removed += 1;
      await registry.put({ ...item, http: { ...item.http, redirectChain: [] } }, version);
    }
  }
  return { removed, left: [...new Set(left)] };
}

/** Last: it has the names. Exports are written anew without the item. */
async function eraseFromLedger(item: LeavingItem, { domain, stores, parts, job }: PlaceContext): Promise<PlaceResult> {
  const { run, itemId, words } = item;
  const { ledgers } = parts;
  const known = await ledgers.traces(run, itemId);
  if (!known) return { removed: 0 };
  if (await pathExists(folderOfRun(run, parts))) {
    const ledger = await ledgers.open(run, { readOnly: false, step: "download" });
    ledger.put(itemId, { seen: null, mirrored: null, indexed: null });
    ledger.manifest.drop(itemId);
    await ledger.flush();
    await ledger.close();
    for (const { storeId, isOwn } of stores) {
      if (isOwn) continue;
      const other = await ledgers.open(run, { readOnly: false, step: "embed", vectorStoreId: storeId });
      if ((await other.get(itemId))?.indexed) other.put(itemId, { indexed: null });
      await other.close();
    }
  }
  for (const warning of await ledgers.metadata.remove(domain.domainId, { itemIds: [itemId] })) {
    job.log(`WARNING: ${warning}`);
  }
  await ledgers.eraseTraces(run, itemId, words);
  if (!run.config.kind.abilities.hasIds) await ledgers.exportManifest(run);
  return { removed: known.rows };
}

async function* filesBelow(...folders: readonly string[]): AsyncGenerator<string> {
  for (const folder of folders) {
    for await (const entry of entriesBelow(folder)) if (entry.isFile()) yield join(entry.parentPath, entry.name);
  }
}

async function* foldersCalled(name: string, folder: string): AsyncGenerator<string> {
  for await (const entry of entriesBelow(folder)) {
    if (entry.isDirectory() && entry.name === name) yield join(entry.parentPath, entry.name);
  }
}

async function* entriesBelow(folder: string): AsyncGenerator<Dirent> {
  try {
    yield* await opendir(folder, { recursive: true });
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}
