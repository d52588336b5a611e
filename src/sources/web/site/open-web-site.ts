import type { DomainId } from "../../../contracts/ids.ts";
import type { Members } from "../../../contracts/members.ts";
import type { Registry } from "../../../contracts/registry.ts";
import type { CrawlHead, SiteMemory } from "../../../contracts/site-memory.ts";
import type { Source } from "../../../contracts/source.ts";
import type { PageVisitor, WebClient } from "../../../contracts/web.ts";
import type { IdentityRules } from "../../../detect/web/web-identity.ts";
import { withoutAddressSecrets } from "../../../lib/secret-parameters.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";
import { beginCrawl, tellSecrets } from "./begin-crawl.ts";
import { examineSite } from "./examine-site.ts";
import { markdownLast } from "./markdown-last.ts";
import { SiteCrawl } from "./site-crawl.ts";

/** What a web source works with. */
export interface WebTools {
  readonly domainId: DomainId;
  readonly client: WebClient;
  readonly visitor: PageVisitor;
  readonly registry: Registry;
  readonly members: Members;
  readonly rules: IdentityRules;
  /** What the source remembers between and during crawls. */
  readonly openMemory: (head: CrawlHead) => Promise<SiteMemory>;
  /** Nothing may be written, neither to the registry nor to disk. */
  readonly dryRun: boolean;
  /** Ask for every page regardless of what is known. */
  readonly force: boolean;
  readonly pagesAtOnce: number;
  readonly log: (line: string) => void;
}

/** A web site: what can be reached from its start addresses. To list it is to crawl it. */
export function openWebSite(given: WebSourceConfig, tools: WebTools): Source {
  const config = { ...given, startUrls: given.startUrls.map(withoutAddressSecrets) };
  return {
    id: config.sourceId,
    async *list(signal) {
      tellSecrets(given, tools.log);
      const crawl = new SiteCrawl(config, tools, await beginCrawl(config, tools), signal);
      return yield* markdownLast(crawl.list());
    },
    async fetch({ itemId }, signal) {
      const known = (await tools.registry.get(itemId))?.item;
      const document = known && (await tools.visitor.document(known, signal));
      return document ? { status: "fetched", body: only(document) } : { status: "gone" };
    },
    examine: (signal) => examineSite(config, tools, signal),
  };
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
