import type { DomainId, SourceId, VectorStoreId } from "./ids.ts";
import type { SourceKind } from "./source-kind.ts";

/** Addresses that were registered one by one live in this source of their domain. */
export const REGISTERED_SOURCE = "urls" as SourceId;

/** What all sources have. The kinds add fields of their own, which only their own folders below `sources/` know. */
export interface SourceConfig {
  /** What it can do, and all else that is known of its kind. Never written down: `sourceType` is. */
  readonly kind: SourceKind;
  /** The `type` of its kind. */
  readonly sourceType: string;
  readonly sourceId: SourceId;
  readonly limits: RemovalLimits;
}

/** How much may vanish in one run before a person has to confirm it. */
export interface RemovalLimits {
  readonly maxRemovals: number;
  readonly maxRemovalsPercent: number;
  readonly allowEmpty: boolean;
}

/** What may vanish in one run unconfirmed, where a source says nothing. */
export const DEFAULT_LIMITS: RemovalLimits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };

export interface Domain {
  readonly domainId: DomainId;
  readonly name: string;
  readonly description: string;
  readonly vectorStoreName: string;
  readonly vectorStoreId: VectorStoreId | "";
  /** When it is crawled unattended: a cron expression in UTC, "" for never. */
  readonly schedule: string;
  /** Why what `domain.json` has for a schedule is none. */
  readonly scheduleProblem?: string;
  readonly sources: readonly SourceConfig[];
}
