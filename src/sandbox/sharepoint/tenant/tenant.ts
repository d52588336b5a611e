import { BadInputError, NotFoundError } from "../../../contracts/errors.ts";
import { attachmentAt } from "./attachments.ts";
import { TermLabels } from "./column.ts";
import { GuidSequence } from "./guid-sequence.ts";
import { type BaseTemplate, Library, type LibraryRequest } from "./library.ts";
import type { Recycled } from "./relocate-item.ts";
import { SiteUsers } from "./site-users.ts";
import { TenantClock } from "./tenant-clock.ts";
import { checkItemName, type FolderItem, nameKey, type TenantItem } from "./tenant-item.ts";

/** Where a path leads: the library, and what of the path is left below its root folder. */
interface Located {
  readonly library: Library;
  readonly names: readonly string[];
}

interface LibraryOptions {
  readonly title?: string;
  readonly at?: string;
  readonly template?: BaseTemplate;
  readonly minorVersions?: boolean;
}

const LIBRARY_PATH = /^(.*)\/([^/]*)$/;
const LIST_PATH = /^(.*)\/(Lists\/[^/]+)$/i;

/** Everything the tenant holds. Operations on it are functions beside this file; each is one user's action in SharePoint. */
export class Tenant {
  readonly clock = new TenantClock();
  readonly #sites = new Map<string, Site>();
  /** Live items only; what lies in the recycle bin is not found here. */
  readonly itemsByUniqueId = new Map<string, TenantItem>();
  readonly recycleBin = new Map<string, Recycled>();
  #guids = new GuidSequence("tenant");

  readonly takeGuid = (): string => this.#guids.take();

  get sites(): Site[] {
    return [...this.#sites.values()];
  }

  /** Back to nothing; ids begin anew, so the same seed gives the same ids. */
  clear(): void {
    this.#sites.clear();
    this.itemsByUniqueId.clear();
    this.recycleBin.clear();
    this.clock.followWallClock();
    this.#guids = new GuidSequence("tenant");
  }

  addSite(path: string, title: string, at?: string): Site {
    if (path !== "" && !/^\/(sites|teams)\/[A-Za-z0-9_-]+$/.test(path)) {
      throw new BadInputError(`Add site '${path}': a site path looks like '/sites/name'.`);
    }
    if (this.#sites.has(nameKey(path))) throw new BadInputError(`Add site '${path}': it exists already.`);
    const site = new Site(path, title, this.clock.resolveMs(at), this.takeGuid);
    this.#sites.set(nameKey(path), site);
    return site;
  }

  /** `path` is the server-relative URL, `/sites/demo/Contracts`; that of a list ends in `/Lists/Tasks`. */
  addLibrary(path: string, options: LibraryOptions = {}): Library {
    const isList = options.template === 100;
    const [, sitePath = "", urlName = ""] = (isList ? LIST_PATH : LIBRARY_PATH).exec(path) ?? [];
    const name = urlName.slice(urlName.lastIndexOf("/") + 1);
    if (urlName === "") throw new BadInputError(`Add list '${path}': its path looks like '/sites/demo/Lists/Tasks'.`);
    const site = this.site(sitePath);
    if (!site) throw new NotFoundError(`Add library '${path}': there is no site '${sitePath}'.`);
    checkItemName(name);
    const title = options.title ?? name;
    if (site.libraryByUrlName(urlName) || site.libraryByTitle(title)) {
      throw new BadInputError(`Add library '${path}': the site has a library of this name or title already.`);
    }
    const { template, minorVersions } = options;
    const request = {
      title,
      urlName,
      ...(template === undefined ? {} : { template }),
      ...(minorVersions === undefined ? {} : { minorVersions }),
    };
    return site.addLibrary(request, this.clock.resolveMs(options.at), this.takeGuid);
  }

  site(path: string): Site | undefined {
    return this.#sites.get(nameKey(path.replace(/\/+$/, "")));
  }

  /** undefined when the path leads into no library. */
  locate(path: string): Located | undefined {
    const names = path.split("/").slice(1);
    for (const depth of [2, 0]) {
      const site = this.site(depth === 0 ? "" : `/${names.slice(0, depth).join("/")}`);
      for (const length of [1, 2]) {
        const library = site?.libraryByUrlName(names.slice(depth, depth + length).join("/"));
        if (library) return { library, names: names.slice(depth + length) };
      }
    }
    return undefined;
  }

  /** undefined when nothing lies at the path. The root folder of a library is an item, too. */
  itemAt(path: string): TenantItem | undefined {
    const located = this.locate(path);
    const attachment = located && attachmentAt(located.library, located.names);
    if (attachment) return attachment;
    let item: TenantItem | undefined = located?.library.root;
    for (const name of located?.names ?? []) {
      item = item?.kind === "folder" ? item.children.get(nameKey(name)) : undefined;
    }
    return item;
  }

  /** A library or folder that must be there. */
  folderAt(path: string): FolderItem {
    const item = this.itemAt(path);
    if (item?.kind === "folder") return item;
    throw new NotFoundError(`Find folder '${path}': ${item ? "it is a file" : "it does not exist"}.`);
  }

  libraryAt(path: string): Library {
    const located = this.locate(path);
    if (located?.names.length === 0) return located.library;
    throw new NotFoundError(`Find library '${path}': there is none at this path.`);
  }
}

/** A site collection with its one web. */
export class Site {
  readonly id: string;
  readonly webId: string;
  /** Server-relative, without a slash at the end; "" for the root site. */
  readonly path: string;
  readonly title: string;
  readonly createdAtMs: number;
  readonly users = new SiteUsers();
  readonly terms = new TermLabels();
  readonly #libraries = new Map<string, Library>();

  constructor(path: string, title: string, createdAtMs: number, takeGuid: () => string) {
    this.id = takeGuid();
    this.webId = takeGuid();
    this.path = path;
    this.title = title;
    this.createdAtMs = createdAtMs;
  }

  get libraries(): Library[] {
    return [...this.#libraries.values()];
  }

  libraryByUrlName(urlName: string): Library | undefined {
    return this.#libraries.get(nameKey(urlName));
  }

  libraryByTitle(title: string): Library | undefined {
    return this.libraries.find((library) => nameKey(library.title) === nameKey(title));
  }

  libraryById(id: string): Library | undefined {
    return this.libraries.find((library) => library.id === id.toLowerCase());
  }

  addLibrary(request: LibraryRequest, createdAtMs: number, takeGuid: () => string): Library {
    const library = new Library(this, request, createdAtMs, takeGuid);
    this.#libraries.set(nameKey(request.urlName), library);
    return library;
  }

  removeLibrary(library: Library): void {
    this.#libraries.delete(nameKey(library.urlName));
  }
}
