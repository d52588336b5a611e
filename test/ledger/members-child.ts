import type { MembersPlace } from "../contracts/members-suite.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";
import { member } from "./registry-fixture.ts";

// Run as a process of its own: adds one to the generation of a member, so many times.
const { where, times } = JSON.parse(process.argv[2] ?? "") as { where: MembersPlace; times: number };
const ledgers = openTestLedgers(where.crawlerFolder, where.url === undefined ? undefined : { url: where.url });
for (let done = 0; done < times; done++) {
  await ledgers.members.change([member("counted")], (known, added) => {
    const { indexedGeneration } = known ?? added;
    return { ...(known ?? added), indexedGeneration: indexedGeneration + 1 };
  });
}
await ledgers.close();
