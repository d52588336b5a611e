import { explain } from "../../../contracts/errors.ts";
import type { Finding } from "../../../contracts/finding.ts";
import { plural } from "../../../lib/plural.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";
import { readAddressList } from "./address-list.ts";
import { isThere } from "./list-visit.ts";
import type { WebTools } from "./open-web-site.ts";
import { SiteScope } from "./site-scope.ts";
import { isListName } from "./site-seeds.ts";

/** Looks at each start address and for sitemaps, and remembers nothing. */
export async function* examineSite(
  config: WebSourceConfig,
  tools: WebTools,
  signal: AbortSignal,
): AsyncGenerator<Finding, void> {
  const scope = new SiteScope(config);
  for (const url of config.startUrls) {
    yield isListName(url)
      ? await examineList(url, scope, tools, signal)
      : await examineStart(url, scope, tools, signal);
  }
  for (const origin of new Set(config.startUrls.map((url) => new URL(url).origin))) {
    yield await examineSitemaps(origin, scope, tools, signal);
  }
}

async function examineStart(url: string, scope: SiteScope, tools: WebTools, signal: AbortSignal): Promise<Finding> {
  const subject = `Start address ${url}`;
  try {
    const inScope = (target: string): boolean => scope.isOfSite(target);
    const visit = await tools.visitor.visit(url, { force: true, dryRun: true, inScope, signal });
    const { outcome, item, links, reason } = visit;
    if (isThere(outcome)) {
      const count = [...links.values()].flat().filter((link) => link !== undefined && scope.has(link)).length;
      if (count === 0 && !scope.has(item.foundSource)) return { subject, ...NOTHING_WANTED };
      const where = item.foundSource === url ? "" : ` It is ${item.displaySource}.`;
      const detail = `Links to ${plural(count, "address", "addresses")} of the source.${where} ${reason}`.trim();
      return { subject, outcome: reason ? "problem" : "ok", detail, remedy: "" };
    }
    const isList = outcome === "refused" && /xml|json/.test(item.content.mimeType);
    if (isList) return await examineList(url, scope, tools, signal);
    const { statusCode } = item.http;
    // Nobody waits here to see whether it comes back.
    const isMissing = outcome === "missing" || outcome === "gone";
    const said = isMissing ? `The address answers ${statusCode}: there is no such page.` : reason;
    return { subject, ...problemOf(outcome, said) };
  } catch (error) {
    return { subject, outcome: "problem", detail: explain(error), remedy: "" };
  }
}

const NOTHING_WANTED = {
  outcome: "problem",
  detail: "Neither it nor anything it links to is wanted by include and exclude.",
  remedy: 'Correct include and exclude of the source: "/guide" is one page, "/guide/**" is all below it.',
} as const;

function problemOf(outcome: string, reason: string): Pick<Finding, "outcome" | "detail" | "remedy"> {
  const remedy =
    outcome === "refused"
      ? "Ask whoever runs the site to let the robot 'lockstep' in, or take another start address."
      : outcome === "failed"
        ? "Try again later. If it stays so, open the address in a browser from the same network."
        : "Correct start_urls of the source.";
  return { outcome: "problem", detail: reason, remedy };
}

async function examineList(url: string, scope: SiteScope, tools: WebTools, signal: AbortSignal): Promise<Finding> {
  const subject = `Start address ${url}`;
  const list = await readAddressList(url, {
    client: tools.client,
    isOfSite: (target) => scope.isOfSite(target),
    signal,
  });
  if (list.kind !== "list") return { subject, ...problemOf(list.kind === "failed" ? "failed" : "none", list.reason) };
  const named = [
    plural(list.addresses.length, "address", "addresses"),
    ...(list.lists.length > 0 ? [plural(list.lists.length, "further sitemap")] : []),
  ];
  return { subject, outcome: "ok", detail: `Names ${named.join(" and ")}.`, remedy: "" };
}

async function examineSitemaps(
  origin: string,
  scope: SiteScope,
  { client }: WebTools,
  signal: AbortSignal,
): Promise<Finding> {
  const subject = `Sitemap of ${origin}`;
  try {
    const [named = `${origin}/sitemap.xml`] = await client.sitemapsOf(origin, signal);
    const list = await readAddressList(named, { client, isOfSite: (target) => scope.isOfSite(target), signal });
    const detail =
      list.kind === "list"
        ? `Found at ${named}.`
        : `None at ${named} (${list.reason}). Pages are found by their links, which is fine.`;
    return { subject, outcome: list.kind === "list" ? "ok" : "not checked", detail, remedy: "" };
  } catch (error) {
    return { subject, outcome: "problem", detail: explain(error), remedy: "" };
  }
}
