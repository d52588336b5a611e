import { BadInputError } from "../contracts/errors.ts";
import { parseDomainId } from "../contracts/ids.ts";
import { INGEST_STATUSES, type IngestItem } from "../contracts/registry.ts";
import type { Ingest, ItemView } from "../engine/ingest/ingest.ts";
import { plainText, plural } from "../lib/text.ts";
import type { Call, Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { itemNamed } from "./source-named.ts";
import { printResult } from "./terminal-text.ts";

const USUAL_LIMIT = "50";

export const itemsCommand: Command = {
  name: "items",
  arguments: ["[URL|PATH|ITEM]"],
  options: {
    domain: { value: "domain", help: "Only those of this domain." },
    status: { value: "status", choices: INGEST_STATUSES, help: "Only those with this status." },
    host: { value: "host", help: "Only those of this host." },
    text: { value: "text", help: "Only those with this in their address or title." },
    limit: { value: "number", default: USUAL_LIMIT, help: "How many at most." },
    json: { help: "Prints the answer as JSON." },
  },
  examples: ["lockstep items", "lockstep items --status Error --domain INGEST", "lockstep items plan.docx"],
  async run(call) {
    const query = readQuery(call);
    await using app = await openApp();
    const [named] = call.positionals;
    if (named !== undefined) {
      const id = await itemNamed(named, app.ingest, query.domainId);
      printResult(await app.ingest.item(id), call.flag("json"), formatItem);
    } else printResult(await app.ingest.items(query), call.flag("json"), formatList);
    return 0;
  },
};

function readQuery(call: Call): Parameters<Ingest["items"]>[0] {
  const [domain, status, host, text] = ["domain", "status", "host", "text"].map((name) => call.text(name));
  const limit = call.text("limit") ?? USUAL_LIMIT;
  if (!/^[1-9]\d{0,4}$/.test(limit))
    throw new BadInputError(`Invalid value '${limit}' for --limit. Accepted: 1 to 99999.`);
  return {
    ...(domain !== undefined && { domainId: parseDomainId(domain) }),
    ...(status !== undefined && { statuses: INGEST_STATUSES.filter((known) => known === status) }),
    ...(host !== undefined && { host }),
    ...(text !== undefined && { text }),
    sort: "displaySource",
    offset: 0,
    limit: Number(limit),
  };
}

function formatList({ items, total }: { readonly items: readonly IngestItem[]; readonly total: number }): string[] {
  const lines = items.map(({ id, status, displaySource, scheduling }) => {
    const next = scheduling.nextCrawlAt.slice(0, 16).replace("T", " ");
    return `${status.padEnd(10)}  ${next.padEnd(16)}  ${id}  ${plainText(displaySource)}`;
  });
  const more = total > items.length ? ` of ${total}` : "";
  return [
    ...lines,
    `${items.length}${more} ${total === 1 ? "address" : "addresses"}; times are those of the next check.`,
  ];
}

function formatItem({ item, members, images }: ItemView): string[] {
  const { scheduling, content } = item;
  const facts: [string, string][] = [
    ["Address", plainText(item.displaySource)],
    ["Status", item.status],
    ["Title", plainText(item.title || content.foundTitle)],
    ["Alias of", item.aliasOf],
    ["Problem", plainText(scheduling.errorMessage)],
    ["Last check", scheduling.lastChecked],
    ["Last change", scheduling.lastChanged],
    ["Next check", scheduling.nextCrawlAt],
    ["Registered in", members.map(({ domainId, sourceId }) => `${domainId}/${sourceId}`).join(", ")],
    ["Last indexed", scheduling.lastIndexed],
    ["Pictures", images.length > 0 ? plural(images.length, "picture") : ""],
  ];
  const rows = facts.filter(([, value]) => value !== "").map(([name, value]) => `${name.padEnd(13)} ${value}`);
  const events = item.history.map(
    ({ at, event, detail }) => `  ${at.slice(0, 19)}  ${event.padEnd(10)} ${plainText(detail)}`,
  );
  return [...rows, "History", ...events];
}
