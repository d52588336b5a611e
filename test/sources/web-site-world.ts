import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import type { LedgerSource } from "../../src/contracts/ledger.ts";
import type { Completeness, Listed } from "../../src/contracts/source.ts";
import { openWebSite, type WebTools } from "../../src/sources/web/site/open-web-site.ts";
import type { WebSourceConfig } from "../../src/sources/web/web-source-codec.ts";
import { ofKind } from "../kinds.ts";
import { VisitWorld } from "./web-visit-world.ts";

export interface SiteCrawled {
  readonly completeness: Completeness;
  readonly listed: readonly Listed[];
  /** Addresses of the sightings below the site, sorted. */
  readonly pages: readonly string[];
  readonly departed: readonly string[];
  readonly unreadable: readonly string[];
  readonly log: readonly string[];
}

/** A site and the source that crawls it. */
export class SiteWorld {
  readonly world: VisitWorld;
  readonly #names = new Map<string, string>();

  private constructor(world: VisitWorld) {
    this.world = world;
  }

  static async open(): Promise<SiteWorld> {
    return new SiteWorld(await VisitWorld.open());
  }

  get site(): VisitWorld["site"] {
    return this.world.site;
  }

  /** The source's folder. */
  get folder(): string {
    return join(this.world.folder, "crawler/STORY/04_web/site");
  }

  get #site(): LedgerSource {
    return { domainId: parseDomainId("STORY"), config: this.config() };
  }

  /** Rows of its ledger, read or changed behind its back. */
  inLedger(statement: string, ...values: string[]): Record<string, unknown>[] {
    const db = new DatabaseSync(join(this.world.folder, "crawler/STORY/ledger.sqlite"));
    try {
      return db.prepare(statement).all(...values);
    } finally {
      db.close();
    }
  }

  /** Everything that is remembered of pages and lists. */
  remembered(): string {
    const rows = this.inLedger("SELECT * FROM page LEFT JOIN page_link USING (page_no) ORDER BY page_id, kind, n");
    return JSON.stringify(rows);
  }

  config(more: Partial<WebSourceConfig> = {}): WebSourceConfig {
    return {
      ...ofKind("web_sources"),
      sourceId: parseSourceId("site"),
      startUrls: [this.world.url("/")],
      include: [],
      exclude: [],
      maxDepth: 10,
      maxPages: 1000,
      images: false,
      limits: { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false },
      ...more,
    };
  }

  source(config: Partial<WebSourceConfig> = {}, tools: Partial<WebTools> = {}): ReturnType<typeof openWebSite> {
    const { client, visitor, registry, ledgers, parts } = this.world;
    const usual = {
      domainId: parseDomainId("STORY"),
      client,
      visitor,
      registry,
      members: ledgers.members,
      rules: parts.rules,
    };
    const quiet = { dryRun: false, force: false, pagesAtOnce: 4, log: () => undefined };
    const all = { ...usual, ...quiet, ...tools };
    const openMemory: WebTools["openMemory"] = (head) => ledgers.openSiteMemory(this.#site, head, all);
    return openWebSite(this.config(config), { openMemory, ...all });
  }

  async crawl(config: Partial<WebSourceConfig> = {}, tools: Partial<WebTools> = {}): Promise<SiteCrawled> {
    const log: string[] = [];
    const source = this.source(config, { log: (line) => log.push(line), ...tools });
    const listing = source.list(new AbortController().signal);
    const listed: Listed[] = [];
    let step = await listing.next();
    for (; !step.done; step = await listing.next()) listed.push(...step.value);
    for (const each of listed) {
      if (each.kind === "sighting") this.#names.set(each.itemId, each.url.slice(this.site.origin.length));
    }
    const sorted = (texts: string[]): string[] => texts.sort();
    const named = (kind: "sighting" | "departed" | "unreadable"): string[] =>
      sorted(
        listed.flatMap((each) => (each.kind === kind && each.itemId ? (this.#names.get(each.itemId) ?? "?") : [])),
      );
    return {
      completeness: step.value,
      listed,
      pages: named("sighting"),
      departed: named("departed"),
      unreadable: named("unreadable"),
      log,
    };
  }

  /** Addresses of the members below the site. */
  async members(): Promise<string[]> {
    const found: string[] = [];
    const { registry, ledgers } = this.world;
    for await (const page of ledgers.members.in(parseDomainId("STORY"), parseSourceId("site"))) {
      for (const item of await registry.getMany(page.map(({ itemId }) => itemId))) {
        found.push(item?.item.normalizedSource.slice(this.site.origin.length) ?? "?");
      }
    }
    return found.sort();
  }

  close(): Promise<void> {
    return this.world.close();
  }
}
