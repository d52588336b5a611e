import { isEmptyReason } from "../../contracts/document.ts";
import type { Finding } from "../../contracts/finding.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { Ledger, LedgerEntry, Mirrored } from "../../contracts/ledger.ts";
import type { Member, Members } from "../../contracts/members.ts";
import { DAMAGED_RECORD, type RegisteredItem } from "../../contracts/registry.ts";
import type { Listed, Listing, Source } from "../../contracts/source.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { plural } from "../../lib/text.ts";
import type { Mirror } from "../../mirror/mirror.ts";
import { newMember } from "../../plan/web/item-state.ts";
import { afterIndexed, withEvent, withIndexStatus } from "../../plan/web/item-transitions.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { SourceStep } from "../run-context.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";
import { changeItem, type ItemRecords, type ItemRepository } from "./item-records.ts";
import { dropItems, type Warn } from "./remove-items.ts";

const UNREGISTERED =
  "the registry does not know it any more: register it again, or crawl with confirm_deletes=true to take it out of the index";

/**
 * Returns registered addresses that the index has and the registry has lost, with their names at the source. An address
 * that was removed is not lost: it stays a member with `wanted: "no"` until the index has nothing of it.
 */
export async function findUnregistered(
  run: SourceRun,
  ledger: Pick<Ledger, "entries">,
  { registry, members }: ItemRecords,
): Promise<ReadonlyMap<ItemId, string>> {
  const lost = new Map<ItemId, string>();
  if (!isOfRegistered(run)) return lost;
  const known = new Set<ItemId>();
  for await (const page of members.in(run.domainId, run.config.sourceId)) {
    const records = await registry.getMany(page.map(({ itemId }) => itemId));
    for (const [at, { itemId, wanted }] of page.entries()) if (records[at] || wanted === "no") known.add(itemId);
  }
  for await (const entries of ledger.entries()) {
    for (const { itemId, seen, indexed } of entries) {
      if (indexed?.fileId && !known.has(itemId)) lost.set(itemId, seen?.rawUrl || indexed.name);
    }
  }
  return lost;
}

type RegistryParts = Pick<EngineParts, "itemRepository" | "domains" | "backend">;

/**
 * Wraps the source: addresses that the registry lost are listed as unreadable, so they stay in the index until their
 * removal is confirmed.
 */
export function keepUnregistered(
  source: Source,
  { run, request, ledger }: Pick<SourceStep, "run" | "request" | "ledger">,
  parts: RegistryParts,
): Source {
  if (!isOfRegistered(run)) return source;
  return {
    ...source,
    async *list(signal): Listing {
      await restoreMembers(run, ledger, parts, signal);
      const completeness = yield* source.list(signal);
      if (request.confirmDeletes) return completeness;
      const lost = await findUnregistered(run, ledger, parts.itemRepository());
      const kept = [...lost].map(
        ([itemId, path]): Listed => ({ kind: "unreadable", itemId, path, reason: UNREGISTERED }),
      );
      if (kept.length > 0) yield kept;
      return completeness;
    },
  };
}

/**
 * Restores members after the ledger was lost: addresses that the index and the registry have; and all watched
 * addresses, if this is the only domain with registered addresses.
 */
async function restoreMembers(
  { domainId, config }: SourceRun,
  ledger: Ledger,
  parts: RegistryParts,
  signal: AbortSignal,
): Promise<void> {
  const { registry, members } = parts.itemRepository();
  const { sourceId } = config;
  if (!ledger.wasLost) for await (const items of ledger.items()) if (items.length > 0) return;
  const restore = async (records: readonly (RegisteredItem | undefined)[]): Promise<void> => {
    const found = records.flatMap((record) => record?.item ?? []);
    const lost = found.map(({ id, watched }) => {
      const wanted = watched ? "asked" : "led";
      return { ...newMember(domainId, sourceId, id), wanted } as const;
    });
    await members.change(lost, (known, added) => known ?? added);
  };
  const { domains } = await parts.domains.list();
  const { vectorStoreId = "" } = domains.find((one) => one.domainId === domainId) ?? {};
  const index = vectorStoreId && (await parts.backend.openIndex(vectorStoreId, domainId, signal));
  if (!index) return;
  let isLost = false;
  for await (const held of index.holdings(sourceId)) {
    isLost ||= held.length > 0;
    await restore(await registry.getMany(held.map(({ itemId }) => itemId)));
  }
  const others = domains.filter(({ sources }) => sources.some((one) => one.sourceId === REGISTERED_SOURCE));
  if (!isLost || others.length > 1) return;
  for await (const page of registry.entries({ watched: true })) await restore(page);
}

function isOfRegistered({ config }: SourceRun): boolean {
  return config.kind.abilities.registersAddresses && config.sourceId === REGISTERED_SOURCE;
}

/** Returns those of these entries that were asked for again since the index got what it has of them. */
export async function findForced(
  { domainId, config }: Pick<SourceRun, "domainId" | "config">,
  entries: readonly LedgerEntry[],
  { itemRepository }: Pick<EngineParts, "itemRepository">,
): Promise<ReadonlySet<ItemId>> {
  if (!config.kind.abilities.registersAddresses) return new Set();
  const members = await itemRepository().members.ofMany(entries.map(({ itemId }) => itemId));
  const forced = entries.filter((entry) => {
    const known = members.get(entry.itemId) ?? [];
    return known.some((one) => one.domainId === domainId && one.sourceId === config.sourceId && isOwed(entry, one));
  });
  return new Set(forced.map(({ itemId }) => itemId));
}

/**
 * Whether a request for an item that the index has is served by the mirror, and not yet by the index: a request has everything
 * downloaded again, and the index notes of which download its document is. After a loss of the ledger nothing is owed.
 */
function isOwed({ mirrored, indexed }: Pick<LedgerEntry, "mirrored" | "indexed">, known: Member): boolean {
  if (!mirrored || !indexed || known.lastIndexedDocId === "") return false;
  return generationOf(mirrored) > known.indexedGeneration && indexed.downloadedAt !== mirrored.downloadedAt;
}

function generationOf({ fingerprint }: Mirrored): number {
  return Number(fingerprint.contentVersion.split("#")[1] ?? 0);
}

const WRITES_AT_ONCE = 8;

interface NoteTools {
  readonly ledger: Pick<Ledger, "entries">;
  readonly mirror: Pick<Mirror, "isFailed">;
  readonly repository: ItemRepository;
  readonly warn: Warn;
  /** Addresses that the registry had lost before this run. */
  readonly unregistered: ReadonlyMap<ItemId, unknown>;
}

/**
 * Updates members and records after a web source was embedded. Writes only differences, so the next run completes one
 * that was killed.
 */
export async function noteIndexed(
  { domainId, config }: { readonly domainId: DomainId; readonly config: Pick<SourceRun["config"], "sourceId"> },
  tools: NoteTools,
): Promise<void> {
  const { members } = tools.repository;
  const { sourceId } = config;
  const before = new Map<ItemId, Member>();
  for await (const page of members.in(domainId, sourceId)) for (const one of page) before.set(one.itemId, one);
  for await (const entries of tools.ledger.entries()) {
    const notes: Note[] = [];
    for (const entry of entries) {
      if (tools.unregistered.has(entry.itemId) && !before.has(entry.itemId)) continue;
      const known = before.get(entry.itemId) ?? newMember(domainId, sourceId, entry.itemId);
      const note = noteOf(entry, known, tools.mirror);
      if (!note) continue;
      before.delete(entry.itemId);
      if (!isSame(note.member, known)) notes.push(note);
    }
    await writeMembers(notes, members);
    await forEachConcurrent(notes, WRITES_AT_ONCE, (note) => updateItem(note, tools.repository));
  }
  await noteLeft([...before.values()].filter(hasLeft), tools);
}

interface Note {
  readonly member: Member;
  /** Why this version cannot be indexed, or "". */
  readonly failure: string;
}

/** undefined: it is not in the index, and will not be. */
function noteOf({ mirrored, indexed }: LedgerEntry, known: Member, mirror: NoteTools["mirror"]): Note | undefined {
  if (!mirrored || !indexed) return undefined;
  const [listedHash = ""] = mirrored.fingerprint.contentVersion.split("#");
  const served = { indexedGeneration: generationOf(mirrored) };
  if (mirror.isFailed(mirrored.file)) {
    const { sha256 = "" } = mirrored.observed ?? {};
    const contentHash = sha256 ? `sha256:${sha256}` : listedHash;
    const failure = indexed.embeddingError || "it could not be indexed";
    return { member: { ...known, ...served, contentHash, lastIndexedDocId: "" }, failure };
  }
  if (indexed.fileId === "") return undefined;
  const contentHash = indexed.sha256 ? `sha256:${indexed.sha256}` : listedHash;
  const version = { contentHash, lastIndexedDocId: indexed.fileId, lastIndexed: indexed.embeddedAt };
  // A version that could not be embedded yet is still due, new or asked for again.
  const isServed = indexed.embeddingError === "" && !isOwed({ mirrored, indexed }, known);
  return { member: { ...known, ...version, ...(isServed && served) }, failure: "" };
}

/**
 * Writes what the index has and keeps `wanted`, which is not known here. A document without a member was removed from
 * the domain while it was being indexed.
 */
async function writeMembers(notes: readonly Note[], members: Members): Promise<void> {
  const noted = notes.map(({ member }) => member);
  await members.change(noted, (known, member) => {
    const isTakenOut = !known && member.sourceId === REGISTERED_SOURCE && member.lastIndexedDocId !== "";
    const { wanted, unlinkedCount } = known ?? { wanted: isTakenOut ? "no" : "led", unlinkedCount: 0 };
    return { ...member, wanted, unlinkedCount };
  });
}

function isSame(a: Member, b: Member): boolean {
  return (
    a.contentHash === b.contentHash &&
    a.lastIndexedDocId === b.lastIndexedDocId &&
    a.indexedGeneration === b.indexedGeneration
  );
}

async function updateItem({ member, failure }: Note, { registry, members: all }: ItemRecords): Promise<void> {
  const { contentHash, indexedGeneration: generation, lastIndexedDocId: docId } = member;
  const at = new Date();
  await changeItem(registry, member.itemId, async (item) => {
    const members = await all.of(member.itemId);
    if (failure === "") return withIndexStatus(afterIndexed(item, { docId, contentHash, generation, at }), members);
    if (item.content.contentHash !== contentHash) return item;
    const isBlankPage = isEmptyReason(failure) && /html/.test(item.content.mimeType);
    const indexError = isBlankPage ? "The page has no text." : failure.slice(0, 1024);
    const linkage = { ...item.linkage, indexError };
    const scheduling = { ...item.scheduling, errorMessage: indexError };
    return withEvent({ ...item, status: "Error", linkage, scheduling }, "failed", failure, at);
  });
}

/** Whether a member without a document had one before, or was removed. */
function hasLeft({ sourceId, lastIndexedDocId, wanted }: Member): boolean {
  return lastIndexedDocId !== "" || (sourceId === REGISTERED_SOURCE && wanted === "no");
}

/**
 * Updates members whose document left the index. Registered addresses stay members while they are wanted, unless the
 * registry lost them.
 */
async function noteLeft(left: readonly Member[], { repository, warn }: NoteTools): Promise<void> {
  const records = await repository.registry.getMany(left.map(({ itemId }) => itemId));
  const recorded = new Set(records.flatMap((record) => record?.item.id ?? []));
  const dropped = new Set<ItemId>();
  const takenOut = new Set<ItemId>();
  await repository.members.change(left, (known, { sourceId, itemId }) => {
    const isWanted = sourceId === REGISTERED_SOURCE && known?.wanted === "asked" && recorded.has(itemId);
    if (isWanted) return { ...known, lastIndexedDocId: "", contentHash: "" };
    if (known && !hasLeft(known)) return known;
    (known?.wanted === "no" ? takenOut : dropped).add(itemId);
    return undefined;
  });
  for (const { itemId } of left) await updateLeft(itemId, repository);
  await dropItems(dropped, repository, { keepLeft: true, warn });
  await dropItems(takenOut, repository, { keepLeft: false, warn });
}

async function updateLeft(id: ItemId, { registry, members: all }: ItemRecords): Promise<void> {
  await changeItem(registry, id, async (item) => {
    const members = await all.of(id);
    const held = members.find(({ lastIndexedDocId }) => lastIndexedDocId !== "")?.lastIndexedDocId ?? "";
    const updated = withIndexStatus(item, members);
    if (updated.linkage.lastIndexedDocId === held) return updated;
    return { ...updated, linkage: { ...updated.linkage, lastIndexedDocId: held } };
  });
}

const MAX_NAMED = 5;

/** Reports damaged records of a web source, and registered addresses that the registry lost. */
export async function* examineRecords(
  run: SourceRun,
  { itemRepository, ledgers }: Pick<EngineParts, "itemRepository" | "ledgers">,
): AsyncGenerator<Finding, void> {
  const { domainId, config } = run;
  if (!config.kind.abilities.registersAddresses) return;
  const { registry, members } = itemRepository();
  const damaged: string[] = [];
  for await (const page of members.in(domainId, config.sourceId)) {
    for (const record of await registry.getMany(page.map(({ itemId }) => itemId))) {
      if (record?.item.scheduling.errorMessage === DAMAGED_RECORD) damaged.push(record.item.displaySource);
    }
  }
  if (damaged.length > 0) yield sayDamaged(damaged);
  if (config.sourceId !== REGISTERED_SOURCE) return;
  const ledger = await ledgers.open(run, { readOnly: true });
  const { size: unknown } = await findUnregistered(run, ledger, itemRepository());
  if (unknown > 0) yield { subject: "Registered addresses", outcome: "problem", ...sayUnregistered(unknown) };
}

function sayDamaged(addresses: readonly string[]): Finding {
  const named = addresses.slice(0, MAX_NAMED).map((address) => `'${address}'`);
  const more = addresses.length > MAX_NAMED ? ` and ${addresses.length - MAX_NAMED} more` : "";
  const whose = addresses.length === 1 ? "The record" : "The records";
  const detail = `${whose} of ${named.join(", ")}${more} in the registry cannot be read.`;
  return {
    subject: "Registry",
    outcome: "problem",
    detail,
    remedy: "Crawl the source: each fetch writes a new record.",
  };
}

export function sayUnregistered(documents: number): Pick<Finding, "detail" | "remedy"> {
  const are = plural(documents, "document", "documents");
  return {
    detail: `The index has ${are} of addresses that the registry does not know, so changes of these addresses are not noticed.`,
    remedy:
      "Register the addresses again, those in the column url of the source's list in a report; a crawl with confirm_deletes=true then takes the documents of all others out of the index.",
  };
}
