import { BadInputError, explain, NotFoundError } from "../contracts/errors.ts";
import { parseDomainId } from "../contracts/ids.ts";
import { plainText } from "../lib/text.ts";
import { audited } from "./audited.ts";
import type { Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { itemNamed } from "./source-named.ts";

export const removeCommand: Command = {
  name: "remove",
  arguments: ["URL|PATH|ITEM…"],
  options: {
    domain: { value: "domain", help: "Where they are registered; otherwise INGEST_DEFAULT_DOMAIN." },
    "dry-run": { help: "Tells which are registered there and changes nothing." },
  },
  examples: [
    "lockstep remove https://example.com/handbook",
    "lockstep remove plan.docx",
    "lockstep remove --domain DEMO url_k7gxn3…",
  ],
  async run(call) {
    const domain = call.text("domain");
    const dryRun = call.flag("dry-run");
    await using app = await openApp();
    const domainId = domain === undefined ? app.config.web.defaultDomain : parseDomainId(domain);
    const remove = async (): Promise<number> => {
      let failed = 0;
      for (const text of call.positionals) {
        try {
          const id = await itemNamed(text, app.ingest, domainId);
          await app.ingest.remove(id, domainId, { dryRun });
          process.stdout.write(`${dryRun ? "Would take out" : "Taken out"}: ${plainText(text)} (domain ${domainId})\n`);
        } catch (error) {
          if (!(error instanceof BadInputError || error instanceof NotFoundError)) throw error;
          failed += 1;
          process.stderr.write(`lockstep: '${plainText(text)}': ${explain(error)}\n`);
        }
      }
      return failed;
    };
    const outcome = (failed: number) => ({ ok: failed === 0, error: failed > 0 ? `${failed} not taken out` : "" });
    return (dryRun ? await remove() : await audited(app.audit, remove, outcome)) > 0 ? 2 : 0;
  },
};
