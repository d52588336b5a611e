import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ItemId } from "../../contracts/ids.ts";
import type { CrawledPage, CrawlHead, ReadList, SiteMemory } from "../../contracts/site-memory.ts";
import { namesIn } from "../../lib/file-system.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { putAside } from "../../lib/put-aside.ts";

const VERSION = 1;
const LINES_AT_ONCE = 200;

/** The last crawl that came to its end, and one under way or cut off: `web/` below the source's own folder `own`. */
export async function migrateSiteMemory(own: string, open: (head: CrawlHead) => Promise<SiteMemory>): Promise<void> {
  const names = new Set(await namesIn(join(own, "web")));
  if (names.size === 0) return;
  const files = ["pages.jsonl", "crawl.jsonl"].filter((name) => names.has(name)).map((name) => join(own, "web", name));
  for (const path of files) {
    const memory = await readInto(path, open);
    if (path.endsWith("pages.jsonl")) await memory?.finish();
    else await memory?.flush();
  }
  // Both at the end: killed before, they are read again, and say the same.
  await putAside(files, own);
  await rm(join(own, "web"), { recursive: true, force: true });
}

async function readInto(path: string, open: (head: CrawlHead) => Promise<SiteMemory>): Promise<SiteMemory | undefined> {
  let memory: SiteMemory | undefined;
  let put = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    const value = parse(line);
    if (!memory) {
      const head = value && parseHead(value);
      if (!head) return undefined;
      memory = await open(head);
      continue;
    }
    // A line that a crash cut, at the end.
    if (!value) continue;
    if (String(value["id"]).startsWith("list:")) memory.putList(parseList(value));
    else memory.put([parsePage(value)]);
    if (++put % LINES_AT_ONCE === 0) await memory.flush();
  }
  return memory;
}

function parseHead(value: Record<string, unknown>): CrawlHead | undefined {
  if (value["version"] !== VERSION) return undefined;
  return { digest: String(value["digest"]), site: String(value["site"]), startedAt: String(value["started_at"]) };
}

function parseList(value: Record<string, unknown>): ReadList {
  return {
    url: String(value["url"]),
    etag: String(value["etag"]),
    lastModified: String(value["last_modified"]),
    addresses: texts(value["addresses"]),
    dates: texts(value["dates"]),
    lists: texts(value["lists"]),
    isCut: value["cut"] === true,
  };
}

function parsePage(value: Record<string, unknown>): CrawledPage {
  const url = String(value["url"]);
  const origin = URL.parse(url)?.origin ?? "";
  return {
    id: String(value["id"]) as ItemId,
    url,
    depth: Number(value["depth"]),
    outcome: value["outcome"] as CrawledPage["outcome"],
    item: String(value["item"] ?? "") as ItemId | "",
    aliases: texts(value["aliases"]) as ItemId[],
    links: texts(value["links"]).map((link) => (link.startsWith("/") ? origin + link : link)),
    feeds: texts(value["feeds"]),
    undated: String(value["undated"] ?? ""),
    isBlind: value["blind"] === true,
  };
}

function texts(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((each): each is string => typeof each === "string") : [];
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
