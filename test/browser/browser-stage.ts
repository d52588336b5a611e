import type { Browser, BrowserContextOptions } from "playwright-core";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { World, type WorldOptions } from "../engine/world.ts";
import { openBrowser } from "./open-browser.ts";
import { type Visit, visit } from "./visit.ts";

/** A tenant, the server over it, and a browser in front of both. */
export class BrowserStage {
  readonly world: World;
  readonly browser: Browser;
  readonly #server: RunningServer;

  private constructor(world: World, server: RunningServer, browser: Browser) {
    this.world = world;
    this.#server = server;
    this.browser = browser;
  }

  /** `prepare` runs before the server is there. */
  static async open(options: WorldOptions = {}, prepare?: (world: World) => Promise<void>): Promise<BrowserStage> {
    const world = await World.open(options);
    await prepare?.(world);
    return new BrowserStage(world, await serveHttp(world.app, { host: "127.0.0.1", port: 0 }), await openBrowser());
  }

  get url(): string {
    return this.#server.url;
  }

  visit(path: string, options: BrowserContextOptions = {}): Promise<Visit> {
    return visit(this.browser, this.url, path, options);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.#server.close();
    await this.world.close();
  }
}
