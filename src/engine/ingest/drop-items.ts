import { ConflictError, explain } from "../../contracts/errors.ts";
import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { Member, Members } from "../../contracts/members.ts";
import type { Registry } from "../../contracts/registry.ts";
import type { WebDocuments, WebImages } from "../../contracts/web.ts";
import { changeItem } from "./change-item.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";

/** What is known of addresses, and which sources have them. */
export interface ItemRecords {
  readonly registry: Registry;
  readonly members: Members;
}

/** Where items are kept. */
export interface ItemShelf extends ItemRecords {
  readonly documents: Pick<WebDocuments, "delete">;
  readonly images: Pick<WebImages, "delete">;
}

/**
 * Forgets those of the items that are in no domain now, with their documents and pictures; those that are not registered now
 * are not looked after. What is known of pages that left (Gone, OutOfScope) may be kept for a while: they may come back.
 */
export async function dropItems(
  ids: Iterable<ItemId>,
  shelf: ItemShelf,
  { keepLeft, warn }: { readonly keepLeft: boolean; readonly warn: Warn },
): Promise<void> {
  const { registry } = shelf;
  for (const id of ids) {
    let members: readonly Member[] = [];
    const found = await changeItem(registry, id, async (item) => {
      members = await shelf.members.of(id);
      const isRegistered = members.some(({ sourceId }) => sourceId === REGISTERED_SOURCE);
      return item.watched && !isRegistered ? { ...item, watched: false } : item;
    });
    const hasLeft = found?.item.status === "Gone" || found?.item.status === "OutOfScope";
    if (found && members.length === 0 && !(keepLeft && hasLeft)) await deleteItem(id, found.version, shelf, warn);
  }
}

/** Told what could not be deleted of an item that was. */
export type Warn = (sentence: string) => void;

/** The record first: one that somebody changed meanwhile stays, with all it has. false: it stays. */
export async function deleteItem(
  id: ItemId,
  version: string,
  { registry, documents, images }: ItemShelf,
  warn: Warn,
): Promise<boolean> {
  try {
    await registry.delete(id, version);
  } catch (error) {
    if (error instanceof ConflictError) return false;
    throw error;
  }
  for (const [name, shelf] of Object.entries({ documents, images })) {
    await shelf.delete(id).catch((error: unknown) => {
      warn(`Address '${id}' was removed, but some of its ${name} could not be deleted: ${explain(error)}`);
    });
  }
  return true;
}

/** Of all web sources of a domain, or of one. */
export async function forgetMembers(
  domainId: DomainId,
  sources: Iterable<SourceId>,
  shelf: ItemShelf,
  warn: Warn,
): Promise<void> {
  const ids = new Set<ItemId>();
  for (const source of sources) {
    for await (const page of shelf.members.in(domainId, source)) for (const { itemId } of page) ids.add(itemId);
    await shelf.members.forget(domainId, source);
  }
  await dropItems(ids, shelf, { keepLeft: false, warn });
}
