import { BadInputError, explain } from "../contracts/errors.ts";
import { parseDomainId } from "../contracts/ids.ts";
import type { Registered } from "../engine/ingest/ingest.ts";
import { plainText } from "../lib/text.ts";
import { audited } from "./audited.ts";
import type { Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { isAddress, sourceNamed } from "./source-named.ts";

export const addCommand: Command = {
  name: "add",
  arguments: ["URL|PATH…"],
  options: {
    domain: {
      value: "domain",
      help: "Where they are searched; otherwise INGEST_DEFAULT_DOMAIN, which is made if need be.",
    },
    blobs: { help: "The addresses are those of blobs in Azure Storage." },
    title: { value: "text", help: "What to call it, for one web address." },
    images: { help: "Keeps the pictures of the pages, too." },
    force: { help: "Fetches them even if nothing changed." },
  },
  examples: [
    "lockstep add https://example.com/handbook",
    "lockstep add --domain DEMO --force https://example.com/news",
    "lockstep add /srv/shares/handbook.docx",
    "lockstep add --blobs https://account.blob.core.windows.net/reports/plan.pdf",
  ],
  async run(call) {
    const domain = call.text("domain");
    const title = call.text("title") ?? "";
    if (title !== "" && call.positionals.length > 1)
      throw new BadInputError("Give a --title to one address at a time.");
    const options = {
      title,
      domainId: domain === undefined ? undefined : parseDomainId(domain),
      force: call.flag("force"),
      includeImages: call.flag("images"),
    };
    await using app = await openApp();
    const add = (text: string): Promise<Registered> => {
      if (isAddress(text) && !call.flag("blobs")) return app.ingest.add({ url: text, ...options });
      if (title !== "" || options.includeImages) throw new BadInputError("Files have neither a --title nor --images.");
      return app.ingest.addFile({ ...options, source: sourceNamed(text) });
    };
    const register = async (): Promise<number> => {
      let failed = 0;
      for (const url of call.positionals) {
        try {
          const { id, domainId, displaySource, isNew, note } = await add(url);
          const verb = isNew ? "Registered" : "Known already, due now:";
          process.stdout.write(`${verb} ${plainText(displaySource)} (${id}, domain ${domainId})\n`);
          if (note) process.stdout.write(`${note}\n`);
        } catch (error) {
          if (!(error instanceof BadInputError)) throw error;
          failed += 1;
          process.stderr.write(`lockstep: '${plainText(shown(url))}': ${explain(error)}\n`);
        }
      }
      return failed;
    };
    const outcome = (failed: number) => ({ ok: failed === 0, error: failed > 0 ? `${failed} not registered` : "" });
    return (await audited(app.audit, register, outcome)) > 0 ? 2 : 0;
  },
};

/** Drops query and parameters: they may contain a secret. */
function shown(text: string): string {
  const url = isAddress(text) ? URL.parse(text) : null;
  return url ? `${url.protocol}//${url.host}${url.pathname.replace(/;.*/s, "")}` : text;
}
