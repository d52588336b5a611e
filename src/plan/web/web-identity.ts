import { domainToUnicode } from "node:url";
import { getDomain } from "tldts";
import { BadInputError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import { dropSecrets } from "../../lib/secret-parameters.ts";
import { trimEnd } from "../../lib/trim-end.ts";
import { canonicalEscapes, readableEscapes } from "./address-escapes.ts";
import { shortHash } from "./short-hash.ts";

export interface IdentityRules {
  /** Query parameters whose names begin so, in any case, are dropped. Lower-case: `utm_`, `gclid`. */
  readonly trackingPrefixes: readonly string[];
}

export const USUAL_RULES: IdentityRules = { trackingPrefixes: ["utm_", "gclid", "fbclid", "msclkid"] };

/** Under what an address is known, however it was written. */
export type Identity = Pick<
  IngestItem,
  "id" | "type" | "normalizedSource" | "displaySource" | "foundSource" | "sourceHost" | "contentGroupId"
>;

/** What most servers answer for the folder it is in: of the same group, which only says that they may be alike. */
const INDEX_PAGE = /\/(?:index|default)\.(?:x?html?|php\d?|aspx?|jsp)$/i;

/** Servers need not take more (RFC 9110), and a row of the registry has to hold it. */
export const MAX_ADDRESS_CHARACTERS = 8000;

/** BadInputError with a sentence for what is no http or https address. `base` resolves relative ones. */
export function identifyUrl(address: string, rules: IdentityRules, base?: string): Identity {
  const url = parseAddress(address, base);
  const search = withoutTrackers(url.search.slice(1), rules.trackingPrefixes);
  if (search !== url.search.slice(1)) url.search = search;
  const foundSource = checkLength(url.href);
  const query = canonicalQuery(url.search.slice(1), rules.trackingPrefixes);
  const path = trimEnd(canonicalEscapes(url.pathname), "/") || "/";
  const rest = query === "" ? path : `${path}?${query}`;
  const normalizedSource = checkLength(`${url.protocol}//${url.host}${rest}`);
  const port = url.port === "" ? "" : `:${url.port}`;
  return {
    id: `url_${shortHash(normalizedSource)}` as ItemId,
    type: "url",
    normalizedSource,
    displaySource: `${url.protocol}//${domainToUnicode(url.hostname)}${port}${readableEscapes(rest)}`,
    foundSource,
    sourceHost: url.host,
    contentGroupId: shortHash(url.host + (path.replace(INDEX_PAGE, "") || "/")),
  };
}

/** An http or https address without user name, fragment and secrets, its host without the dot of the root. */
export function parseAddress(address: string, base?: string): URL {
  const url = URL.parse(address, base);
  if (!url && /^\s*https?:\/\//i.test(address)) throw new BadInputError(sayWrongPart(address));
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    // The sentence never repeats the address: it may hold a password.
    throw new BadInputError("This is no web address. Give one that begins with https:// or http://.");
  }
  const hostname = trimEnd(url.hostname, ".");
  if (hostname === "") throw new BadInputError("The address names no host. Give one such as https://example.com/page.");
  if (hostname !== url.hostname) url.hostname = hostname;
  url.hash = "";
  dropSecrets(url);
  return url;
}

function sayWrongPart(address: string): string {
  const isPortWrong = URL.canParse(address.replace(/^(\s*https?:\/\/[^/?#]*):\d+(?=[/?#]|\s*$)/i, "$1"));
  return isPortWrong
    ? "The port in the address is wrong. Give a number up to 65535, as in https://example.com:8443/page."
    : "The host in the address is wrong. Give one such as https://example.com/page; a host has no spaces.";
}

/** An address that may be written down and shown: what `parseAddress` leaves of it. "" for what is no web address. */
export function shownAddress(address: string): string {
  try {
    return parseAddress(address).href;
  } catch {
    return "";
  }
}

/**
 * Have both the same registrable domain? Whoever gives names below its own domain to strangers, as github.io does, counts as
 * a registry, so two of those strangers differ. Addresses without such a domain (IP, localhost): the same host.
 */
export function isSameSite(a: string, b: string): boolean {
  const site = siteOf(a);
  return site !== undefined && site === siteOf(b);
}

function siteOf(address: string): string | undefined {
  const host = trimEnd(URL.parse(address)?.hostname ?? "", ".");
  if (!host) return undefined;
  return getDomain(host, { allowPrivateDomains: true }) ?? host;
}

function checkLength(address: string): string {
  if (address.length <= MAX_ADDRESS_CHARACTERS) return address;
  throw new BadInputError(`The address is longer than ${MAX_ADDRESS_CHARACTERS} characters.`);
}

/**
 * The query (without `?`) by which an address is known: sorted by name, equal names in their order, without trackers and
 * empty pieces. `a` and `a=`, `+` and `%20` stay apart: most servers read them alike, but not all, and a page that is known
 * twice costs less than two that are taken for one.
 */
function canonicalQuery(query: string, trackingPrefixes: readonly string[]): string {
  return piecesOf(query)
    .map((piece) => ({ piece: canonicalEscapes(piece), name: nameOf(piece) }))
    .filter(({ name }) => !isTracker(name, trackingPrefixes))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .map(({ piece }) => piece)
    .join("&");
}

/** The query as it was found, without trackers. */
function withoutTrackers(query: string, trackingPrefixes: readonly string[]): string {
  const pieces = query.split("&");
  return pieces.filter((piece) => !isTracker(nameOf(piece), trackingPrefixes)).join("&");
}

function isTracker(name: string, trackingPrefixes: readonly string[]): boolean {
  return trackingPrefixes.some((prefix) => name.toLowerCase().startsWith(prefix));
}

function piecesOf(query: string): readonly string[] {
  return query.split("&").filter((piece) => piece !== "");
}

function nameOf(piece: string): string {
  return canonicalEscapes(piece.split("=", 1)[0] ?? "");
}
