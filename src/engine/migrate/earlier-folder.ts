import type { SourceConfig } from "../../contracts/domain.ts";

/** A source of the one kind that earlier releases followed by manifests of their own. */
export interface EarlierFolder extends SourceConfig {
  readonly root: string;
}

/** Named here, since what is looked for is storage of that kind alone, whatever others can do today. */
export function isEarlierFolder(source: SourceConfig): source is EarlierFolder {
  return source.sourceType === "folder_sources";
}
