import type { Environment } from "./setting-reader.ts";

/** Environment variables that sources name: `.env` counts, too. They are secrets, so there is nothing here to be printed. */
export class Variables {
  readonly #settings: Environment;

  constructor(settings: Environment) {
    this.#settings = settings;
  }

  /** undefined when it is not set. */
  read(name: string): string | undefined {
    return this.#settings[name] ?? process.env[name];
  }
}
