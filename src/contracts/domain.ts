import type { DomainId, SourceId, VectorStoreId } from "./ids.ts";
import type { SourceKind } from "./source-kind.ts";

/** The source of a domain that holds its registered addresses. */
export const REGISTERED_SOURCE = "urls" as SourceId;

/** Fields of every source. Kinds add their own, which only their folders below `sources/` know. */
export interface SourceConfig {
  /** Its kind, with abilities and functions. Not serialised: `sourceType` is. */
  readonly kind: SourceKind;
  /** The `type` of its kind. */
  readonly sourceType: string;
  readonly sourceId: SourceId;
  readonly limits: RemovalLimits;
}

/** Names a source of a domain: sources of different types may have the same id. */
export type SourceRef = Pick<SourceConfig, "sourceType" | "sourceId">;

export function isSameSource(a: SourceRef, b: SourceRef): boolean {
  return a.sourceType === b.sourceType && a.sourceId === b.sourceId;
}

/** How much may be removed in one run without confirmation. */
export interface RemovalLimits {
  readonly maxRemovals: number;
  readonly maxRemovalsPercent: number;
  readonly allowEmpty: boolean;
}

/** The limits of a source that sets none. */
export const DEFAULT_LIMITS: RemovalLimits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };

export interface Domain {
  readonly domainId: DomainId;
  readonly name: string;
  readonly description: string;
  readonly vectorStoreName: string;
  readonly vectorStoreId: VectorStoreId | "";
  /** When it is crawled automatically: a cron expression in UTC, "" for never. */
  readonly schedule: string;
  /** Why the schedule in `domain.json` is invalid. */
  readonly scheduleProblem?: string;
  /** How old its last certificate may be: `36h`, `7d`. Absent: of any age. */
  readonly maxAge?: string;
  readonly sources: readonly SourceConfig[];
}
