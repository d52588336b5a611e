import type { App } from "../app/app.ts";
import { compose } from "../app/compose.ts";
import { type Config, readConfig } from "../app/config.ts";
import { loadEnvironment } from "../app/load-environment.ts";

/** The product as the environment and `.env` configure it; `overrides` win over both. Warnings go to the terminal. */
export async function openApp(overrides: Readonly<Record<string, string>> = {}): Promise<App> {
  const config = readConfig({ ...loadEnvironment(process.cwd()), ...overrides });
  showWarnings(config);
  return await compose(config);
}

function showWarnings(config: Config): void {
  for (const warning of config.warnings) process.stderr.write(`Warning: ${warning}\n`);
}

/** Resolves at the first SIGINT or SIGTERM. A second one ends the process at once. */
export function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(130));
        resolve(signal);
      });
    }
  });
}
