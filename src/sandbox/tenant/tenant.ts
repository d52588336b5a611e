import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import { GuidSequence } from "./guid-sequence.ts";
import { checkItemName, nameKey } from "./item-name.ts";
import type { Library } from "./library.ts";
import type { Recycled } from "./recycle-bin.ts";
import { Site } from "./site.ts";
import { TenantClock } from "./tenant-clock.ts";
import type { FolderItem, TenantItem } from "./tenant-item.ts";

/** Where a path leads: the library, and what of the path is left below its root folder. */
export interface Located {
  readonly library: Library;
  readonly names: readonly string[];
}

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

  /** `path` is the library's server-relative URL, `/sites/demo/Contracts`. */
  addLibrary(path: string, options: { title?: string; at?: string } = {}): Library {
    const cut = path.lastIndexOf("/");
    const [sitePath, urlName] = [path.slice(0, cut), path.slice(cut + 1)];
    const site = this.site(sitePath);
    if (!site) throw new NotFoundError(`Add library '${path}': there is no site '${sitePath}'.`);
    checkItemName(urlName);
    const title = options.title ?? urlName;
    if (site.libraryByUrlName(urlName) || site.libraryByTitle(title)) {
      throw new BadInputError(`Add library '${path}': the site has a library of this name or title already.`);
    }
    return site.addLibrary({ title, urlName }, this.clock.resolveMs(options.at), this.takeGuid);
  }

  site(path: string): Site | undefined {
    return this.#sites.get(nameKey(path.replace(/\/+$/, "")));
  }

  /** undefined when the path leads into no library. */
  locate(path: string): Located | undefined {
    const names = path.split("/").slice(1);
    for (const depth of [2, 0]) {
      const site = this.site(depth === 0 ? "" : `/${names.slice(0, depth).join("/")}`);
      const library = site?.libraryByUrlName(names[depth] ?? "");
      if (library) return { library, names: names.slice(depth + 1) };
    }
    return undefined;
  }

  /** undefined when nothing lies at the path. The root folder of a library is an item, too. */
  itemAt(path: string): TenantItem | undefined {
    const located = this.locate(path);
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
