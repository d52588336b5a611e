import { randomBytes } from "node:crypto";
import { type Domain, isSameSource } from "../../contracts/domain.ts";
import type { ErasedItem } from "../../contracts/erasure.ts";
import { BadInputError, ConflictError, explain } from "../../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Index } from "../../contracts/search-index.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { refuseWhileRenamed } from "../../domains/domain-rename.ts";
import { erasedKey, pathHash } from "../../domains/erasure-store.ts";
import { WordFinder } from "../../lib/mask-file.ts";
import { releaseNumber } from "../../lib/release.ts";
import { plural } from "../../lib/text.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import { EMBEDDED_FOLDER, FAILED_FOLDER, ORIGINALS_FOLDER } from "../../mirror/layout.ts";
import { partsFor } from "../dry-run.ts";
import type { EngineParts } from "../engine-parts.ts";
import { readDomain } from "../read-domain.ts";
import { hashCertificate } from "../verify/certificate.ts";
import { leaseSource } from "../with-ledger.ts";
import { checkWanted, type FoundItem, findItems, runOf, sourceRuns, type WantedItems } from "./find-items.ts";
import { refuseHeld } from "./holds.ts";
import {
  type LeavingItem,
  type OpenStore,
  PLACES,
  type PlaceContext,
  type PlaceResult,
  SHORTEST_WORD,
} from "./places.ts";
import { DocumentQuotes } from "./quotes.ts";
import { type ErasedInPlace, formatReceipt, type ReceiptStatement, signReceipt } from "./receipt.ts";

export interface EraseRequest extends WantedItems {
  readonly domainId: DomainId;
  /** Documents with the same content in other places are erased, too, in whatever domain they are. */
  readonly copies: boolean;
  /** Stands in the list of erased items, in receipts and logs; must not name the document. */
  readonly reason: string;
  /** Who asked for it. */
  readonly by: string;
  /** A search may erase more than MANY documents. */
  readonly confirmDeletes: boolean;
}

/** As the endpoint answers. Paths only in a dry run: the answer is stored with the job. */
export interface EraseResult {
  readonly domain_id: DomainId;
  readonly dry_run: boolean;
  readonly items: readonly ErasedDocument[];
  readonly copies: readonly CopyElsewhere[];
  readonly places: readonly ErasedInPlace[];
  readonly generations: ReceiptStatement["generations"];
  readonly left: readonly string[];
  readonly may_still_be: readonly string[];
  readonly receipts: readonly { readonly file: string; readonly sha256: string; readonly fingerprint: string }[];
}

interface ErasedDocument {
  readonly source_type: string;
  readonly source_id: string;
  readonly item: string;
  readonly path?: string;
}

interface CopyElsewhere {
  /** "" for a file that was attached over the protocol. */
  readonly domain_id: string;
  readonly source_id: string;
  readonly item: string;
  readonly erased: boolean;
  readonly path?: string;
}

/** A search that finds more asks first. */
const MANY = 25;
/** SHA-256 of no bytes: empty files are no copies of each other. */
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/**
 * Removes documents from every place of PLACES and blocks them from being crawled again. Intent first: from the moment the items are
 * in the list of erased items, crawls leave them out, and an erasing that is killed is finished by the next crawl or maintenance.
 */
export async function erase(request: EraseRequest, all: EngineParts, job: JobContext): Promise<EraseResult> {
  const parts = partsFor(all, job);
  const { domainId, copies: withCopies, reason, by } = request;
  checkWanted(request);
  await refuseWhileRenamed(parts.domainsFolder, domainId);
  await finishErasures(domainId, parts, job);
  const domain = await readDomain(domainId, parts, job);
  const own = await openDomain(domain, parts, job);
  const found = await findItems(domain, request, own.stores.find(({ isOwn }) => isOwn)?.index, parts);
  if (request.search !== undefined && found.length > MANY && !request.confirmDeletes && !job.dryRun) {
    throw new ConflictError(
      `The text is in ${plural(found.length, "document")}, more than ${MANY}. Look at them with a dry run, and confirm with confirm_deletes=true (on the command line: --confirm-deletes).`,
    );
  }
  const items = await gather(found, own);
  const groups: Group[] = [{ context: own, items }];
  const copies = await findCopies(items, parts, job);
  if (withCopies) groups.push(...(await gatherCopies(copies.items, parts, job)));
  for (const { context, items } of groups) await refuseAnyHeld(context.domain.domainId, items, parts);
  refuseNames(
    reason,
    groups.flatMap(({ items }) => items),
  );
  const told = describeAll(found, copies, { withCopies, dryRun: job.dryRun });
  if (job.dryRun)
    return { ...told, ...(await foresee(groups)), ...tellRest(domainId, parts), dry_run: true, receipts: [] };
  const erasureId = `er_${randomBytes(12).toString("hex")}`;
  const startedAt = nowUtcMicros();
  for (const { context, items } of groups) {
    const fresh = items.map(
      (item): ErasedItem => ({ ...recordOf(item), erasureId, reason, by, startedAt, finishedAt: "" }),
    );
    await parts.erasures.change(context.domain.domainId, (records) => ({
      ...records,
      erased: [...records.erased.filter((one) => !fresh.some((other) => isSame(one, other))), ...fresh],
    }));
  }
  job.log(
    `Erasing ${plural(
      groups.reduce((sum, { items }) => sum + items.length, 0),
      "document",
    )} (${erasureId}).`,
  );
  const copiesLeft = withCopies ? [] : copies.told;
  const attached = withCopies ? copies.attached : [];
  for (const { fileId } of attached) await parts.backend.storage?.eraseFile(fileId);
  const done: Finished[] = [];
  for (const { context, items: own } of groups) {
    const all = own.map((item) => withAttached(item, attached));
    const intent = { erasureId, copiesLeft, isResumed: false };
    done.push(await whileLeased(all, context, (leased) => eraseEverywhere(all, intent, leased)));
  }
  return {
    ...told,
    ...sumUp(done),
    ...tellRest(domainId, parts),
    dry_run: false,
    receipts: done.map(({ file }) => file),
  };
}

/** Finishes interrupted erasures. The caller must hold no lease of the domain's sources. */
export async function finishErasures(domainId: DomainId, parts: EngineParts, job: JobContext): Promise<void> {
  if (job.dryRun) return;
  const { erased } = await parts.erasures.read(domainId);
  const open = Map.groupBy(
    erased.filter(({ finishedAt }) => finishedAt === ""),
    ({ erasureId }) => erasureId,
  );
  for (const [erasureId, records] of open) {
    const domain = await parts.domains.get(domainId);
    const context = await openDomain(domain, parts, job);
    const runs = await sourceRuns(domain, parts);
    const found: FoundItem[] = [];
    for (const record of records) {
      const itemId = await findByKey(record, runs, context);
      const run = runs.find(({ config }) => isSameSource(config, record));
      found.push({ run: run ?? runOf(domainId, record.sourceId, itemId, runs, parts), itemId, path: "" });
    }
    const items = await gather(found, context);
    await whileLeased(items, context, async (leased) => {
      // The previous holder of the leases may have finished this erasure.
      if (!(await isOpen(erasureId, leased))) return;
      job.log(`Finishing the erasing of ${plural(records.length, "document")} that was interrupted (${erasureId}).`);
      await eraseEverywhere(items, { erasureId, copiesLeft: [], isResumed: true }, leased);
    });
  }
}

/** The id of an item whose record has only a hash of it; the hash itself if nothing has the item any more. */
async function findByKey(
  record: ErasedItem,
  runs: readonly SourceRun[],
  { parts, stores }: PlaceContext,
): Promise<ItemId> {
  const { item, sourceId } = record;
  if (!item.startsWith("sha256:")) return item as ItemId;
  const run = runs.find(({ config }) => isSameSource(config, record));
  const ledger = run && (await parts.ledgers.open(run, { readOnly: true }));
  for await (const ids of ledger?.items() ?? []) for (const id of ids) if (erasedKey(id) === item) return id;
  for (const { index } of stores) {
    for await (const refs of index.holdings(sourceId)) {
      for (const { itemId } of refs) if (erasedKey(itemId) === item) return itemId;
    }
  }
  return item as ItemId;
}

interface DomainContext extends PlaceContext {
  readonly stores: readonly OpenStore[];
}

/** Opens every store that may have documents of the domain. */
async function openDomain(domain: Domain, parts: EngineParts, job: JobContext): Promise<DomainContext> {
  const { domainId, vectorStoreId } = domain;
  const others = (await parts.ledgers.stores.list(domainId)).map((one) => one.vectorStoreId);
  const indexed = await parts.ledgers.indexedStores(domainId, domain.sources);
  const ids = new Set([vectorStoreId, ...others, ...indexed].filter((id): id is VectorStoreId => id !== ""));
  const stores: OpenStore[] = [];
  for (const storeId of ids) {
    const index = await parts.backend.openIndex(storeId, domainId, job.signal);
    if (index) stores.push({ storeId, index, isOwn: storeId === vectorStoreId });
  }
  return { domain, stores, parts, job };
}

/** What is erased, with its hashes, for the list of erased items. */
interface GatheredItem extends LeavingItem {
  readonly path: string;
  readonly hashes: readonly string[];
  readonly allHashes: readonly string[];
  readonly paths: readonly string[];
}

async function gather(found: readonly FoundItem[], context: PlaceContext): Promise<GatheredItem[]> {
  const items: GatheredItem[] = [];
  for (const one of found) items.push(await gatherOne(one, context));
  return items;
}

async function gatherOne({ run, itemId, path }: FoundItem, { stores, parts }: PlaceContext): Promise<GatheredItem> {
  const traces = await parts.ledgers.traces(run, itemId);
  const names = new Set(traces?.names);
  const paths = new Set(traces?.paths);
  const fileIds = new Set<FileId>(traces?.fileIds);
  const hashes = new Set(traces?.hashes);
  const earlier = new Set(traces?.earlierHashes);
  for (const file of traces?.files ?? []) names.add(belowSource(file));
  const { sourceId } = run.config;
  for (const { index } of stores) {
    for (const known of (await index.retained?.describe(sourceId, itemId)) ?? []) {
      names.add(known.name).add(known.url);
      paths.add(known.path);
      fileIds.add(known.fileId);
      earlier.add(known.sha256);
    }
  }
  const words: string[] = [];
  for (const word of new Set([...names, ...paths])) {
    if (await isTelling(word, { run, itemId }, parts)) words.push(word);
  }
  const current = hashes.size > 0 ? [...hashes] : [...earlier];
  const isHash = (hash: string): boolean => /^[0-9a-f]{64}$/.test(hash) && hash !== EMPTY;
  return {
    run,
    itemId,
    path,
    words,
    fileIds: [...fileIds],
    quotes: () => quotesOf({ run, itemId, fileIds: [...fileIds], words }, stores),
    paths: [...paths].filter((one) => one !== ""),
    hashes: current.filter(isHash),
    allHashes: [...new Set([...hashes, ...earlier])].filter(isHash),
  };
}

async function quotesOf(
  { run, itemId, fileIds, words }: Pick<GatheredItem, "run" | "itemId" | "fileIds" | "words">,
  stores: readonly OpenStore[],
): Promise<DocumentQuotes> {
  const quotes = new DocumentQuotes(fileIds, words);
  for (const { index } of stores) {
    for await (const text of index.retained?.texts(run.config.sourceId, itemId) ?? []) quotes.addText(text);
  }
  return quotes;
}

const FOLDERS: readonly string[] = [ORIGINALS_FOLDER, EMBEDDED_FOLDER, FAILED_FOLDER];

/** `DEMO/01_files/docs/02_embedded/a/b.txt`, or any end of it: `a/b.txt`. */
function belowSource(file: string): string {
  const parts = file.split("/");
  const at = parts.findIndex((part) => FOLDERS.includes(part));
  return parts.slice(at + 1).join("/");
}

/** Whether a word identifies this item alone. Many do not: rows of lists are called `5.md`, and many folders have a `README.md`. */
async function isTelling(
  word: string,
  { run, itemId }: Pick<LeavingItem, "run" | "itemId">,
  { ledgers }: EngineParts,
): Promise<boolean> {
  if (word.length < SHORTEST_WORD || /^\d+\.md$/.test(word)) return false;
  return /[/\\]/.test(word) || !(await ledgers.isNameShared(run.domainId, word, itemId));
}

function recordOf(
  item: GatheredItem,
): Pick<ErasedItem, "sourceType" | "sourceId" | "item" | "contentHashes" | "pathHashes"> {
  const { sourceType, sourceId, kind } = item.run.config;
  const isByPath = !kind.abilities.hasIds;
  return {
    sourceType,
    sourceId,
    item: erasedKey(item.itemId),
    contentHashes: item.allHashes,
    pathHashes: isByPath ? item.paths.map((path) => pathHash({ sourceType, sourceId }, path)) : [],
  };
}

function isSame(a: ErasedItem, b: ErasedItem): boolean {
  return isSameSource(a, b) && a.item === b.item;
}

interface Copies {
  readonly items: readonly {
    readonly domainId: DomainId;
    readonly kind: string;
    readonly sourceId: SourceId;
    readonly itemId: ItemId;
    readonly path: string;
  }[];
  /** Attached over the wire. */
  readonly attached: readonly { readonly fileId: FileId; readonly name: string }[];
  readonly told: readonly {
    readonly domain_id: string;
    readonly source_id: string;
    readonly item: string;
    readonly path: string;
  }[];
}

/** Documents with the same content in any domain, and attached files. */
async function findCopies(items: readonly GatheredItem[], parts: EngineParts, job: JobContext): Promise<Copies> {
  const hashes = [...new Set(items.flatMap((item) => item.hashes))];
  const found = new Map<string, Copies["items"][number]>();
  const attached = new Map<FileId, string>();
  const isOwn = (domainId: string, sourceId: string, itemId: ItemId): boolean =>
    items.some(
      ({ run, itemId: own }) => run.domainId === domainId && run.config.sourceId === sourceId && own === itemId,
    );
  for (const domain of hashes.length > 0 ? (await parts.domains.list()).domains : []) {
    const { domainId, vectorStoreId } = domain;
    for (const { kind, sourceId, itemId, path } of await parts.ledgers.withContent(domainId, hashes)) {
      const key = `${domainId} ${sourceId} ${itemId}`;
      if (!isOwn(domainId, sourceId, itemId)) {
        found.set(key, { domainId, kind, sourceId: sourceId as SourceId, itemId, path: belowSource(path) });
      }
    }
    const index = vectorStoreId ? await parts.backend.openIndex(vectorStoreId, domainId, job.signal) : undefined;
    for (const copy of (await index?.retained?.withContent(hashes)) ?? []) {
      const { sourceId, itemId, path, fileId, name } = copy;
      if (copy.domainId === "") attached.set(fileId, name);
      else if (
        copy.domainId === domainId &&
        !isOwn(domainId, sourceId, itemId) &&
        !found.has(`${domainId} ${sourceId} ${itemId}`)
      ) {
        const kind = parts.domains.kinds.ofItem(itemId).type;
        found.set(`${domainId} ${sourceId} ${itemId}`, {
          domainId,
          kind,
          sourceId: sourceId as SourceId,
          itemId,
          path,
        });
      }
    }
  }
  const told = [...found.values()].map(({ domainId, sourceId, itemId, path }) => ({
    domain_id: domainId,
    source_id: sourceId,
    item: erasedKey(itemId),
    path,
  }));
  const files = [...attached].map(([fileId, path]) => ({ domain_id: "", source_id: "", item: fileId, path }));
  return {
    items: [...found.values()],
    attached: [...attached].map(([fileId, name]) => ({ fileId, name })),
    told: [...told, ...files],
  };
}

/** Attached copies are named in the same logs and answers. */
function withAttached(item: GatheredItem, attached: Copies["attached"]): GatheredItem {
  const words = attached.map(({ name }) => name).filter((name) => name.length >= SHORTEST_WORD);
  const fileIds = attached.map(({ fileId }) => fileId);
  const quotes = async (): Promise<DocumentQuotes> => {
    const own = await item.quotes();
    own.addFiles(fileIds);
    return own;
  };
  return { ...item, words: [...item.words, ...words], fileIds: [...item.fileIds, ...fileIds], quotes };
}

interface Group {
  readonly context: DomainContext;
  readonly items: readonly GatheredItem[];
}

async function gatherCopies(copies: Copies["items"], parts: EngineParts, job: JobContext): Promise<Group[]> {
  const groups: Group[] = [];
  for (const [domainId, those] of Map.groupBy(copies, (copy) => copy.domainId)) {
    const domain = await readDomain(domainId, parts, job);
    const context = await openDomain(domain, parts, job);
    const runs = await sourceRuns(domain, parts);
    const found = those.map(({ kind, sourceId, itemId, path }): FoundItem => {
      const run = runs.find(({ config }) => isSameSource(config, { sourceType: kind, sourceId }));
      return { run: run ?? runOf(domainId, sourceId, itemId, runs, parts), itemId, path };
    });
    groups.push({ context, items: await gather(found, context) });
  }
  return groups;
}

async function refuseAnyHeld(
  domainId: DomainId,
  items: readonly GatheredItem[],
  { erasures }: EngineParts,
): Promise<void> {
  const { holds } = await erasures.read(domainId);
  refuseHeld(
    holds,
    domainId,
    items.map(({ run, itemId }) => ({ sourceId: run.config.sourceId, itemId })),
    "erased",
  );
}

function refuseNames(reason: string, items: readonly GatheredItem[]): void {
  const finder = new WordFinder(items.flatMap(({ words }) => words));
  if (!finder.isEmpty && finder.isIn(Buffer.from(reason))) {
    throw new BadInputError(
      "The reason names the document. It stays in the list of erased items, so give one that does not.",
    );
  }
}

function describeAll(
  found: readonly FoundItem[],
  { told }: Copies,
  { withCopies, dryRun }: { readonly withCopies: boolean; readonly dryRun: boolean },
): Pick<EraseResult, "items" | "copies"> {
  return {
    items: found.map(({ run: { config }, itemId, path }) => ({
      source_type: config.sourceType,
      source_id: config.sourceId,
      item: erasedKey(itemId),
      ...(dryRun && { path }),
    })),
    copies: told.map(({ path, ...copy }) => ({ ...copy, erased: withCopies && !dryRun, ...(dryRun && { path }) })),
  };
}

function tellRest(domainId: DomainId, parts: EngineParts): Pick<EraseResult, "domain_id" | "may_still_be"> {
  return { domain_id: domainId, may_still_be: whereElse(parts) };
}

/** What no program of ours can reach. */
function whereElse({ backend }: EngineParts): readonly string[] {
  return [
    "At its source: erasing changes nothing there.",
    "In backups of the storage folder and of the databases, and in what the file system or the disk keeps of overwritten files.",
    "In what was exported: maps, plans, reports and certificates that were saved elsewhere, answers that clients and browsers keep.",
    "In other documents that quote it.",
    "With services that were sent its text: language models and embeddings.",
    ...(backend.commits === "gradual"
      ? ["At the service of the vector stores, for as long as it keeps what was deleted."]
      : []),
  ];
}

async function foresee(groups: readonly Group[]): Promise<Pick<EraseResult, "places" | "generations" | "left">> {
  const tally = new Tally();
  for (const { context, items } of groups) {
    for (const place of PLACES) {
      await context.job.checkpoint();
      for (const item of items) tally.add(place.name, await place.erase(item, context));
    }
  }
  return tally.result();
}

interface Finished {
  readonly statement: ReceiptStatement;
  readonly file: EraseResult["receipts"][number];
}

interface Intent {
  readonly erasureId: string;
  readonly copiesLeft: Copies["told"];
  /** true: an interrupted erasure is finished; the names of the items may be gone already. */
  readonly isResumed: boolean;
}

async function isOpen(erasureId: string, { domain, parts }: DomainContext): Promise<boolean> {
  const { erased } = await parts.erasures.read(domain.domainId);
  return erased.some((one) => one.erasureId === erasureId && one.finishedAt === "");
}

/** Does it under the leases of the items' sources. */
async function whileLeased<T>(
  items: readonly GatheredItem[],
  context: DomainContext,
  work: (leased: DomainContext) => Promise<T>,
): Promise<T> {
  await using leases = new AsyncDisposableStack();
  const sources = new Map(items.map(({ run }) => [`${run.config.sourceType}/${run.config.sourceId}`, run]));
  let job = context.job;
  for (const run of sources.values()) job = leases.use(await leaseSource(run, context.parts, job)).job;
  return await work({ ...context, job });
}

/** Does the places one after the other, then signs what was done. */
async function eraseEverywhere(
  items: readonly GatheredItem[],
  { erasureId, copiesLeft, isResumed }: Intent,
  context: DomainContext,
): Promise<Finished> {
  const { parts, domain, stores, job } = context;
  const tally = new Tally();
  for (const [at, place] of PLACES.entries()) {
    job.log(`[ ${at + 1} / ${PLACES.length + 1} ] ${place.name}`);
    for (const item of items) {
      await job.checkpoint();
      tally.add(place.name, await place.erase(item, context));
    }
  }
  job.log(`[ ${PLACES.length + 1} / ${PLACES.length + 1} ] files of the databases`);
  for (const { index } of stores) {
    await relearn(index, job, (problem) => tally.leave(problem));
  }
  // The names are lost if erasing was interrupted, so nothing can be searched for.
  const words = isResumed ? [] : items.flatMap((item) => item.words);
  for (const sentence of await parts.erasing.scrub(words)) tally.leave(sentence);
  const { domainId } = domain;
  const finishedAt = nowUtcMicros();
  const { erased } = await parts.erasures.read(domainId);
  const records = erased.filter((one) => one.erasureId === erasureId);
  const statement = statementOf(records, { domainId, finishedAt, copiesLeft, parts }, tally);
  const receipt = await signReceipt(statement, parts.erasing.signer);
  const text = formatReceipt(receipt);
  const name = `${finishedAt.replaceAll(/[:.]/g, "-")}_${erasureId}.json`;
  const file = await parts.erasures.putReceipt(domainId, name, text);
  await parts.erasures.change(domainId, (all) => ({
    ...all,
    erased: all.erased.map((one) => (one.erasureId === erasureId ? { ...one, finishedAt } : one)),
  }));
  job.log(`Erased ${plural(records.length, "document")}. Receipt ${file}, signed by ${receipt.signature.fingerprint}.`);
  return { statement, file: { file, sha256: hashCertificate(text), fingerprint: receipt.signature.fingerprint } };
}

/** Vectors that were learnt from the texts are learnt anew. */
async function relearn(index: Index, job: JobContext, leave: (problem: string) => void): Promise<void> {
  try {
    await index.refreshVectors?.((line) => job.log(line), job.signal);
  } catch (error) {
    if (job.signal.aborted) throw error;
    leave(`The vectors could not be learnt anew, so searches go by words until the next crawl: ${explain(error)}`);
  }
}

function statementOf(
  records: readonly ErasedItem[],
  about: {
    readonly domainId: DomainId;
    readonly finishedAt: string;
    readonly copiesLeft: Copies["told"];
    readonly parts: EngineParts;
  },
  tally: Tally,
): ReceiptStatement {
  const [first] = records;
  return {
    erasure_id: first?.erasureId ?? "",
    domain_id: about.domainId,
    started_utc: first?.startedAt ?? "",
    finished_utc: about.finishedAt,
    reason: first?.reason ?? "",
    by: first?.by ?? "",
    items: records.map(({ sourceType, sourceId, item, contentHashes }) => ({
      source_type: sourceType,
      source_id: sourceId,
      item,
      content_hashes: contentHashes,
    })),
    copies_left: about.copiesLeft.map(({ domain_id, source_id, item }) => ({ domain_id, source_id, item })),
    ...tally.result(),
    may_still_be: whereElse(about.parts),
    versions: { lockstep: releaseNumber(), node: process.version },
  };
}

function sumUp(done: readonly Finished[]): Pick<EraseResult, "places" | "generations" | "left"> {
  const tally = new Tally();
  for (const { statement } of done) {
    for (const { place, removed } of statement.places) tally.add(place, { removed });
    tally.add("", { removed: 0, generations: statement.generations, left: statement.left });
  }
  return tally.result();
}

/** Adds up what was done, by place. */
class Tally {
  readonly #removed = new Map<string, number>();
  readonly #generations = new Map<string, { store: string; number: number; documents: number }>();
  readonly #left = new Set<string>();

  add(place: string, { removed, generations = [], left = [] }: PlaceResult): void {
    if (place !== "") this.#removed.set(place, (this.#removed.get(place) ?? 0) + removed);
    for (const { store, number, documents } of generations) {
      const key = `${store} ${number}`;
      const before = this.#generations.get(key)?.documents ?? 0;
      this.#generations.set(key, { store, number, documents: before + documents });
    }
    for (const sentence of left) this.leave(sentence);
  }

  leave(sentence: string): void {
    this.#left.add(sentence);
  }

  result(): Pick<EraseResult, "places" | "generations" | "left"> {
    return {
      places: [...this.#removed].map(([place, removed]) => ({ place, removed })),
      generations: [...this.#generations.values()],
      left: [...this.#left],
    };
  }
}
