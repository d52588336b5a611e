import { RemoteError } from "../../contracts/errors.ts";
import type { Alternatives } from "../../contracts/finding.ts";
import { nearestNames } from "../../lib/nearest-names.ts";
import {
  decodeFolderExists,
  decodeLibrary,
  decodeLibraryPaths,
  decodeWebPath,
  LIBRARY_FIELDS,
  LIBRARY_PATHS_QUERY,
  type LibraryRoot,
  type LibraryScope,
  WEB_FIELDS,
} from "./library-codec.ts";
import { type CallContext, type RestClient, SharePointError } from "./rest-client.ts";
import { odataLiteral, pathBelow, type SiteAddress } from "./site-url.ts";

/** What a source lists: a library, or one folder of it. */
export interface LibraryTarget {
  readonly library: LibraryRoot;
  /** The library's path, or that of the folder. */
  readonly root: string;
}

export function scopeOf(site: SiteAddress, target: LibraryTarget): LibraryScope {
  return { origin: site.origin, library: target.library.path, root: target.root };
}

/** Throws RemoteError when site, library or folder are not there. `urlPart` begins with a slash and ends without. */
export async function findLibrary(
  rest: RestClient,
  site: SiteAddress,
  urlPart: string,
  call: CallContext,
  fields: string = LIBRARY_FIELDS,
): Promise<LibraryTarget> {
  await checkWeb(rest, site, call);
  const wantedPath = `${site.path}${urlPart === "/" ? "" : urlPart}`;
  for (let path = wantedPath; path.length > site.path.length; path = path.slice(0, path.lastIndexOf("/"))) {
    const library = await readLibrary(rest, site, path, call, fields);
    if (!library) continue;
    if (library.path.toLowerCase() === wantedPath.toLowerCase()) return { library, root: library.path };
    // For a folder, SharePoint may return the library around it: the returned path decides, not the requested one.
    if (pathBelow(library.path, wantedPath) === undefined) break;
    if (!(await folderExists(rest, site, wantedPath, call))) {
      throw new RemoteError(`the library '${library.title}' has no folder '${wantedPath}'${encodedHint(urlPart)}`);
    }
    return { library, root: wantedPath };
  }
  throw missingListError(`there is no library at '${wantedPath}'${encodedHint(urlPart)}`, {
    field: "sharepoint_url_part",
    requested: urlPart.replaceAll("%20", " ").split("/")[1] ?? "",
    names: await readLibraryParts(rest, site, call),
    prefix: "/",
  });
}

/** Returns the paths of libraries below the site, for suggestions; none when they cannot be read. */
async function readLibraryParts(rest: RestClient, site: SiteAddress, call: CallContext): Promise<string[]> {
  try {
    const paths = decodeLibraryPaths(await rest.getJson(`${site.api}web/lists?${LIBRARY_PATHS_QUERY}`, call));
    return paths.flatMap((path) => pathBelow(site.path, path) ?? []);
  } catch (error) {
    if (error instanceof RemoteError) return [];
    throw error;
  }
}

/** Returns undefined when there is no library at the path. */
export async function readLibrary(
  rest: RestClient,
  site: SiteAddress,
  path: string,
  call: CallContext,
  fields: string = LIBRARY_FIELDS,
): Promise<LibraryRoot | undefined> {
  const query = `?@u=${odataLiteral(path)}&$select=${fields}&$expand=RootFolder`;
  const response = await unlessMissing(rest.getJson(`${site.api}web/GetListUsingPath(DecodedUrl=@u)${query}`, call));
  return response && decodeLibrary(response);
}

export async function folderExists(
  rest: RestClient,
  site: SiteAddress,
  path: string,
  call: CallContext,
): Promise<boolean> {
  const query = `?@u=${odataLiteral(path)}&$select=Exists,ServerRelativeUrl`;
  const url = `${site.api}web/GetFolderByServerRelativePath(DecodedUrl=@u)${query}`;
  const response = await unlessMissing(rest.getJson(url, call));
  return response !== undefined && decodeFolderExists(response);
}

/** Throws when the site has another path than configured: a renamed site still answers under its old address. */
export async function checkWeb(rest: RestClient, site: SiteAddress, call: CallContext): Promise<void> {
  const path = decodeWebPath(await rest.getJson(`${site.api}web?$select=${WEB_FIELDS}`, call));
  if (path.toLowerCase() === site.path.toLowerCase()) return;
  throw new RemoteError(`the site calls itself '${path || "/"}'; set 'site_url' to ${site.origin}${path}`);
}

/** A 404 counts only with an error code in it: otherwise it may come from a gateway in front of SharePoint. */
async function unlessMissing<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof SharePointError && isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: SharePointError): boolean {
  return (error.status === 404 && error.exception !== "") || (error.status === 400 && error.code === NOT_IN_RANGE);
}

/** "Value does not fall within the expected range": SharePoint's other error for an unknown path. */
const NOT_IN_RANGE = -2147024809;

function encodedHint(urlPart: string): string {
  return /%[0-9A-Fa-f]{2}/.test(urlPart) ? " (write spaces as spaces, not as %20)" : "";
}

/** More are no help to choose from. */
const MAX_ALTERNATIVES = 100;

/** The site has no library or list of the requested name. */
export class MissingListError extends RemoteError {
  /** The libraries or lists that the site has, likeliest first. */
  readonly alternatives: Alternatives;
  constructor(message: string, alternatives: Alternatives) {
    super(message);
    this.alternatives = alternatives;
  }
}

interface MissingList {
  readonly field: string;
  /** "" when nothing is named yet. */
  readonly requested: string;
  /** All there are. */
  readonly names: readonly string[];
  /** Prepended to each name in suggestions. */
  readonly prefix?: string;
}

/** `problem` says what is missing. */
export function missingListError(
  problem: string,
  { field, requested, names, prefix = "" }: MissingList,
): MissingListError {
  const near = requested === "" ? [] : nearestNames(requested, names);
  const others = names.filter((name) => !near.includes(name)).toSorted((a, b) => a.localeCompare(b, "en"));
  const values = [...near, ...others].slice(0, MAX_ALTERNATIVES).map((name) => prefix + name);
  const meant = near.map((name) => `'${prefix}${name}'`).join(" or ");
  return new MissingListError(`${problem}; ${meant ? `did you mean ${meant}?` : `check '${field}'`}`, {
    field,
    values,
  });
}
