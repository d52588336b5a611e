import { readFileSync } from "node:fs";

/** The number of this release, as in `package.json`. */
export function releaseNumber(): string {
  const manifest: { version?: string } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  );
  return manifest.version ?? "0";
}
