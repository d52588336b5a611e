import { BUILT_IN_KINDS } from "../src/app/source-kinds.ts";
import type { Domain, SourceConfig } from "../src/contracts/domain.ts";
import type { DomainId } from "../src/contracts/ids.ts";
import * as codec from "../src/domains/domain-codec.ts";
import * as input from "../src/domains/domain-input.ts";
import type { JsonObject } from "../src/lib/json-object.ts";

type Kindly = Pick<SourceConfig, "kind" | "sourceType">;

/** What a configuration that is written down here says of its kind. These kinds open nothing: an app has its own. */
export function ofKind(type: string): Kindly;
export function ofKind<F extends object>(type: string, fields: F): F & Kindly;
export function ofKind(type: string, fields: object = {}): Kindly {
  return { ...fields, kind: BUILT_IN_KINDS.get(type), sourceType: type };
}

export function parseDomain(json: unknown, id: DomainId): Domain {
  return codec.parseDomain(json, id, BUILT_IN_KINDS);
}

export function mergeDomain(domain: Domain, earlier: JsonObject | undefined): JsonObject {
  return codec.mergeDomain(domain, earlier, BUILT_IN_KINDS);
}

export function parseDomainInput(body: unknown, existing?: Domain): Domain {
  return input.parseDomainInput(body, BUILT_IN_KINDS, existing);
}
