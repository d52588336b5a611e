import type { TextReader } from "../../../contracts/document.ts";
import { RemoteError } from "../../../contracts/errors.ts";
import type { IngestItem, Registry } from "../../../contracts/registry.ts";
import type {
  PageRenderer,
  PageVisitor,
  WebClient,
  WebDocuments,
  WebImages,
  WebPageReader,
} from "../../../contracts/web.ts";
import type { CheckPolicy } from "../../../plan/web/schedule-item.ts";
import type { IdentityRules } from "../../../plan/web/web-identity.ts";
import { HostHabits } from "./host-habits.ts";
import { PageVisit } from "./page-visit.ts";

export interface VisitorParts {
  readonly client: WebClient;
  readonly registry: Registry;
  readonly reader: WebPageReader;
  /** Of what is no page: PDF, Office. */
  readonly texts: TextReader;
  readonly documents: WebDocuments;
  readonly images: WebImages;
  /** undefined: pages that need scripts are reported, not rendered. */
  readonly renderer: PageRenderer | undefined;
  readonly rules: IdentityRules;
  readonly policy: CheckPolicy;
  /** Extensions without dot that are worth fetching. */
  readonly acceptedTypes: ReadonlySet<string>;
  readonly maxBytes: number;
  readonly now?: () => Date;
}

export function createPageVisitor(parts: VisitorParts): PageVisitor {
  const now = parts.now ?? (() => new Date());
  const crawls = new WeakMap<object, HostHabits>();
  const habitsOf = (crawl: object | undefined): HostHabits | undefined => {
    if (!crawl) return undefined;
    const habits = crawls.get(crawl) ?? new HostHabits(parts);
    crawls.set(crawl, habits);
    return habits;
  };
  const visitor: PageVisitor = {
    visit: (url, options) => new PageVisit(parts, options, habitsOf(options.crawl), now(), url).look(url),
    document: async (item, signal) =>
      (await parts.documents.get(item.id, item.content.contentHash)) ??
      (await fetchAgain(item, visitor, parts, signal)),
  };
  return visitor;
}

/** It may say something else by now: then this is what it says, and the next look finds it unchanged. */
async function fetchAgain(
  item: IngestItem,
  visitor: PageVisitor,
  { documents }: VisitorParts,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const { outcome, item: found, reason } = await visitor.visit(item.foundSource, { force: true, signal });
  if (outcome === "failed" || outcome === "missing") {
    throw new RemoteError(`fetch ${item.displaySource}: ${reason}`);
  }
  if (found.id !== item.id || outcome === "gone" || outcome === "refused") return undefined;
  return await documents.get(found.id, found.content.contentHash);
}
