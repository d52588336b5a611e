/** Longer ones are data, or traps. */
const MAX_ADDRESS_LENGTH = 2048;
/** For all addresses together, repeated ones included: with a long `<base>`, short links would make gigabytes. */
const MAX_CHARACTERS = 32_000_000;

interface PageAddress {
  readonly full: string;
  /** Without fragment. */
  readonly page: string;
}

/** What the addresses on a page lead to. Pages repeat them, so each is worked out once. */
export class PageAddresses {
  readonly #base: string;
  readonly #known = new Map<string, PageAddress | undefined>();
  #charactersLeft = MAX_CHARACTERS;

  /** `href` is that of `<base>`, "" for none. */
  constructor(pageUrl: string, href = "") {
    this.#base = pageUrl;
    this.#base = this.resolve(href)?.full ?? pageUrl;
    this.#known.clear();
  }

  /** undefined for what is no address on the web, and when there were too many. */
  resolve(written: string): PageAddress | undefined {
    if (written === "" || written.length > MAX_ADDRESS_LENGTH || this.#charactersLeft <= 0) return undefined;
    if (!this.#known.has(written)) this.#known.set(written, this.#parse(written));
    const address = this.#known.get(written);
    this.#charactersLeft -= address?.full.length ?? 0;
    return address;
  }

  #parse(written: string): PageAddress | undefined {
    const url = URL.parse(written, this.#base);
    if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
    const full = url.href;
    const hash = full.indexOf("#");
    return { full, page: hash === -1 ? full : full.slice(0, hash) };
  }
}
