import type { DomainId, SourceId, VectorStoreId } from "./ids.ts";

/** What there is to know about a kind of source outside its own room. A further kind is a further row. */
interface SourceKind {
  /** The folder below `crawler/<DOMAIN_ID>/`. */
  readonly folder: string;
  /** The word for it in `scope=`. */
  readonly scope: string;
  /** The three map files are written into its folder at the end of every step, and read back; of other kinds they are had on demand. */
  readonly keepsMaps: boolean;
}

/** By the key of `domain.json` that holds the sources, in the order they are crawled. */
export const SOURCE_KINDS = {
  file_sources: { folder: "01_files", scope: "files", keepsMaps: true },
  list_sources: { folder: "02_lists", scope: "lists", keepsMaps: true },
  sitepage_sources: { folder: "03_sitepages", scope: "sitepages", keepsMaps: true },
  web_sources: { folder: "04_web", scope: "web", keepsMaps: false },
  folder_sources: { folder: "05_folders", scope: "folders", keepsMaps: false },
  blob_sources: { folder: "06_blobs", scope: "blobs", keepsMaps: false },
} as const satisfies Readonly<Record<string, SourceKind>>;

export type SourceType = keyof typeof SOURCE_KINDS;
export const SOURCE_TYPES = Object.keys(SOURCE_KINDS) as readonly SourceType[];

/** A SharePoint document library, or one folder of it. */
export interface FileSourceConfig extends SharePointPlace {
  readonly sourceType: "file_sources";
  /** Path below the site, with a leading slash: `/Shared Documents`, `/Shared Documents/Reports`. */
  readonly urlPart: string;
  /** The latest version of every file is taken, published or not; otherwise the latest published one. */
  readonly drafts?: boolean;
}

/** A SharePoint list, found by its title. */
export interface ListSourceConfig extends SharePointPlace {
  readonly sourceType: "list_sources";
  readonly listName: string;
}

/** The pages of a SharePoint site: its library `/SitePages`, or one folder of it. */
export interface SitePageSourceConfig extends SharePointPlace {
  readonly sourceType: "sitepage_sources";
  readonly urlPart: string;
}

/** Addresses that were registered one by one live in this source of their domain. */
export const REGISTERED_SOURCE = "urls" as SourceId;

/** A web site. Without start addresses, which only REGISTERED_SOURCE may be: the addresses that were registered one by one. */
export interface WebSourceConfig {
  readonly sourceType: "web_sources";
  readonly sourceId: SourceId;
  /** Pages, sitemaps, feeds, `llms.txt`. */
  readonly startUrls: readonly string[];
  /** Globs over the whole address or its path; none: everything of the site. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Links from a start address; 0 for those alone. */
  readonly maxDepth: number;
  /** Documents. A crawl holds their ids in memory, and those of some addresses more for each. */
  readonly maxPages: number;
  /** Pictures of its pages are kept, too. */
  readonly images: boolean;
  readonly limits: RemovalLimits;
}

/** What is taken of a tree of files. */
interface TreeRules {
  readonly sourceId: SourceId;
  /** Globs over the path below the root; none: everything. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Files and folders whose name begins with a dot are taken, too. */
  readonly hidden: boolean;
  /** Larger files are left out, and said to be. */
  readonly maxFileBytes: number;
  readonly limits: RemovalLimits;
}

/** A folder on a disk of this machine, or a share that is mounted on it. */
export interface FolderSourceConfig extends TreeRules {
  readonly sourceType: "folder_sources";
  /** Absolute. */
  readonly root: string;
  /** What `.gitignore` files in it leave out is left out. */
  readonly gitignore: boolean;
  /** On shares whose inodes change at every mount: files are told apart without them, and a part of them is read in every run. */
  readonly ignoreInodes?: boolean;
}

/** A container of Azure Blob Storage, or what of it begins with a prefix. */
export interface BlobSourceConfig extends TreeRules {
  readonly sourceType: "blob_sources";
  /** `https://{account}.blob.core.windows.net/{container}`, without a signature. */
  readonly containerUrl: string;
  readonly prefix: string;
  /** The name of the environment variable that holds a SAS or a connection string; "": managed identity, then anonymous. */
  readonly credential: string;
}

/** Sources whose files have no ids of their own: they are followed by a manifest, and kept in a knowledge base. */
export type TreeSourceConfig = FolderSourceConfig | BlobSourceConfig;

export function isTree(config: Pick<SourceConfig, "sourceType">): config is TreeSourceConfig {
  return config.sourceType === "folder_sources" || config.sourceType === "blob_sources";
}

export function isOfSharePoint(config: SourceConfig): config is SharePointSourceConfig {
  return config.sourceType !== "web_sources" && !isTree(config);
}

export type SharePointSourceConfig = FileSourceConfig | ListSourceConfig | SitePageSourceConfig;

interface SharePointPlace {
  readonly sourceId: SourceId;
  readonly siteUrl: string;
  /** OData, "" for none. */
  readonly filter: string;
  readonly limits: RemovalLimits;
}

export type SourceConfig = SharePointSourceConfig | WebSourceConfig | TreeSourceConfig;

/** Does it take only some of what is there? */
export function hasFilter(config: SourceConfig): boolean {
  return isOfSharePoint(config) ? config.filter !== "" : config.include.length + config.exclude.length > 0;
}

/** Where a source is, for logs and pages. */
export function describePlace(config: SourceConfig): string {
  switch (config.sourceType) {
    case "web_sources":
      return config.startUrls.join(", ") || "addresses registered one by one";
    case "folder_sources":
      return config.root;
    case "blob_sources":
      return config.prefix ? `${config.containerUrl}/${config.prefix}` : config.containerUrl;
    case "list_sources":
      return `list '${config.listName}' of ${config.siteUrl}`;
    default:
      return `${config.siteUrl}${config.urlPart}`;
  }
}

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
  /** When it is crawled unattended: a cron expression in UTC, "" for never. */
  readonly schedule: string;
  /** Why what `domain.json` has for a schedule is none. */
  readonly scheduleProblem?: string;
  readonly sources: readonly SourceConfig[];
}
