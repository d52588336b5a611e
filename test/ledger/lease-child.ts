import { open, rm } from "node:fs/promises";
import type { DomainId } from "../../src/contracts/ids.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";

export interface LeaseTask {
  /** `hold` ends when it is killed; `enter` fails when somebody else is inside. */
  readonly verb: "hold" | "enter";
  readonly crawlerFolder: string;
  readonly url: string | undefined;
  readonly domainId: DomainId;
  readonly marker: string;
}

if (import.meta.main) {
  const task = JSON.parse(process.argv[2] ?? "") as LeaseTask;
  const { verb, crawlerFolder, url, domainId, marker } = task;
  const ledgers = openTestLedgers(crawlerFolder, url === undefined ? undefined : { url });
  for (let round = 0; round < (verb === "enter" ? 10 : 1); round++) {
    const lease = await ledgers.leases.acquire(domainId, "x", { owner: `process ${process.pid}`, pollMs: 2 });
    if (verb === "hold") {
      process.send?.("held");
      await new Promise(() => setInterval(() => undefined, 60_000));
    }
    await (await open(marker, "wx")).close();
    if (!(await lease.stillHeld())) throw new Error("lost the lease");
    await rm(marker);
    await lease.release();
  }
  await ledgers.close();
  process.disconnect?.();
}
