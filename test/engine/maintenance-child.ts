import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import type { JobId } from "../../src/contracts/ids.ts";

// Maintains a storage folder and dies, as by SIGKILL, when it has told of so many removals.
const [storage = "", nowText = "", removals = ""] = process.argv.slice(2);
const app = await compose(readConfig({ PERSISTENT_STORAGE_PATH: storage }), { now: () => new Date(nowText) });
let told = 0;
await app.maintain(
  { domainId: undefined, unreferenced: false, confirmDeletes: false },
  {
    jobId: "jb_child" as JobId,
    dryRun: false,
    signal: new AbortController().signal,
    checkpoint: async () => undefined,
    log(line) {
      if (line.startsWith("Removed [") && ++told === Number(removals)) process.kill(process.pid, "SIGKILL");
    },
  },
);
await app.close();
