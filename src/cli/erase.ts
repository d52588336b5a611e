import { eraseJob } from "../app/erase-job.ts";
import { BadInputError } from "../contracts/errors.ts";
import { parseDomainId, parseSourceId } from "../contracts/ids.ts";
import type { EraseResult } from "../engine/erase/erase.ts";
import { plural } from "../lib/text.ts";
import { audited, userHere } from "./audited.ts";
import type { Call, Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { runJob } from "./run-job.ts";
import { plainLine } from "./terminal-text.ts";

export const eraseCommand: Command = {
  name: "erase",
  arguments: ["DOMAIN"],
  options: {
    document: {
      value: "name",
      help: "The document: its path below its source, name, address, document id or file id.",
    },
    item: { value: "id", help: "An item by its id: also one that only earlier generations have." },
    search: { value: "text", help: "All documents in whose text, title or name this occurs, in any generation." },
    source: { value: "id", help: "Its source; needed only where several have such a document." },
    copies: { help: "Also erases documents with the same content, in whatever domain, and attached files." },
    reason: { value: "text", help: "For the list of erased items and the receipt. It must not name the document." },
    "confirm-deletes": { help: "Lets a search erase more than 25 documents." },
    "dry-run": { help: "Only tells what would be erased, and where." },
    allow: { value: "item", help: "Instead: lets an erased item, or all of an erasing (er_…), be crawled again." },
    json: { help: "Prints the result as JSON; the log goes to standard error." },
  },
  examples: [
    "lockstep erase DEMO --document handbook/travel.md --dry-run",
    "lockstep erase DEMO --search 'Jane Doe' --copies --reason 'request 12'",
    "lockstep erase DEMO --allow doc_k7gxn3",
  ],
  async run(call) {
    const domainId = parseDomainId(call.positionals[0] ?? "");
    const item = call.text("allow");
    if (item !== undefined) return await allow(domainId, item, call);
    const source = call.text("source");
    const request = {
      domainId,
      document: call.text("document"),
      itemId: call.text("item"),
      search: call.text("search"),
      sourceId: source === undefined ? undefined : parseSourceId(source),
      copies: call.flag("copies"),
      reason: call.text("reason") ?? "",
      by: `terminal:${userHere()}`,
      confirmDeletes: call.flag("confirm-deletes"),
    };
    const isJson = call.flag("json");
    return await runJob({
      prepare: (app) => eraseJob(app, request, { dryRun: call.flag("dry-run") }),
      isJson,
      // The arguments name what is erased.
      unaudited: true,
      summary: (data) => (isJson ? `${JSON.stringify(data, null, 2)}\n` : sumUp(data)),
    });
  },
};

async function allow(domainId: ReturnType<typeof parseDomainId>, item: string, call: Call): Promise<number> {
  const others = ["document", "item", "search", "source"].filter((name) => call.text(name) !== undefined);
  if (others.length > 0) throw new BadInputError("--allow takes an item, and nothing else.");
  await using app = await openApp();
  const allowed = await audited(app.audit, () => app.allowErased(domainId, item));
  process.stdout.write(`${plural(allowed, "item")} may be crawled again.\n`);
  return 0;
}

function sumUp(data: unknown): string {
  const result = data as Partial<EraseResult> | undefined;
  if (!result?.places) return "";
  const { items = [], copies = [], places, generations = [], left = [], may_still_be = [], receipts = [] } = result;
  const verb = result.dry_run ? "Would erase" : "Erased";
  const lines = items.map(
    ({ item, source_id, path }) => `${verb} ${path ? `'${path}' (${item})` : item} of source '${source_id}'`,
  );
  for (const { domain_id, source_id, item, path, erased } of copies) {
    const where = domain_id ? `domain '${domain_id}', source '${source_id}'` : "attached over the protocol";
    lines.push(`${erased ? "Erased the copy" : "Same content"}: ${path ? `'${path}' (${item})` : item} in ${where}`);
  }
  for (const { place, removed } of places) lines.push(`  ${place}: ${removed}`);
  for (const { number, documents } of generations)
    lines.push(`  generation ${number}: ${plural(documents, "document")} erased`);
  for (const sentence of left) lines.push(`Left: ${sentence}`);
  if (!result.dry_run) for (const sentence of may_still_be) lines.push(`May still be: ${sentence}`);
  for (const { file, sha256, fingerprint } of receipts)
    lines.push(`Receipt ${file}`, `  ${sha256}, signed by ${fingerprint}`);
  return lines.map((line) => `${plainLine(line)}\n`).join("");
}
