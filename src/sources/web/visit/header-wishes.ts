/** What the headers of an answer say beside its body. */
export interface HeaderWishes {
  readonly noindex: boolean;
  readonly nofollow: boolean;
  /** Absolute, "" for none. */
  readonly canonical: string;
}

const OURS = "lockstep";
/** Directives that have a colon themselves. */
const WITH_VALUE = new Set(["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]);

export function readHeaderWishes(headers: ReadonlyMap<string, string>, url: string): HeaderWishes {
  const wishes = new Set(robotsWishes(headers.get("x-robots-tag") ?? ""));
  const none = wishes.has("none");
  return {
    noindex: none || wishes.has("noindex"),
    nofollow: none || wishes.has("nofollow"),
    canonical: canonicalLink(headers.get("link") ?? "", url),
  };
}

/**
 * `noindex, otherbot: nofollow`. Several headers arrive as one, so it cannot be told where those for another robot end:
 * what has no name before it counts as meant for everybody.
 */
function robotsWishes(header: string): string[] {
  if (header === "") return [];
  return header
    .toLowerCase()
    .split(",")
    .flatMap((part) => {
      const [name = "", directive] = part.split(":", 2).map((text) => text.trim());
      if (directive === undefined || WITH_VALUE.has(name)) return [name];
      return name === OURS || name === "*" ? [directive] : [];
    });
}

const MAX_LINK_HEADER = 8192;

/** `<https://example.com/a>; rel="canonical"` */
function canonicalLink(header: string, url: string): string {
  if (header === "") return "";
  for (const part of header.slice(0, MAX_LINK_HEADER).split(/,(?=\s*<)/)) {
    const [, target, parameters = ""] = /^\s*<([^>]*)>(.*)$/s.exec(part) ?? [];
    if (target === undefined || !/;\s*rel\s*=\s*("[^"]*\bcanonical\b[^"]*"|canonical\b)/i.test(parameters)) continue;
    return URL.parse(target, url)?.href ?? "";
  }
  return "";
}
