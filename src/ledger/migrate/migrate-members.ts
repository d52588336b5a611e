import { join } from "node:path";
import { REGISTERED_SOURCE } from "../../contracts/domain.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { EarlierMember, EarlierMembers, Member, Members } from "../../contracts/members.ts";
import { withFileLock } from "../../lib/file-lease.ts";

/** Among registered addresses: what was taken out, and waits to leave the index. */
const TAKEN_OUT = 1000;

/**
 * Earlier releases kept memberships in the registry. Each is put into the ledger of its domain and removed there; killed in between,
 * it is put once more. Those of a domain that is not there stay: its renaming may have been cut off, and is finished later.
 */
export async function migrateMembers(
  earlier: EarlierMembers,
  {
    change,
    isThere,
    crawlerFolder,
    renamed,
  }: {
    readonly change: Members["change"];
    readonly isThere: (domainId: DomainId) => boolean;
    readonly crawlerFolder: string;
    readonly renamed?: { readonly from: DomainId; readonly to: DomainId };
  },
): Promise<void> {
  if (await earlier.isEmpty()) return;
  // Whoever came second would bring back what somebody removed meanwhile.
  await withFileLock(join(crawlerFolder, ".members.lock"), () =>
    earlier.handOver(async (page) => {
      const now = page.map((member) => ({ member, domainId: nameOf(member, renamed) }));
      const taken = now.filter(({ domainId }) => isThere(domainId));
      const members = taken.map(({ member, domainId }) => toMember(member, domainId));
      await change(members, (known, member) => known ?? member);
      return taken.map(({ member }) => member);
    }),
  );
}

function nameOf({ domainId }: EarlierMember, renamed: { readonly from: DomainId; readonly to: DomainId } | undefined) {
  return domainId === renamed?.from ? renamed.to : domainId;
}

function toMember(member: EarlierMember, domainId: DomainId): Member {
  const { unlinkedCount, sourceId } = member;
  if (sourceId !== REGISTERED_SOURCE) return { ...member, domainId, wanted: "led" };
  const wanted = unlinkedCount === 0 ? "asked" : unlinkedCount < TAKEN_OUT ? "led" : "no";
  return { ...member, domainId, wanted, unlinkedCount: 0 };
}
