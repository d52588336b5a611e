import { randomBytes } from "node:crypto";
import type { WebPage } from "../../../contracts/web.ts";
import { trimEnd } from "../../../lib/trim-end.ts";
import { askPage } from "./ask-page.ts";
import type { VisitorParts } from "./create-page-visitor.ts";
import { stopAt } from "./page-stop.ts";
import { type PageReading, readPage } from "./read-page.ts";

type Answered = PageReading & { readonly url: string };

/** What one crawl finds out about the hosts it meets, by asking each of them once. */
export class HostHabits {
  readonly #begunAt = performance.now();
  readonly #parts: VisitorParts;
  readonly #notFound = new Map<string, Promise<Answered | "none" | undefined>>();
  readonly #markdown = new Map<string, Promise<boolean | undefined>>();

  constructor(parts: VisitorParts) {
    this.#parts = parts;
  }

  /** How long the crawl has been going on. */
  get ageMs(): number {
    return performance.now() - this.#begunAt;
  }

  /** Some hosts answer 200 for what they do not have: such a page says so, and is what they answer for an address nobody has. */
  async isNotFound(url: string, page: WebPage, signal: AbortSignal): Promise<boolean> {
    if (!saysNotFound(page)) return false;
    const { origin } = new URL(url);
    const nowhere = new URL(`/lockstep-${randomBytes(8).toString("hex")}`, origin).href;
    const answered = await once(this.#notFound, origin, () => this.#look(nowhere, signal));
    if (!answered || answered === "none" || !answered.page) return false;
    return essence(page, url) === essence(answered.page, answered.url);
  }

  /** Where a page's Markdown should be, "" when the host has none. */
  async markdownOf(url: string, signal: AbortSignal): Promise<string> {
    const variant = markdownBeside(url);
    if (variant === "") return "";
    const hasIt = await once(this.#markdown, new URL(url).origin, async () => {
      const answer = await this.#look(variant, signal);
      return answer && answer !== "none" && !answer.isHtml && answer.content.documentType === "md";
    });
    return hasIt ? variant : "";
  }

  /** undefined: it does not say so now. */
  async #look(url: string, signal: AbortSignal): Promise<Answered | "none" | undefined> {
    const stop = await stopAt(url, this.#parts, new Date());
    const answer = await askPage(stop, this.#parts, { unconditional: true, signal });
    if (answer.kind === "failed" && !answer.isLasting) return undefined;
    if (answer.kind !== "body") return "none";
    const reading = await readPage(answer.response, stop, this.#parts, { signal });
    if (reading.kind === "failed") return undefined;
    return reading.kind === "read" ? { ...reading, url } : "none";
  }
}

/** What could not be found out (undefined) and a failure are not remembered: whoever comes next asks again. */
async function once<T>(
  memory: Map<string, Promise<T | undefined>>,
  key: string,
  find: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const known = memory.get(key);
  if (known) return await known;
  const finding = find();
  memory.set(key, finding);
  let found: T | undefined;
  try {
    found = await finding;
    return found;
  } finally {
    if (found === undefined) memory.delete(key);
  }
}

const NOT_FOUND =
  /\b404\b|not found|no longer (exists|available)|(does not|doesn.t) exist|nicht gefunden|introuvable|no encontrad/i;

function saysNotFound({ title, markdown }: WebPage): boolean {
  const heading = /^#+ .*$/m.exec(markdown)?.[0] ?? "";
  return NOT_FOUND.test(title) || NOT_FOUND.test(heading);
}

/** The text without the address that was asked for, which such pages like to repeat. */
function essence({ markdown }: WebPage, url: string): string {
  const { pathname } = new URL(url);
  const text = pathname === "/" ? markdown : markdown.replaceAll(url, "").replaceAll(pathname, "");
  return text.replaceAll(/\s+/g, " ").trim();
}

/** `/guide/install` and `/guide/install/` → `/guide/install.md`; "" for the front page and for what has a query or is a file. */
function markdownBeside(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const path = trimEnd(pathname, "/").replace(/\.html?$/, "");
  const name = path.split("/").at(-1) ?? "";
  return path === "" || search !== "" || name.includes(".") ? "" : `${origin}${path}.md`;
}
