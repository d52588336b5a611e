import { isEmptyReason } from "../contracts/document.ts";
import type { DomainId, ItemId } from "../contracts/ids.ts";
import type { Ledger, LedgerEntry } from "../contracts/ledger.ts";
import type { Member, Members } from "../contracts/members.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import type { Mirror } from "../mirror/mirror.ts";
import { afterIndexed } from "../plan/web/after-indexed.ts";
import { withEvent } from "../plan/web/item-events.ts";
import { newMember, withStanding } from "../plan/web/member-standing.ts";
import { changeItem } from "./ingest/change-item.ts";
import { dropItems, type ItemRecords, type ItemShelf, type Warn } from "./ingest/drop-items.ts";
import { REGISTERED_SOURCE } from "./ingest/ingest.ts";

const WRITES_AT_ONCE = 8;

interface NoteTools {
  readonly ledger: Pick<Ledger, "entries">;
  readonly mirror: Pick<Mirror, "isFailed">;
  readonly shelf: ItemShelf;
  readonly warn: Warn;
  /** What the registry had lost before this run indexed anything: nobody has taken it out. */
  readonly unregistered: ReadonlyMap<ItemId, unknown>;
}

/**
 * After a web source was embedded: its members and their records say what the index has. Only what differs is written, so
 * a run that is killed here is made up for by the next.
 */
export async function noteIndexed(
  { domainId, config }: { readonly domainId: DomainId; readonly config: Pick<SourceRun["config"], "sourceId"> },
  tools: NoteTools,
): Promise<void> {
  const { members } = tools.shelf;
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
    await writeDown(notes, members);
    await forEachConcurrent(notes, WRITES_AT_ONCE, (note) => tellItem(note, tools.shelf));
  }
  await noteLeft([...before.values()].filter(hasLeft), tools);
}

interface Note {
  readonly member: Member;
  /** Why the index will never have it as it is; "" otherwise. */
  readonly failure: string;
}

/** undefined: nothing of it is, or will be, in the index. */
function noteOf({ mirrored, indexed }: LedgerEntry, known: Member, mirror: NoteTools["mirror"]): Note | undefined {
  if (!mirrored || !indexed) return undefined;
  const [listedHash = "", generation = "0"] = mirrored.fingerprint.contentVersion.split("#");
  const served = { indexedGeneration: Number(generation) };
  if (mirror.isFailed(mirrored.file)) {
    const { sha256 = "" } = mirrored.observed ?? {};
    const contentHash = sha256 ? `sha256:${sha256}` : listedHash;
    const failure = indexed.embeddingError || "it could not be indexed";
    return { member: { ...known, ...served, contentHash, lastIndexedDocId: "" }, failure };
  }
  if (indexed.fileId === "") return undefined;
  const contentHash = indexed.sha256 ? `sha256:${indexed.sha256}` : listedHash;
  const held = { contentHash, lastIndexedDocId: indexed.fileId, lastIndexed: indexed.embeddedAt };
  // A new version that could not be embedded yet stays owed.
  return { member: { ...known, ...held, ...(indexed.embeddingError === "" && served) }, failure: "" };
}

/**
 * What the index has, and nothing else: whether somebody wants it is not known here. One that the index has and that is no
 * member any more was taken out while it was being indexed.
 */
async function writeDown(notes: readonly Note[], members: Members): Promise<void> {
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

async function tellItem({ member, failure }: Note, { registry, members: all }: ItemRecords): Promise<void> {
  const { contentHash, indexedGeneration: generation, lastIndexedDocId: docId } = member;
  const at = new Date();
  await changeItem(registry, member.itemId, async (item) => {
    const members = await all.of(member.itemId);
    if (failure === "") return withStanding(afterIndexed(item, { docId, contentHash, generation, at }), members);
    if (item.content.contentHash !== contentHash) return item;
    const isBlankPage = isEmptyReason(failure) && /html/.test(item.content.mimeType);
    const indexError = isBlankPage ? "The page has no text." : failure.slice(0, 1024);
    const linkage = { ...item.linkage, indexError };
    const scheduling = { ...item.scheduling, errorMessage: indexError };
    return withEvent({ ...item, status: "Error", linkage, scheduling }, "failed", failure, at);
  });
}

/** Of members that the index has nothing of: those of which it had something, or should have nothing. */
function hasLeft({ sourceId, lastIndexedDocId, wanted }: Member): boolean {
  return lastIndexedDocId !== "" || (sourceId === REGISTERED_SOURCE && wanted === "no");
}

/** Registered addresses stay members for as long as somebody wants them, whatever the index has; those that the registry lost do not. */
async function noteLeft(left: readonly Member[], { shelf, warn }: NoteTools): Promise<void> {
  const records = await shelf.registry.getMany(left.map(({ itemId }) => itemId));
  const recorded = new Set(records.flatMap((record) => record?.item.id ?? []));
  const dropped = new Set<ItemId>();
  const takenOut = new Set<ItemId>();
  await shelf.members.change(left, (known, { sourceId, itemId }) => {
    const isWanted = sourceId === REGISTERED_SOURCE && known?.wanted === "asked" && recorded.has(itemId);
    if (isWanted) return { ...known, lastIndexedDocId: "", contentHash: "" };
    if (known && !hasLeft(known)) return known;
    (known?.wanted === "no" ? takenOut : dropped).add(itemId);
    return undefined;
  });
  for (const { itemId } of left) await tellLeft(itemId, shelf);
  await dropItems(dropped, shelf, { keepLeft: true, warn });
  await dropItems(takenOut, shelf, { keepLeft: false, warn });
}

async function tellLeft(id: ItemId, { registry, members: all }: ItemRecords): Promise<void> {
  await changeItem(registry, id, async (item) => {
    const members = await all.of(id);
    const held = members.find(({ lastIndexedDocId }) => lastIndexedDocId !== "")?.lastIndexedDocId ?? "";
    const told = withStanding(item, members);
    if (told.linkage.lastIndexedDocId === held) return told;
    return { ...told, linkage: { ...told.linkage, lastIndexedDocId: held } };
  });
}
