import { hash } from "node:crypto";
import { domainToUnicode } from "node:url";
import { getDomain } from "tldts";
import { BadInputError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import { dropSecrets } from "../../lib/secret-parameters.ts";
import { trimEnd } from "../../lib/text.ts";

export interface IdentityRules {
  /** Name prefixes of query parameters that are dropped, in any case. Lower-case: `utm_`, `gclid`. */
  readonly trackingPrefixes: readonly string[];
}

export const USUAL_RULES: IdentityRules = { trackingPrefixes: ["utm_", "gclid", "fbclid", "msclkid"] };

/** The identity of an address, however it was spelled. */
export type Identity = Pick<
  IngestItem,
  "id" | "type" | "normalizedSource" | "displaySource" | "foundSource" | "sourceHost" | "contentGroupId"
>;

/** Index pages belong to the content group of their folder, which only means that they may be alike. */
const INDEX_PAGE = /\/(?:index|default)\.(?:x?html?|php\d?|aspx?|jsp)$/i;

/** Servers need not accept more (RFC 9110), and it must fit into a row of the registry. */
export const MAX_ADDRESS_CHARACTERS = 8000;

/** Returns the identity of a URL. BadInputError if it is not http or https. `base` resolves relative ones. */
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

/**
 * Returns the identity of a URL as the twin of another one: both spellings, with and without a slash at the end, are linked
 * and show different pages. `identifyUrl` gives both the same identity; the one that was found second has this one.
 */
export function identifyTwin(address: string, rules: IdentityRules): Identity {
  const identity = identifyUrl(address, rules);
  const normalizedSource = withSlash(identity.normalizedSource);
  const displaySource = withSlash(identity.displaySource);
  return { ...identity, id: `url_${shortHash(normalizedSource)}` as ItemId, normalizedSource, displaySource };
}

/** Whether an item is known under `identifyTwin`. */
export function isTwin({ type, normalizedSource }: Pick<Identity, "type" | "normalizedSource">): boolean {
  return type === "url" && new URL(normalizedSource).pathname !== "/" && endsInSlash(normalizedSource);
}

/** Whether the path of the URL ends with a slash. */
export function endsInSlash(url: string): boolean {
  return /^[^?#]*\/(?:[?#]|$)/.test(url);
}

/** Returns the URL without the slashes at the end of its path, or with one if it has none. */
export function otherSlash(url: string): string {
  const other = new URL(url);
  other.pathname = endsInSlash(url) ? trimEnd(other.pathname, "/") || "/" : `${other.pathname}/`;
  return other.href;
}

/** Returns the URL with one slash at the end of its path. */
export function withSlash(url: string): string {
  return url.replace(/\/?(?=\?|$)/, "/");
}

/** Parses an http or https URL; removes user name, fragment, secrets and the trailing dot of the host. */
export function parseAddress(address: string, base?: string): URL {
  const url = URL.parse(address, base);
  if (!url && /^\s*https?:\/\//i.test(address)) throw new BadInputError(sayWrongPart(address));
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    // The message never contains the address: it may hold a password.
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

/** Returns a URL that may be stored and shown: see `parseAddress`. "" if it is not a web address. */
export function shownAddress(address: string): string {
  try {
    return parseAddress(address).href;
  } catch {
    return "";
  }
}

/**
 * Whether both have the same registrable domain. Domains that give names to strangers, such as github.io, count as
 * registries, so two of those strangers differ. For addresses without such a domain (IP, localhost): the same host.
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
 * Returns the canonical query (without `?`): sorted by name, equal names in their order, without tracking parameters
 * and empty parts. `a` and `a=`, `+` and `%20` stay different: most servers read them alike, but not all, and indexing
 * a page twice costs less than merging two.
 */
function canonicalQuery(query: string, trackingPrefixes: readonly string[]): string {
  return piecesOf(query)
    .map((piece) => ({ piece: canonicalEscapes(piece), name: nameOf(piece) }))
    .filter(({ name }) => !isTracker(name, trackingPrefixes))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .map(({ piece }) => piece)
    .join("&");
}

/** The query without tracking parameters, otherwise unchanged. */
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

/**
 * Returns the identity of a file: an absolute path of this machine or of a share, a `file:` URI, or the URL of a blob.
 * BadInputError for anything else. The file is not accessed, so links to it are separate files.
 */
export function identifyFile(source: string): Identity {
  const identity = /^\s*https?:/i.test(source) ? identifyBlob(source) : identifyPath(source.toWellFormed());
  if (identity.normalizedSource.length <= MAX_ADDRESS_CHARACTERS) return identity;
  throw new BadInputError(`The path is longer than ${MAX_ADDRESS_CHARACTERS} characters.`);
}

/** Drops the query: it holds the signature, and a version of a blob is the blob. */
function identifyBlob(source: string): Identity {
  const url = parseAddress(source);
  url.search = "";
  const path = blobPath(url.pathname);
  return identified(`${url.protocol}//${url.host}${path}`, {
    displaySource: `${url.protocol}//${url.host}${readableEscapes(path)}`,
    foundSource: url.href,
    sourceHost: url.host,
  });
}

/**
 * Returns the canonical path of a blob. The service treats an escaped slash as a slash, and every slash as part of the
 * name: `a//b` and `a/b/` differ from `a/b`. If a name contains `.` or `..`, its slashes are escaped; otherwise they
 * would be resolved as path steps.
 */
function blobPath(pathname: string): string {
  const names = decodedPath(pathname)?.slice(1).split("/");
  if (!names) throw new BadInputError("The address holds an invalid percent escape. Write '%' itself as %25.");
  const hasSteps = names.some((name) => name === "." || name === "..");
  const spelled = names.map((name) => encodeURI(name).replaceAll(/[?#]/g, encodeURIComponent));
  return `/${spelled.join(hasSteps ? "%2F" : "/")}`;
}

/** undefined: invalid escapes. */
export function decodedPath(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
}

function identifyPath(source: string): Identity {
  if (source.includes("\0")) throw new BadInputError("A path cannot hold the character NUL.");
  const { host, names } = readPath(source);
  const isOnDrive = isDrive(names[0]);
  // Windows and its shares ignore case.
  const known = isOnDrive || host !== "" ? names.map((name) => name.toLowerCase()) : names;
  const escaped = known.map((name, i) => (i === 0 && isOnDrive ? name : encodeURIComponent(name))).join("/");
  const lead = isOnDrive ? "" : host === "" ? "/" : `//${host}/`;
  return identified(`file://${host}/${escaped}`, {
    displaySource: (lead + names.join("/")).replaceAll(/\p{C}/gu, "\ufffd"),
    foundSource: /^file:/i.test(source) ? source.replace(/[?#].*$/s, "") : source,
    sourceHost: host || "file",
  });
}

function identified(
  normalizedSource: string,
  rest: Pick<Identity, "displaySource" | "foundSource" | "sourceHost">,
): Identity {
  const contentGroupId = shortHash(normalizedSource.replace(/^[a-z]+:\/\//, ""));
  return {
    id: `file_${shortHash(normalizedSource)}` as ItemId,
    type: "file",
    normalizedSource,
    contentGroupId,
    ...rest,
  };
}

/** `host` is the server of a share, or "". On Windows the first name is the drive. */
interface FilePath {
  readonly host: string;
  readonly names: readonly string[];
}

function readPath(source: string): FilePath {
  if (/^file:/i.test(source)) return readFileUri(source);
  const text = source.replace(/^\\\\\?\\UNC\\/i, "\\\\").replace(/^\\\\\?\\/, "");
  const [, server, below = ""] = /^\\\\([A-Za-z0-9_-][A-Za-z0-9._-]*)[\\/](.*)$/s.exec(text) ?? [];
  const host = server && URL.parse(`file://${server}`)?.hostname;
  if (host) return { host, names: resolveNames(below.split(/[\\/]/)) };
  if (/^\/?[A-Za-z]:[\\/]/.test(text)) return { host: "", names: resolveNames(text.split(/[\\/]/)) };
  if (text.startsWith("/")) return { host: "", names: resolveNames(text.split("/")) };
  throw new BadInputError(
    "This is no absolute path. Give one such as C:\\Docs\\plan.docx, /srv/docs/plan.docx or \\\\server\\share\\plan.docx, or the https:// address of a blob.",
  );
}

function readFileUri(source: string): FilePath {
  const url = URL.parse(source);
  try {
    const names = url?.pathname.split("/").map(decodeURIComponent);
    if (url && names && !names.some((name) => /[/\0]/.test(name))) {
      return { host: url.hostname, names: resolveNames(names) };
    }
  } catch {
    // An invalid escape.
  }
  throw new BadInputError("This is no file address. Give one such as file:///srv/docs/plan.docx.");
}

/** Removes empty names and dots; `..` stops at the drive. */
function resolveNames(names: readonly string[]): readonly string[] {
  const resolved: string[] = [];
  for (const name of names) {
    if (name === "" || name === ".") continue;
    if (name !== "..") resolved.push(resolved.length === 0 && isDrive(name) ? name.toUpperCase() : name);
    else if (!(resolved.length === 1 && isDrive(resolved[0]))) resolved.pop();
  }
  return resolved;
}

function isDrive(name: string | undefined): boolean {
  return name !== undefined && /^[A-Za-z]:$/.test(name);
}

const UNRESERVED = /[A-Za-z0-9._~-]/;
const ESCAPE_OR_STRANGER = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~!$&'()*+,;=:@/?-]/g;
/** Invisible characters, and those that change text direction. */
const UNREADABLE = /[\p{C}\p{Z}]/u;

/**
 * Returns the canonical spelling of a path or query (RFC 3986): unreserved characters are decoded, other escapes
 * upper-case, and invalid characters escaped. Reserved characters stay, escaped or not: servers distinguish them. A `%`
 * that begins no escape is escaped itself; `%%37E` would otherwise become an escape the second time.
 */
function canonicalEscapes(text: string): string {
  return text.replaceAll(ESCAPE_OR_STRANGER, (found) => {
    if (found.length === 1) return encodeURIComponent(found);
    const character = String.fromCharCode(Number.parseInt(found.slice(1), 16));
    return UNRESERVED.test(character) ? character : found.toUpperCase();
  });
}

/** For display: decodes letters of all alphabets. Parsing the result gives the same URL, so the rest stays escaped. */
function readableEscapes(text: string): string {
  return text.replaceAll(/(?:%[89A-F][0-9A-F])+/g, (run) => {
    try {
      return [...decodeURIComponent(run)].map((c) => (UNREADABLE.test(c) ? encodeURIComponent(c) : c)).join("");
    } catch {
      return run;
    }
  });
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz234567";
const LENGTH = 26;

/**
 * Returns 130 bits of SHA-256 in lower-case base32: short, safe in file names and keys, without collisions in practice.
 */
export function shortHash(content: string | Uint8Array): string {
  const digest = hash("sha256", content, "buffer");
  let letters = "";
  let bits = 0;
  let held = 0;
  for (let i = 0; letters.length < LENGTH; i += 1) {
    bits = ((bits << 8) | digest.readUInt8(i)) & 0xfff;
    for (held += 8; held >= 5; held -= 5) letters += LETTERS.charAt((bits >> (held - 5)) & 31);
  }
  return letters.slice(0, LENGTH);
}
