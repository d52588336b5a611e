import { isSameSite } from "../../../detect/web/web-identity.ts";

const MAX_COOKIES = 50;
const MAX_CHARACTERS = 4096;

interface Cookie {
  readonly value: string;
  readonly domain: string;
}

/** What servers want to be told again, for one visit: some show a page only to whoever does. Nothing of it is kept. */
export class CookieJar {
  readonly #cookies = new Map<string, Cookie>();
  #names = new Set<string>();

  /** How many different ones came: another value of one that is known is nothing new. */
  get count(): number {
    return this.#names.size;
  }

  take(url: URL, fields: readonly string[]): void {
    for (const field of fields) {
      const [pair = "", ...attributes] = field.slice(0, MAX_CHARACTERS).split(";");
      const at = pair.indexOf("=");
      const name = pair.slice(0, Math.max(at, 0)).trim();
      const value = pair.slice(at + 1).trim();
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\x21-\x7e]/.test(value)) continue;
      const domain = domainOf(url, attributes);
      const key = `${name};${domain}`;
      if (attributes.some((each) => /^max-age\s*=\s*(?:-\d*|0*)$/i.test(each.trim()))) this.#cookies.delete(key);
      else if (this.#cookies.size < MAX_COOKIES || this.#cookies.has(key)) {
        this.#cookies.set(key, { value, domain });
        this.#names.add(key);
      }
    }
  }

  /** For the header of a request, "" for none. */
  of({ hostname }: URL): string {
    const own = [...this.#cookies].filter(([, { domain }]) => hostname === domain || hostname.endsWith(`.${domain}`));
    return own.map(([key, { value }]) => `${key.slice(0, key.indexOf(";"))}=${value}`).join("; ");
  }
}

/** The host, or what the cookie names where the host is below that. */
function domainOf(url: URL, attributes: readonly string[]): string {
  const named = attributes
    .map((each) => /^domain\s*=\s*\.?([\w.-]+)$/i.exec(each.trim())?.[1]?.toLowerCase())
    .find(Boolean);
  const isAbove =
    named?.includes(".") && url.hostname.endsWith(`.${named}`) && isSameSite(url.href, `https://${named}/`);
  return named && isAbove ? named : url.hostname;
}
