/** What the headers of an answer say beside its body. */
export interface HeaderWishes {
  readonly noindex: boolean;
  readonly nofollow: boolean;
  /** Absolute, "" for none. */
  readonly canonical: string;
  /** The page in other languages. */
  readonly alternates: readonly string[];
  /** What a download is to be called, "" when nobody says. */
  readonly filename: string;
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
    canonical: linksIn(headers.get("link") ?? "", url, /;\s*rel\s*=\s*(?:"[^"]*\bcanonical\b|canonical\b)/i)[0] ?? "",
    alternates: linksIn(headers.get("link") ?? "", url, /;\s*hreflang\s*=/i),
    filename: filenameIn(headers.get("content-disposition") ?? ""),
  };
}

/** RFC 6266: the one in UTF-8 counts first. */
function filenameIn(disposition: string): string {
  const text = disposition.slice(0, 2000);
  const encoded = /;\s*filename\*\s*=\s*"?[\w-]*'[\w-]*'([^;"\s]+)/i.exec(text)?.[1];
  const [, quoted, plain] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(text) ?? [];
  const name = decoded(encoded ?? "") || (quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "");
  return name.split(/[/\\]/).at(-1)?.trim() ?? "";
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
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

/** `<https://example.com/a>; rel="canonical"`: where those lead whose parameters are such. */
function linksIn(header: string, url: string, wanted: RegExp): string[] {
  if (header === "") return [];
  return header
    .slice(0, MAX_LINK_HEADER)
    .split(/,(?=\s*<)/)
    .flatMap((part) => {
      const [, target, parameters = ""] = /^\s*<([^>]*)>(.*)$/s.exec(part) ?? [];
      return target === undefined || !wanted.test(parameters) ? [] : (URL.parse(target, url)?.href ?? []);
    });
}
