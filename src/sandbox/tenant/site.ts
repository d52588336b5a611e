import { nameKey } from "./item-name.ts";
import { Library } from "./library.ts";

/** A site collection with its one web. */
export class Site {
  readonly id: string;
  readonly webId: string;
  /** Server-relative, without a slash at the end; "" for the root site. */
  readonly path: string;
  readonly title: string;
  readonly createdAtMs: number;
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

  addLibrary(names: { title: string; urlName: string }, createdAtMs: number, takeGuid: () => string): Library {
    const library = new Library(this, names, createdAtMs, takeGuid);
    this.#libraries.set(nameKey(names.urlName), library);
    return library;
  }
}
