import { BadInputError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import { readableEscapes } from "./address-escapes.ts";
import { shortHash } from "./short-hash.ts";
import { type Identity, MAX_ADDRESS_CHARACTERS, parseAddress } from "./web-identity.ts";

/**
 * The identity of a file: an absolute path of this machine or of a share, a `file:` URI, or the http address of a blob.
 * BadInputError with a sentence for anything else. The file itself is not looked at, so links to it are files of their own.
 */
export function identifyFile(source: string): Identity {
  const identity = /^\s*https?:/i.test(source) ? identifyBlob(source) : identifyPath(source.toWellFormed());
  if (identity.normalizedSource.length <= MAX_ADDRESS_CHARACTERS) return identity;
  throw new BadInputError(`The path is longer than ${MAX_ADDRESS_CHARACTERS} characters.`);
}

/** The whole query goes: it holds the signature, and a version of a blob is the blob. */
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
 * One spelling of the path of a blob. The service takes an escaped slash for a slash, and every slash for a part of the
 * name: `a//b` and `a/b/` are others than `a/b`. Where a name holds `.` or `..` its slashes are written as escapes; they
 * would be steps otherwise.
 */
function blobPath(pathname: string): string {
  const names = decodedPath(pathname)?.slice(1).split("/");
  if (!names) throw new BadInputError("The address holds an escape that is none. Write '%' itself as %25.");
  const hasSteps = names.some((name) => name === "." || name === "..");
  const spelled = names.map((name) => encodeURI(name).replaceAll(/[?#]/g, encodeURIComponent));
  return `/${spelled.join(hasSteps ? "%2F" : "/")}`;
}

/** undefined: its escapes are no text. */
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
  // Windows and its shares do not tell capitals from small letters.
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

/** `host` is that of a share, "" on this machine. On Windows the first name is the drive. */
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
    // An escape that is none: as wrong as what follows.
  }
  throw new BadInputError("This is no file address. Give one such as file:///srv/docs/plan.docx.");
}

/** Without empty names and dots; `..` ends at the drive. */
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
