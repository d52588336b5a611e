import type { DomainId, SourceId, VectorStoreId } from "./ids.ts";

/** The keys of `domain.json` that hold sources. Further kinds join here. */
export type SourceType = "file_sources";

/** A SharePoint document library, or one folder of it. */
export interface FileSourceConfig {
  readonly sourceId: SourceId;
  readonly sourceType: "file_sources";
  readonly siteUrl: string;
  /** Path below the site, with a leading slash: `/Shared Documents`, `/Shared Documents/Reports`. */
  readonly urlPart: string;
  /** OData, "" for none. */
  readonly filter: string;
  readonly limits: RemovalLimits;
}

export type SourceConfig = FileSourceConfig;

/** How much may vanish in one run before a person has to confirm it. */
export interface RemovalLimits {
  readonly maxRemovals: number;
  readonly maxRemovalsPercent: number;
  readonly allowEmpty: boolean;
}

export interface Domain {
  readonly domainId: DomainId;
  readonly name: string;
  readonly description: string;
  readonly vectorStoreName: string;
  readonly vectorStoreId: VectorStoreId | "";
  readonly sources: readonly SourceConfig[];
}
