import type { Converter } from "./converter.ts";
import type { SourceConfig } from "./domain.ts";
import type { BlockedItems } from "./erasure.ts";
import { BadInputError } from "./errors.ts";
import type { DomainId } from "./ids.ts";
import type { Ledger } from "./ledger.ts";
import type { Source } from "./source.ts";

/** Abilities of a kind. Callers check these, never the name of a kind. */
export interface SourceAbilities {
  /**
   * Items have ids that stay the same when they are renamed, moved or edited. Without ids, a manifest tracks the files,
   * and missing ones are retained for a while in case they return.
   */
  readonly hasIds: boolean;
  /**
   * The process step stores texts and their earlier versions in a knowledge base. Needs the manifest, so not with
   * `hasIds`.
   */
  readonly keepsTexts: boolean;
  /** Listing fetches the items. Additions and removals become visible in one commit. */
  readonly isReadWhileListed: boolean;
  /** Its items are in the registry of addresses. */
  readonly registersAddresses: boolean;
  /**
   * The three map files are written at the end of every step, and edits are imported; other kinds export them on
   * demand.
   */
  readonly keepsMaps: boolean;
  /** Uses the sign-in to the configured tenant. */
  readonly needsSignIn: boolean;
  /** Two sources of a domain must not be at the same location: everything would be found twice. */
  readonly isTakenOnce: boolean;
}

/** Names of the kind for users. */
export interface KindWords {
  /** Singular, as a title: "Document library". */
  readonly name: string;
  /** In a count: "2 libraries". */
  readonly noun: string;
  readonly nouns: string;
  /** What it is or where it lies, in a few words, for the choice of a kind. */
  readonly place: string;
  /** Name of the scope that crawls only this kind: "Files". */
  readonly scope: string;
  /** Description of its array in a domain, for the endpoints. */
  readonly array: string;
}

/** A field of a source in the editor. */
export interface SourceField {
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  readonly hint?: string;
  /** lines: several values, one per line. words: several values without blanks, pasted in any format. */
  readonly type?: "url" | "lines" | "words" | "number" | "flag";
  readonly optional?: true;
  /** A value that does not match is not submitted; the hint explains. */
  readonly pattern?: string;
  readonly usual?: number;
  /** Description as a parameter of check_source. */
  readonly described: string;
}

/** The rules of a source, for display. */
export interface SourceRules {
  /** Globs, or a filter in the source's syntax; none: everything. */
  readonly patterns: readonly string[];
  /** Other settings that differ from the default, in words. */
  readonly others: readonly string[];
}

/** How a source is watched. */
export interface SourceWatch {
  /** Interval of full scans, if the default is too short. */
  readonly scanMs?: number;
  /** The local folder to watch for changes, and which of its folders matter. */
  readonly folder?: { readonly root: string; enters(folder: string): boolean };
}

/** The fields that only sources of this kind have. */
export type OwnFields<C extends SourceConfig> = Omit<C, keyof SourceConfig>;

/** Everything that is known of a kind outside its own folder. To add a kind, add it to the list in `compose`. */
export interface SourceKind<C extends SourceConfig = SourceConfig> {
  /** Its key in `domain.json`: `folder_sources`. */
  readonly type: string;
  /** Its folder below `crawler/<DOMAIN_ID>/`: two digits and a name, like `05_folders`. */
  readonly folder: string;
  /** Its value of `scope=`. */
  readonly scope: string;
  readonly abilities: SourceAbilities;
  readonly words: KindWords;
  /** Its own fields, in editor order; the first is the location. */
  readonly fields: readonly SourceField[];
  /** Its array is always in `domain.json`, even if empty, as the specification says. */
  readonly isInEveryDomain?: true;
  /** Prefix of its item ids: identifies the kind when the source is no longer configured. */
  readonly idPrefix?: string;
  /**
   * Role for checking a source that is in no domain yet; admin if that reveals files of this machine, or sends a secret
   * somewhere.
   */
  readonly mayCheck: "operate" | "admin";
  /** Origin of a result, as the search functions name it. */
  readonly foundAs: "url" | "sharepoint" | "file" | "blob";

  /** Parses its own fields. Adds errors to `problems`, each naming the field after `where`. */
  parse(value: Readonly<Record<string, unknown>>, where: string, problems: string[]): OwnFields<C>;
  /** Parses a source that the user is still typing: missing fields are allowed, and the check suggests values. */
  parseUnfinished?(value: Readonly<Record<string, unknown>>, where: string, problems: string[]): OwnFields<C>;
  /** Its own fields as JSON, without default values, unless they were there `earlier`. */
  format(source: C, earlier: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** Own fields of a source that was removed from its domain: the real ones are no longer known. */
  readonly unknown: OwnFields<C>;
  /** Refuses values that must not be newly set; a source that has them already (`before`) keeps them. */
  refuseNew?(source: C, before: C | undefined, where: string, problems: string[]): void;
  /** Throws BadInputError for a location that cannot be crawled. */
  checkPlace?(source: C): Promise<void>;

  /** The location, for logs and pages. */
  describePlace(source: C): string;
  /** Links for users. */
  links?(source: C): readonly { readonly url: string; readonly words: string }[];
  describeRules(source: C): SourceRules;
  /** The host of all items; "" if their paths name it. */
  hostOf?(source: C): string;
  /**
   * Maps a path or name to a path below the source, and says whether its rules include it; undefined: not in this
   * source.
   */
  locate?(source: C, called: string): { readonly path: string; readonly isTaken: boolean } | undefined;
  /** Only published versions are indexed, so an item that was never published is not. */
  leavesOutDrafts?(source: C): boolean;
  /** It holds registered addresses, not a crawled site. */
  holdsRegistered?(source: C): boolean;
  /** What to do about a failure with this reason, in sentences; undefined: nothing that is particular to this kind. */
  remedyFor?(reason: string): string | undefined;
  /** Present for a kind that can hold what people upload to a domain. */
  readonly uploads?: UploadHolder<C>;
  /** Present for kinds that can be watched. */
  watch?(source: C): SourceWatch;

  open(run: SourceRun<C>, options: SourceOptions): Source;
  /** Present for kinds whose originals must be converted. */
  openConverter?(): Converter;
}

/** The files that people uploaded have no other source: what is deleted here is gone. */
export interface UploadHolder<C extends SourceConfig = SourceConfig> {
  /** Its own fields of a source that holds uploads, as in `domain.json`. */
  readonly fields: Readonly<Record<string, unknown>>;
  holds(source: C): boolean;
  folderOf(domainId: DomainId): string;
  maxFileBytes(source: C): number;
  /** Returns the file with this path, if the source holds uploads and it is there. */
  find(run: SourceRun<C>, path: string): Promise<string | undefined>;
}

/** One source of one domain. */
export interface SourceRun<C extends SourceConfig = SourceConfig> {
  readonly domainId: DomainId;
  readonly config: C;
  /** A source of another kind has, or had, the same id: the index may hold documents of both under it. */
  readonly sharesId?: boolean;
  /** It was taken out of the domain: everything of it leaves. */
  readonly isRetired?: boolean;
}

export interface SourceOptions {
  /** Gets messages about waits (throttling) and progress. */
  readonly log: (line: string) => void;
  /** The ledger of the running step, for sources that store data about their items. */
  readonly ledger: () => Promise<Ledger>;
  /** The source must not write anything. */
  readonly dryRun: boolean;
  /** Fetch everything, even what the source knows to be unchanged. */
  readonly force: boolean;
  /** Hash every file, whatever its stamp says. */
  readonly checksum: boolean;
  /** Only these folders can have changed since the last crawl. */
  readonly onlyFolders?: ReadonlySet<string>;
  /**
   * Erased items. Sources whose listing reads items must not read these; others may list them, since the caller leaves them out.
   */
  readonly blocked?: () => Promise<BlockedItems>;
}

/** All kinds of sources, in crawl order. */
export class SourceKinds {
  readonly all: readonly SourceKind[];

  /** Throws if two kinds have the same type, folder or scope, or one has contradicting abilities. */
  constructor(all: readonly SourceKind[]) {
    this.all = all;
    for (const key of ["type", "folder", "scope"] as const) {
      const values = all.map((kind) => kind[key]);
      const twice = values.find((value, at) => values.indexOf(value) !== at);
      if (twice !== undefined) throw new BadInputError(`Two kinds of sources have the ${key} '${twice}'.`);
    }
    const both = all.find(({ abilities }) => abilities.hasIds && abilities.keepsTexts);
    if (both)
      throw new BadInputError(`${both.type} cannot keep texts: the manifest does, and items with ids have none.`);
  }

  get types(): readonly string[] {
    return this.all.map(({ type }) => type);
  }

  /** undefined: a kind of an older or newer version. */
  find(type: string): SourceKind | undefined {
    return this.all.find((kind) => kind.type === type);
  }

  get(type: string): SourceKind {
    const found = this.find(type);
    if (found) return found;
    throw new BadInputError(`There is no kind of source '${type}'. There are: ${this.types.join(", ")}.`);
  }

  /** Finds the kind of an item by the prefix of its id. */
  ofItem(itemId: string): SourceKind {
    const made = this.all.find(({ idPrefix }) => idPrefix !== undefined && itemId.startsWith(idPrefix));
    const foreign = made ?? this.all.find(({ idPrefix }) => idPrefix === undefined);
    if (foreign) return foreign;
    throw new Error(`find the kind of '${itemId}': no kind takes ids of others`);
  }
}
