import { join } from "node:path";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import type { EarlierMembers } from "../../src/contracts/members.ts";
import type { LedgerPlace } from "../../src/ledger/ledger-databases.ts";
import { openLedgers } from "../../src/ledger/open-ledgers.ts";
import { sourceFolder } from "../../src/mirror/layout.ts";

const NO_MEMBERS: EarlierMembers = { isEmpty: async () => true, handOver: async () => undefined };

/** As compose opens them. */
export function openTestLedgers(
  crawlerFolder: string,
  place: LedgerPlace = { crawlerFolder },
  earlierMembers: EarlierMembers = NO_MEMBERS,
): Ledgers {
  return openLedgers({
    place,
    crawlerFolder,
    domainsFolder: join(crawlerFolder, "../domains"),
    indexFolder: join(crawlerFolder, "../index"),
    rootOf: ({ domainId, config }) => sourceFolder(domainId, config),
    appendEvery: 10,
    earlierMembers: () => earlierMembers,
    archivedMaps: async () => undefined,
  });
}
