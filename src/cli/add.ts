import { BadInputError, explain } from "../contracts/errors.ts";
import { parseDomainId } from "../contracts/ids.ts";
import { audited } from "./audited.ts";
import type { Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { plainText } from "./plain-text.ts";

export const addCommand: Command = {
  name: "add",
  arguments: ["URL…"],
  summary: "Registers web addresses; a running server or worker fetches them, and again whenever they change.",
  options: {
    domain: {
      value: "domain",
      help: "Where they are searched; otherwise INGEST_DEFAULT_DOMAIN, which is made if need be.",
    },
    title: { value: "text", help: "What to call it, for one address." },
    images: { help: "Keeps the pictures of the pages, too." },
    force: { help: "Fetches them even if nothing changed." },
  },
  examples: [
    "lockstep add https://example.com/handbook",
    "lockstep add --domain DEMO --force https://example.com/news",
  ],
  async run(call) {
    const domain = call.text("domain");
    const title = call.text("title") ?? "";
    if (title !== "" && call.positionals.length > 1)
      throw new BadInputError("Give a --title to one address at a time.");
    const wishes = {
      title,
      domainId: domain === undefined ? undefined : parseDomainId(domain),
      force: call.flag("force"),
      includeImages: call.flag("images"),
    };
    const app = await openApp();
    const register = async (): Promise<number> => {
      let failed = 0;
      for (const url of call.positionals) {
        try {
          const { id, domainId, displaySource, isNew } = await app.ingest.add({ url, ...wishes });
          const verb = isNew ? "Registered" : "Known already, due now:";
          process.stdout.write(`${verb} ${plainText(displaySource)} (${id}, domain ${domainId})\n`);
        } catch (error) {
          if (!(error instanceof BadInputError)) throw error;
          failed += 1;
          process.stderr.write(`lockstep: '${plainText(url)}': ${explain(error)}\n`);
        }
      }
      return failed;
    };
    try {
      const outcome = (failed: number) => ({ ok: failed === 0, error: failed > 0 ? `${failed} not registered` : "" });
      return (await audited(app.audit, register, outcome)) > 0 ? 2 : 0;
    } finally {
      await app.close();
    }
  },
};
