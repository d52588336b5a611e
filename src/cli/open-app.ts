import { stat } from "node:fs/promises";
import type { App } from "../app/app.ts";
import { type Config, readConfig } from "../app/config.ts";
import { loadEnvironment } from "../app/setting-reader.ts";
import { closeStorage } from "../app/storage-rights.ts";

/**
 * Opens the product as the environment and `.env` configure it; `overrides` take precedence. Prints warnings. With `read`, stores nothing.
 */
export async function openApp(
  overrides: Readonly<Record<string, string>> = {},
  purpose: "work" | "read" = "work",
): Promise<App> {
  const config = readConfig({ ...loadEnvironment(process.cwd()), ...overrides });
  showWarnings(config);
  if (purpose === "work") {
    await closeStorage(config);
    await warnOfOwner(config);
  }
  // Loaded here, so that wrong usage and --help need not wait for it.
  const { compose } = await import("../app/compose.ts");
  return await compose(config, { readOnly: purpose === "read" });
}

/** Files that root creates in the storage of another account can neither be read nor replaced by a server of that account. */
async function warnOfOwner({ storagePath }: Config): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid } = await stat(storagePath);
  if (uid === 0) return;
  process.stderr.write(
    `Warning: The storage belongs to another account (uid ${uid}), and root makes files there that it may not read. If a server of that account uses it, run this as that account.\n`,
  );
}

function showWarnings(config: Config): void {
  for (const warning of config.warnings) process.stderr.write(`Warning: ${warning}\n`);
}

export type StopSignal = "SIGINT" | "SIGTERM";

/** One Ctrl+C can arrive twice: from the terminal, and again from npm or a shell that passes it on. */
const SAME_PRESS_MS = 500;

/** Resolves at the first SIGINT or SIGTERM. A later second one ends the process at once. */
export function untilStopped(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined;
    const stopOnce = (signal: StopSignal): void => {
      firstAtMs ??= performance.now();
      resolve(signal);
      if (performance.now() - firstAtMs < SAME_PRESS_MS) return;
      process.stderr.write("\n");
      process.exit(exitCodeOf(signal));
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopOnce(signal));
  });
}

/** As in shells: 128 plus the signal number. */
export function exitCodeOf(signal: StopSignal): number {
  return signal === "SIGINT" ? 130 : 143;
}
