import { randomBytes } from "node:crypto";
import type { WebPage } from "../../contracts/web.ts";
import { trimEnd } from "../../lib/text.ts";
import { type PageReading, readPage } from "./read-page.ts";
import { requestPage, resolveUrl, type VisitorParts } from "./request-page.ts";

const ENOUGH_SESSIONS = 3;

type ProbeResult = PageReading & { readonly url: string };

/** What one crawl learns about hosts by probing each once. */
export class HostProbes {
  readonly #begunAt = performance.now();
  readonly #parts: VisitorParts;
  readonly #notFound = new Map<string, Promise<ProbeResult | "none" | undefined>>();
  /** Pages, by host. */
  readonly #sessions = new Map<string, number>();
  readonly #markdown = new Map<string, Promise<boolean | undefined>>();

  constructor(parts: VisitorParts) {
    this.#parts = parts;
  }

  /** How long the crawl has been running. */
  get ageMs(): number {
    return performance.now() - this.#begunAt;
  }

  /** Notes that a page of the host differed in nothing but values in addresses, and did so each time it was asked for. */
  noteSessions(url: string): void {
    const { origin } = new URL(url);
    this.#sessions.set(origin, (this.#sessions.get(origin) ?? 0) + 1);
  }

  /** Whether so many pages of the host did that it need not be asked again. */
  hasSessions(url: string): boolean {
    return (this.#sessions.get(new URL(url).origin) ?? 0) >= ENOUGH_SESSIONS;
  }

  /** Whether a page with status 200 is the host's "not found" page: it says so, and the host sends the same for a random URL. */
  async isNotFound(url: string, page: WebPage, signal: AbortSignal): Promise<boolean> {
    if (!saysNotFound(page)) return false;
    // Parts of a site may be served by different applications.
    for (const base of new Set([new URL("/", url).href, new URL(".", url.split("?")[0]).href])) {
      const missingUrl = `${base}lockstep-${randomBytes(8).toString("hex")}`;
      const probed = await once(this.#notFound, base, () => this.#probe(missingUrl, signal));
      if (!probed || probed === "none" || !probed.page) continue;
      if (textWithoutUrl(page, url) === textWithoutUrl(probed.page, probed.url)) return true;
    }
    return false;
  }

  /** Returns the URL of a page's Markdown, "" if the host has none. */
  async markdownOf(url: string, signal: AbortSignal): Promise<string> {
    const variant = markdownBeside(url);
    if (variant === "") return "";
    const hasMarkdown = await once(this.#markdown, new URL(url).origin, async () => {
      const answer = await this.#probe(variant, signal);
      return answer && answer !== "none" && !answer.isHtml && answer.content.documentType === "md";
    });
    return hasMarkdown ? variant : "";
  }

  /** Returns undefined if the host gives no usable response now. */
  async #probe(url: string, signal: AbortSignal): Promise<ProbeResult | "none" | undefined> {
    const resolved = await resolveUrl(url, this.#parts, new Date());
    const answer = await requestPage(resolved, this.#parts, { unconditional: true, signal });
    if (answer.kind === "failed" && !answer.isLasting) return undefined;
    if (answer.kind !== "body") return "none";
    const reading = await readPage(answer.response, resolved, this.#parts, { signal });
    if (reading.kind === "failed") return undefined;
    return reading.kind === "read" ? { ...reading, url } : "none";
  }
}

/** Caches a result per key. Failures and undefined are not cached: the next caller tries again. */
async function once<T>(
  memory: Map<string, Promise<T | undefined>>,
  key: string,
  probe: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const known = memory.get(key);
  if (known) return await known;
  const pending = probe();
  memory.set(key, pending);
  let found: T | undefined;
  try {
    found = await pending;
    return found;
  } finally {
    if (found === undefined) memory.delete(key);
  }
}

const NOT_FOUND =
  /\b404\b|not found|no longer (exists|available)|(does not|doesn.t) exist|nicht gefunden|introuvable|no encontrad/i;

function saysNotFound(page: WebPage): boolean {
  return headingsOf(page).some((heading) => NOT_FOUND.test(heading));
}

function headingsOf({ title, markdown }: WebPage): readonly string[] {
  return [title, /^#+ .*$/m.exec(markdown)?.[0].replace(/^#+ /, "") ?? ""];
}

/** Words that may precede the statement: "404: Sorry, the requested page". */
const PREFACE =
  /^(?:(?:http|error|fehler|erreur|status|404|oops|sorry|ups|the|this|that|die|diese|la|cette|requested)[\s:!.,–-]*)*/i;
const NOT_FOUND_STATED =
  /^(?:\p{L}{2,20} )?(?:(?:was|is|has|could|can|wurde|konnte|ist) )*(?:(?:not|nicht|no|non|cannot|leider nicht|(?:ca|could)n.t)(?: been| be)? (?:found|gefunden(?: werden)?|encontrad[ao]|trouvée?|available)|no longer (?:exists?|available|here)|(?:does not|doesn.t) exist|existiert nicht|introuvable)[\s!.]*$/iu;
const MAX_NOT_FOUND_TEXT = 400;

/** Whether a page is titled just "Page not found" and has little more text. */
export function isNotFoundPage(page: WebPage): boolean {
  const parts = headingsOf(page).flatMap((heading) => heading.split(/\s[-|–—:·»]+\s|[|»]/));
  const isStated = parts.some((part) => part.length < 100 && isStatement(part.trim()));
  if (!isStated) return false;
  const text = page.markdown.replaceAll(/!?\[([^[\]]*)\]\([^()[]*\)/g, "$1").replaceAll(/^#.*$/gm, "");
  return text.replaceAll(/\s+/g, " ").length <= MAX_NOT_FOUND_TEXT;
}

/** Returns the text without the requested URL, which such pages repeat. */
function textWithoutUrl({ markdown }: WebPage, url: string): string {
  const { pathname } = new URL(url);
  const text = pathname === "/" ? markdown : markdown.replaceAll(url, "").replaceAll(pathname, "");
  return text.replaceAll(/\s+/g, " ").trim();
}

/** `/guide/install` and `/guide/install/` → `/guide/install.md`; "" for the front page, and for URLs with a query or extension. */
function markdownBeside(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const path = trimEnd(pathname, "/").replace(/\.html?$/, "");
  const name = path.split("/").at(-1) ?? "";
  return path === "" || search !== "" || name.includes(".") ? "" : `${origin}${path}.md`;
}

function isStatement(part: string): boolean {
  const rest = part.replace(PREFACE, "");
  return NOT_FOUND_STATED.test(rest) || (/\b404\b/.test(part) && /^(?:error|page|fehler)?[\s!.]*$/i.test(rest));
}
