import type { Browser, BrowserContextOptions } from "playwright-core";
import type { World, WorldOptions } from "../engine/world.ts";
import { type ServedWorld, serveWorld } from "../http/served-world.ts";
import { openBrowser } from "./open-browser.ts";
import { type Visit, visit } from "./visit.ts";

/** A tenant, the server over it, and a browser in front of both. */
export class BrowserStage {
  readonly browser: Browser;
  readonly #served: ServedWorld;

  private constructor(served: ServedWorld, browser: Browser) {
    this.#served = served;
    this.browser = browser;
  }

  /** `prepare` runs before the server is there. */
  static async open(options: WorldOptions = {}, prepare?: (world: World) => Promise<void>): Promise<BrowserStage> {
    return new BrowserStage(await serveWorld(options, prepare), await openBrowser());
  }

  get world(): World {
    return this.#served.world;
  }

  get url(): string {
    return this.#served.url;
  }

  visit(path: string, options: BrowserContextOptions = {}): Promise<Visit> {
    return visit(this.browser, this.url, path, options);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.#served.close();
  }
}
