import type { App } from "../app/app.ts";
import { releaseNumber } from "../lib/release.ts";

export interface ProductFacts {
  readonly version: string;
  readonly backend: string;
}

export function describeProduct(app: App): ProductFacts {
  return { version: releaseNumber(), backend: app.config.backend.kind };
}
