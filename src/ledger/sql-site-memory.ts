import type { ItemId } from "../contracts/ids.ts";
import type { CrawledPage, CrawlHead, ReadList, SiteMemory } from "../contracts/site-memory.ts";
import { sha256Of } from "../lib/hash.ts";
import { isListed, listOf, replacing, type Sql, type SqlDatabase, type Values } from "../lib/sql/sql.ts";

interface CrawlRow extends CrawlHead {
  readonly crawl_no: number;
  readonly finished: number;
}

interface PageRow {
  readonly page_no: number;
  readonly page_id: string;
  readonly crawl_no: number;
  readonly url: string;
  readonly depth: number;
  readonly outcome: CrawledPage["outcome"] | "list";
  readonly item_id: ItemId | "";
  readonly undated: string;
  /** 1: all its links are in page_link. */
  readonly complete: number;
  readonly etag: string;
  readonly last_modified: string;
}

/** Targets of a page, in order: its links, feeds and aliases; of a list, its addresses and further lists. */
interface Targets {
  readonly link: readonly string[];
  readonly feed: readonly string[];
  readonly alias: readonly string[];
  readonly list: readonly string[];
  /** Dates of the links of a list. */
  readonly dates: readonly string[];
}

type Page = Omit<PageRow, "page_no" | "crawl_no"> & Targets;
type Kind = Exclude<keyof Targets, "dates">;

const KINDS: readonly Kind[] = ["link", "feed", "alias", "list"];
const NO_LIST = { etag: "", last_modified: "", list: [], dates: [] };
const NO_PAGE = { depth: 0, outcome: "list", item_id: "", undated: "", feed: [], alias: [] } as const;
const COLUMNS = "page_id, crawl_no, url, depth, outcome, item_id, undated, complete, etag, last_modified";
const RESUMABLE_MS = 24 * 3600 * 1000;
const PAGES_AT_ONCE = 200;
/** A kill loses at most so many pages, or those of this time. */
const WORTH_WRITING = 8;
const NOW_AND_THEN_MS = 200;

export class SqlSiteMemory implements SiteMemory {
  readonly resumes: SiteMemory["resumes"];
  readonly isBlind: boolean;
  /** undefined: there is none, or none of this site. */
  readonly #sql: Sql | undefined;
  /** undefined: a dry run. */
  readonly #db: SqlDatabase | undefined;
  readonly #source: number;
  readonly #crawl: number;
  /** Puts that are not written yet, and those that the current transaction writes. */
  #pending = new Map<string, Page>();
  #writing: ReadonlyMap<string, Page> = new Map();
  #queue: Promise<void> = Promise.resolve();
  #flushedAtMs = performance.now();

  private constructor(
    { sql, db }: { readonly sql: Sql | undefined; readonly db: SqlDatabase | undefined },
    source: number,
    crawl: number,
    { startedAt = "", pages = 0, isBlind = false } = {},
  ) {
    this.#sql = sql;
    this.#db = db;
    this.#source = source;
    this.#crawl = crawl;
    this.resumes = { startedAt, pages };
    this.isBlind = isBlind;
  }

  /** For a dry run: the data of earlier crawls of the site. */
  static async read(sql: Sql | undefined, source: number, { site }: CrawlHead): Promise<SqlSiteMemory> {
    const last = await sql?.get<CrawlRow>(SELECT_CRAWL, [source]);
    return new SqlSiteMemory({ sql: last?.site === site ? sql : undefined, db: undefined }, source, 0);
  }

  /** Continues a crawl of the same digest that was interrupted less than a day ago, or begins one. */
  static async open(db: SqlDatabase, source: number, head: CrawlHead): Promise<SqlSiteMemory> {
    const last = await db.get<CrawlRow>(SELECT_CRAWL, [source]);
    if (last && isResumable(last, head)) {
      const counted = await db.get<{ pages: number; blind: number }>(
        `SELECT count(CASE WHEN ${LOOKED_AT} THEN 1 END) AS pages,
         count(CASE WHEN complete = 0 AND outcome NOT IN ('failed', 'list') THEN 1 END) AS blind
         FROM page WHERE source_no = $1 AND crawl_no = $2`,
        [source, last.crawl_no],
      );
      const { pages = 0, blind = 0 } = counted ?? {};
      const resumed = { startedAt: last.startedAt, pages, isBlind: blind > 0 };
      return new SqlSiteMemory({ sql: db, db }, source, last.crawl_no, resumed);
    }
    const crawl = (last?.crawl_no ?? 0) + 1;
    await db.write(async (sql) => {
      if (last?.site !== head.site) await sql.run("DELETE FROM page WHERE source_no = $1", [source]);
      await sql.run("DELETE FROM site_crawl WHERE source_no = $1", [source]);
      await sql.insert("site_crawl (source_no, crawl_no, digest, site, started_at, finished)", [
        [source, crawl, head.digest, head.site, head.startedAt, 0],
      ]);
    });
    return new SqlSiteMemory({ sql: db, db }, source, crawl);
  }

  async recall(id: ItemId): ReturnType<SiteMemory["recall"]> {
    const page = await this.#recall(id);
    return page && { links: page.link, feeds: page.feed, undated: page.undated };
  }

  async recallList(url: string): Promise<ReadList | undefined> {
    const page = await this.#recall(listId(url));
    if (page?.outcome !== "list") return undefined;
    const { etag, last_modified: lastModified, link: addresses, dates, list: lists, complete } = page;
    return { url, etag, lastModified, addresses, dates, lists, isCut: complete === 0 };
  }

  async #recall(id: string): Promise<Page | undefined> {
    const put = this.#pending.get(id) ?? this.#writing.get(id);
    const [found] = put ? [put] : await this.#select("page_id = $2", [id]);
    return found && (found.complete === 1 || found.outcome === "list") ? found : undefined;
  }

  put(pages: readonly CrawledPage[]): void {
    for (const { id, item, isBlind, links, feeds, aliases, ...rest } of pages) {
      const found = { link: links, feed: feeds, alias: aliases, complete: isBlind ? 0 : 1 };
      this.#put({ ...NO_LIST, ...rest, ...found, page_id: id, item_id: item });
    }
  }

  putList({ url, addresses, lists, lastModified, isCut, ...rest }: ReadList): void {
    const found = { link: addresses, list: lists, last_modified: lastModified, complete: isCut ? 0 : 1 };
    this.#put({ ...NO_PAGE, ...rest, ...found, page_id: listId(url), url });
  }

  #put(page: Page): void {
    if (!this.#db) return;
    const before = this.#pending.get(page.page_id);
    this.#pending.set(page.page_id, before ? merged(before, page) : page);
  }

  flush(): Promise<void> {
    const run = this.#queue.then(() => this.#flush());
    this.#queue = run.catch(() => undefined);
    return run;
  }

  async flushNowAndThen(): Promise<void> {
    const isTime = performance.now() - this.#flushedAtMs > NOW_AND_THEN_MS;
    if (isTime || this.#pending.size >= WORTH_WRITING) await this.flush();
  }

  async #flush(): Promise<void> {
    if (!this.#db || this.#pending.size === 0) return;
    this.#writing = this.#pending;
    this.#pending = new Map();
    try {
      await this.#db.write((sql) => this.#write(sql, [...this.#writing.values()]));
      this.#flushedAtMs = performance.now();
    } catch (error) {
      const later = this.#pending;
      this.#pending = new Map(this.#writing);
      for (const page of later.values()) this.#put(page);
      throw error;
    } finally {
      this.#writing = new Map();
    }
  }

  async #write(sql: Sql, pages: readonly Page[]): Promise<void> {
    const ids = listOf(pages.map(({ page_id }) => page_id));
    const which = isListed(sql, "page_id", "$2", "text");
    const known = new Map((await this.#select(which, [ids], sql)).map((page) => [page.page_id, page]));
    const now = pages.map((page) => {
      const before = known.get(page.page_id);
      return before?.crawl_no === this.#crawl ? merged(before, page) : page;
    });
    await sql.insert(
      `page (source_no, ${COLUMNS})`,
      now.map((page) => this.#valuesOf(page)),
      REPLACE,
    );
    const moved = now.filter((page) => !isSame(page, known.get(page.page_id)));
    const rows = await sql.all<{ page_no: number; page_id: string }>(
      `SELECT page_no, page_id FROM page WHERE source_no = $1 AND ${which}`,
      [this.#source, listOf(moved.map(({ page_id }) => page_id))],
    );
    const numbers = new Map(rows.map(({ page_no, page_id }) => [page_id, page_no]));
    const listed = isListed(sql, "page_no", "$1", "integer");
    await sql.run(`DELETE FROM page_link WHERE ${listed}`, [listOf([...numbers.values()])]);
    const links = moved.flatMap((page) => linkRows(numbers.get(page.page_id) ?? 0, page));
    await sql.insert("page_link (page_no, kind, n, target, modified)", links);
  }

  #valuesOf(page: Page): Values {
    const { page_id, url, depth, outcome, item_id, undated, complete, etag, last_modified } = page;
    return [this.#source, page_id, this.#crawl, url, depth, outcome, item_id, undated, complete, etag, last_modified];
  }

  async *visitedPages(): AsyncGenerator<readonly CrawledPage[], void> {
    yield* this.#ofCrawl(LOOKED_AT, ["alias"]);
  }

  async *earlier(): AsyncGenerator<readonly CrawledPage[], void> {
    yield* this.#ofCrawl("outcome <> 'list'", ["link", "feed", "alias"]);
  }

  async *#ofCrawl(which: string, kinds: readonly Kind[]): AsyncGenerator<readonly CrawledPage[], void> {
    if (this.resumes.startedAt === "") return;
    for (let [depth, after] = [-1, 0]; ; ) {
      const page = await this.#select(
        `crawl_no = $2 AND ${which} AND (depth, page_no) > ($3, $4) ORDER BY depth, page_no LIMIT ${PAGES_AT_ONCE}`,
        [this.#crawl, depth, after],
        this.#sql,
        kinds,
      );
      if (page.length > 0) yield page.map(toPage);
      const last = page.at(-1);
      if (!last || page.length < PAGES_AT_ONCE) return;
      ({ depth, page_no: after } = last);
    }
  }

  async finish(): Promise<void> {
    await this.flush();
    await this.#db?.write(async (sql) => {
      await sql.run("UPDATE site_crawl SET finished = 1 WHERE source_no = $1", [this.#source]);
      await sql.run("DELETE FROM page WHERE source_no = $1 AND crawl_no <> $2", [this.#source, this.#crawl]);
    });
  }

  async #select(
    which: string,
    values: Values,
    sql = this.#sql,
    kinds: readonly Kind[] = KINDS,
  ): Promise<(PageRow & Targets)[]> {
    const text = `SELECT page_no, ${COLUMNS} FROM page WHERE source_no = $1 AND ${which}`;
    const rows = (await sql?.all<PageRow>(text, [this.#source, ...values])) ?? [];
    if (!sql || rows.length === 0) return [];
    const links = await sql.all<{ page_no: number; kind: Kind; target: string; modified: string }>(
      `SELECT page_no, kind, target, modified FROM page_link WHERE ${isListed(sql, "page_no", "$1", "integer")}
       AND ${isListed(sql, "kind", "$2", "text")} ORDER BY page_no, kind, n`,
      [listOf(rows.map(({ page_no }) => page_no)), listOf(kinds)],
    );
    const byPage = Map.groupBy(links, ({ page_no }) => page_no);
    return rows.map((row) => {
      const own = byPage.get(row.page_no) ?? [];
      const origin = originOf(row.url);
      const targetsOf = (kind: Kind): string[] => own.flatMap((each) => (each.kind === kind ? each.target : []));
      const dates = own.flatMap(({ kind, modified }) => (kind === "link" ? modified : []));
      return {
        ...row,
        ...{
          link: targetsOf("link").map((link) => (link.startsWith("/") ? origin + link : link)),
          feed: targetsOf("feed"),
        },
        ...{ alias: targetsOf("alias"), list: targetsOf("list"), dates: dates.some(Boolean) ? dates : [] },
      };
    });
  }
}

const SELECT_CRAWL = `SELECT crawl_no, digest, site, started_at AS "startedAt", finished FROM site_crawl WHERE source_no = $1`;
const LOOKED_AT = "item_id <> '' AND outcome <> 'failed'";
const REPLACE = replacing("source_no, page_id", COLUMNS);

function isResumable(last: CrawlRow, { digest, startedAt }: CrawlHead): boolean {
  const age = Date.parse(startedAt) - Date.parse(last.startedAt);
  return last.finished === 0 && last.digest === digest && age >= 0 && age < RESUMABLE_MS;
}

/** Key of a list, from its URL. */
function listId(url: string): string {
  return `list:${sha256Of(url).slice(0, 32)}`;
}

/**
 * Merges two records of a crawl: a fetched page stays fetched if it is also passed on the way to another, and known
 * links stay known.
 */
function merged(before: Page, after: Page): Page {
  const { link, feed, undated, complete } = before.complete > after.complete ? before : after;
  const { url, depth, outcome, item_id, alias } = after.item_id === "" && before.item_id !== "" ? before : after;
  return { ...after, url, depth, outcome, item_id, alias, link, feed, undated, complete };
}

function isSame(page: Page, known: (Page & Pick<PageRow, "page_no">) | undefined): boolean {
  if (!known) return false;
  return JSON.stringify(linkRows(0, page)) === JSON.stringify(linkRows(0, known));
}

/** Links are stored without the page's own origin: it is most of their length. */
function linkRows(no: number, page: Page): Values[] {
  const origin = originOf(page.url);
  const shortOf = (link: string): string => (link.startsWith(`${origin}/`) ? link.slice(origin.length) : link);
  return [
    ...page.link.map((target, n) => [no, "link", n, shortOf(target), page.dates[n] ?? ""]),
    ...KINDS.slice(1).flatMap((kind) => page[kind].map((target, n) => [no, kind, n, target, ""])),
  ];
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? "";
}

function toPage(row: PageRow & Targets): CrawledPage {
  return {
    id: row.page_id as ItemId,
    url: row.url,
    depth: row.depth,
    outcome: row.outcome as CrawledPage["outcome"],
    item: row.item_id,
    aliases: row.alias as readonly ItemId[],
    links: row.link,
    feeds: row.feed,
    undated: row.undated,
    isBlind: row.complete === 0,
  };
}
