import type { App } from "../app/app.ts";
import type { SourceKinds } from "../contracts/source-kind.ts";
import { releaseNumber } from "../lib/release.ts";

export interface ProductFacts {
  readonly version: string;
  readonly backend: string;
  readonly kinds: SourceKinds;
}

export function describeProduct(app: App): ProductFacts {
  return { version: releaseNumber(), backend: app.config.backend.kind, kinds: app.domains.kinds };
}
