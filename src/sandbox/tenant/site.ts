import { nameKey } from "./item-name.ts";
import { Library, type LibraryRequest } from "./library.ts";
import { SiteUsers } from "./site-users.ts";
import { TermLabels } from "./term-labels.ts";

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
