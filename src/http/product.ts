import { readFileSync } from "node:fs";
import type { App } from "../app/app.ts";

export interface ProductFacts {
  readonly version: string;
  readonly backend: string;
}

export function describeProduct(app: App): ProductFacts {
  const file = new URL("../../package.json", import.meta.url);
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return { version, backend: app.config.backend.kind };
}
