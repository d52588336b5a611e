import type { ItemId } from "../contracts/ids.ts";
import type { Indexed, Ledger } from "../contracts/ledger.ts";
import type { Member, Members } from "../contracts/members.ts";
import type { SourceRun } from "./engine-parts.ts";

/** A member that does not say yet what the index has of it. */
export interface UntoldMember extends Member {
  readonly indexed: Indexed;
  /** What it was called at the source. */
  readonly path: string;
}

/**
 * Members of a source that the index has and that do not say so: whoever indexed them was killed before `noteIndexed`, or the
 * registry was lost and they were registered again.
 */
export async function findUntold(
  { domainId, config }: SourceRun,
  ledger: Pick<Ledger, "entries">,
  members: Members,
): Promise<readonly UntoldMember[]> {
  const silent = new Map<ItemId, Member>();
  for await (const page of members.in(domainId, config.sourceId)) {
    for (const member of page) if (member.lastIndexedDocId === "") silent.set(member.itemId, member);
  }
  if (silent.size === 0) return [];
  const untold: UntoldMember[] = [];
  for await (const entries of ledger.entries()) {
    for (const { itemId, seen, indexed } of entries) {
      const member = silent.get(itemId);
      if (member && indexed?.fileId) untold.push({ ...member, indexed, path: seen?.rawUrl || indexed.name });
    }
  }
  return untold;
}

/** They say it now. Which content it is stays open until `noteIndexed`: a newer one may be on its way. */
export async function catchUpMembers(untold: readonly UntoldMember[], members: Members): Promise<void> {
  await members.change(untold, (known, { indexed }) =>
    known?.lastIndexedDocId === ""
      ? { ...known, lastIndexedDocId: indexed.fileId, lastIndexed: indexed.embeddedAt }
      : known,
  );
}
