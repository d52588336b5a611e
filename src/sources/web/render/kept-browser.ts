import { type LaunchedBrowser, launchBrowser } from "./launch-browser.ts";

/** A browser takes a good deal of memory, and most pages need none. */
const IDLE_MS = 60_000;

/** One browser for all pages: started by the first, started anew when it died, closed when nobody has needed it for a while. */
export class KeptBrowser {
  readonly #path: string;
  #launched: Promise<LaunchedBrowser> | undefined;
  #users = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async use<T>(work: (launched: LaunchedBrowser) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    this.#users += 1;
    try {
      return await work(await this.#open());
    } finally {
      this.#users -= 1;
      if (this.#users === 0) this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const launched = this.#launched;
    this.#launched = undefined;
    const open = await launched?.catch(() => undefined);
    await open?.browser.close().catch(() => undefined);
  }

  #open(): Promise<LaunchedBrowser> {
    if (this.#launched) return this.#launched;
    const launched = launchBrowser(this.#path);
    const forget = (): void => {
      if (this.#launched === launched) this.#launched = undefined;
    };
    this.#launched = launched;
    launched.then(({ browser }) => browser.once("disconnected", forget), forget);
    return launched;
  }
}
