import { BadInputError, DamagedError } from "../contracts/errors.ts";
import type { DomainId, ItemId } from "../contracts/ids.ts";
import type { IngestItem, RegisteredItem } from "../contracts/registry.ts";
import { USUAL_RULES } from "../detect/web/web-identity.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { Stage } from "./explain-document.ts";
import { problem, shown } from "./explain-stages.ts";
import { findIdentity } from "./ingest/find-identity.ts";

type Parts = Pick<EngineParts, "shelf">;

/** What the registry has of a web address, however it is written, of a file, or of an item id. */
export async function findRecord(called: string, domainId: DomainId, parts: Parts): Promise<IngestItem | undefined> {
  if (/^(url|file)_[a-z2-7]{26}$/.test(called)) return await readRecord(called as ItemId, parts);
  const isPath = /^(file:|\/|[A-Za-z]:[\\/]|\\\\)/i.test(called);
  if (!isPath && !(/^https?:\/\//i.test(called) && URL.canParse(called))) return undefined;
  const registry = { get: async (id: ItemId) => await readRegistered(id, parts) };
  const { members } = parts.shelf();
  try {
    const { id } = await findIdentity(called, { registry, members, rules: USUAL_RULES, domainId });
    return (await registry.get(id))?.item;
  } catch (error) {
    // It looks like an address and is none: then it is the name of a document, or nothing.
    if (error instanceof BadInputError) return undefined;
    throw error;
  }
}

export async function readRecord(id: ItemId, parts: Parts): Promise<IngestItem | undefined> {
  return (await readRegistered(id, parts))?.item;
}

/** A registry that cannot be read explains nothing, and hides nothing else. */
async function readRegistered(id: ItemId, { shelf }: Parts): Promise<RegisteredItem | undefined> {
  try {
    return await shelf().registry.get(id);
  } catch (error) {
    if (error instanceof DamagedError) return undefined;
    throw error;
  }
}

/** What the last crawl saw, and what was learned of the address since. */
export async function withRecord(stage: Stage, id: ItemId, parts: Parts): Promise<Stage> {
  const item = await readRecord(id, parts);
  if (!item || item.status === "Indexed" || item.status === "Crawled") return stage;
  const detail = await sayRecord(item, parts);
  return stage.outcome === "ok" ? { ...stage, detail: `${stage.detail} ${detail}` } : problem("source", detail);
}

export async function sayRecord(item: IngestItem, parts: Parts): Promise<string> {
  const { lastChecked, errorMessage, nextCrawlAt } = item.scheduling;
  const found = `as the look at it ${shown(lastChecked)} found`;
  const why = sentence(errorMessage);
  if (item.aliasOf !== "") {
    const target = await readRecord(item.aliasOf, parts);
    return `It is another address of '${target?.displaySource ?? item.aliasOf}', and is found under that one.`;
  }
  switch (item.status) {
    case "Pending":
      return "It is registered and waits to be looked at for the first time.";
    case "Crawled":
      return `It was fetched ${shown(lastChecked)} and waits to be indexed. Crawl the domain.`;
    case "Indexed":
      return "The registry knows it, but it is not in this domain: another one has it.";
    case "Gone":
      return `It does not exist any more, ${found}. ${why}`;
    case "OutOfScope":
      return `It must not be indexed, ${found}. ${why}`;
    case "Error": {
      const again = nextCrawlAt && item.watched ? ` It is asked again ${shown(nextCrawlAt)}.` : "";
      return lastChecked ? `The look at it ${shown(lastChecked)} failed. ${why}${again}` : why + again;
    }
  }
}

function sentence(text: string): string {
  if (text === "") return "The registry does not say why.";
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
