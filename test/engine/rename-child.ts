import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { type JobId, parseDomainId } from "../../src/contracts/ids.ts";

/** Renames a domain and kills itself at a line of the log; or, with a method, in the middle of the step that calls it. */
const { settings, from, to, line } = JSON.parse(process.argv[2] ?? "") as {
  readonly settings: Readonly<Record<string, string>>;
  readonly from: string;
  readonly to: string;
  readonly line: number;
};
const app = await compose(readConfig(settings));
let lines = 0;
await app.renameDomain(
  { from: parseDomainId(from), to: parseDomainId(to) },
  {
    jobId: "jb_1" as JobId,
    dryRun: false,
    signal: new AbortController().signal,
    log() {
      lines += 1;
      if (lines === line) process.kill(process.pid, "SIGKILL");
    },
    checkpoint: async () => undefined,
  },
);
await app.close();
process.stdout.write(`${lines}`);
