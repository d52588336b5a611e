import type { Converter } from "./converter.ts";
import type { SourceConfig } from "./domain.ts";
import { BadInputError } from "./errors.ts";
import type { DomainId } from "./ids.ts";
import type { Ledger } from "./ledger.ts";
import type { Source } from "./source.ts";

/** What sources of a kind can do. Whoever works with sources asks for these, never for the name of a kind. */
export interface SourceAbilities {
  /**
   * Its items have ids that stay when they are renamed, moved or edited. Without, a manifest tells which file is which, and what
   * is missing is kept for a while in case it comes back.
   */
  readonly hasIds: boolean;
  /** The process step keeps the texts of its files, and their earlier versions, in a knowledge base. Needs the manifest, so not with `hasIds`. */
  readonly keepsTexts: boolean;
  /** To list it is to read it. What is gone leaves the index in the moment in which the rest arrives. */
  readonly isReadWhileListed: boolean;
  /** What is known of its items by themselves, without any source, is in the registry of addresses. */
  readonly registersAddresses: boolean;
  /** The three map files are written into its folder at the end of every step, and read back; of other kinds they are had on demand. */
  readonly keepsMaps: boolean;
  /** It is read with the sign-in to the tenant that the settings name. */
  readonly needsSignIn: boolean;
  /** Two sources of a domain may not be the same place: everything would be found twice. */
  readonly isTakenOnce: boolean;
}

/** What people call it. */
export interface KindWords {
  /** One of them, as a title: "Document library". */
  readonly name: string;
  /** In a count: "2 libraries". */
  readonly noun: string;
  readonly nouns: string;
  /** All of them, where a crawl is narrowed to the kind: "Files". */
  readonly scope: string;
  /** What its array in a domain holds, for the description of the endpoints. */
  readonly array: string;
}

/** One field of a source as the editor shows it. */
export interface SourceField {
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  readonly hint?: string;
  /** lines: several, one below the other. words: several without blanks in them, pasted in any shape. */
  readonly type?: "url" | "lines" | "words" | "number" | "flag";
  readonly optional?: true;
  /** What does not match is not even asked about; the hint says what is right. */
  readonly pattern?: string;
  readonly usual?: number;
  /** As a parameter of check_source. */
  readonly described: string;
}

/** What is taken of a source, for people. */
export interface SourceRules {
  /** Globs, or a filter in the language of the source; none: everything. */
  readonly patterns: readonly string[];
  /** Whatever else is unusual, in words. */
  readonly others: readonly string[];
}

/** How a source is looked after while it is watched. */
export interface SourceWatch {
  /** How often it is looked at whole, where the usual is too often. */
  readonly scanMs?: number;
  /** The folder of this machine that tells when something below it changes, and which folders of it matter. */
  readonly folder?: { readonly root: string; enters(folder: string): boolean };
}

/** The fields that only sources of this kind have. */
export type OwnFields<C extends SourceConfig> = Omit<C, keyof SourceConfig>;

/** All there is to know about a kind of source outside its own folder. A further kind is a further one in the list that `compose` takes. */
export interface SourceKind<C extends SourceConfig = SourceConfig> {
  /** The key of `domain.json` that holds its sources: `folder_sources`. */
  readonly type: string;
  /** Its folder below `crawler/<DOMAIN_ID>/`: two digits and a name, like `05_folders`. */
  readonly folder: string;
  /** The word for it in `scope=`. */
  readonly scope: string;
  readonly abilities: SourceAbilities;
  readonly words: KindWords;
  /** Its own fields, in the order of the editor; the first says where it is. */
  readonly fields: readonly SourceField[];
  /** Its array is in every `domain.json`, empty or not, as the specification has it. */
  readonly isInEveryDomain?: true;
  /** Ids that begin so are of this kind: all that tells, once nobody knows the source any more. */
  readonly idPrefix?: string;
  /** Who may have a source looked at that is in no domain yet; admin where that tells what this machine holds, or shows a secret of it to somebody. */
  readonly mayCheck: "operate" | "admin";
  /** Where a result comes from, in the words of the search functions. */
  readonly foundAs: "url" | "sharepoint" | "file" | "blob";

  /** Reads its own fields. Everything wrong with them goes to `problems`, each naming the field as `where`. */
  parse(value: Readonly<Record<string, unknown>>, where: string, problems: string[]): OwnFields<C>;
  /** The same of a source that somebody still types, where something may be missing that the answer then suggests. */
  parseUnfinished?(value: Readonly<Record<string, unknown>>, where: string, problems: string[]): OwnFields<C>;
  /** Its own fields as JSON. Those that say nothing unusual are left out, unless they were there `earlier`. */
  format(source: C, earlier: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** The own fields of a source that was taken out of its domain: nobody knows them any more. */
  readonly unknown: OwnFields<C>;
  /** What nobody may write into a source, though one that has it already (`before`) stays. */
  refuseNew?(source: C, before: C | undefined, where: string, problems: string[]): void;
  /** Refuses places that no crawl would take: BadInputError. */
  checkPlace?(source: C): Promise<void>;

  /** Where a source is, for logs and pages. */
  describePlace(source: C): string;
  /** Where people can look at it. */
  links?(source: C): readonly { readonly url: string; readonly words: string }[];
  describeRules(source: C): SourceRules;
  /** The host that everything of a source comes from; "" where its paths name it. */
  hostOf?(source: C): string;
  /** Of files at paths: where below the source something called so would be, and whether its rules take it; undefined: elsewhere. */
  locate?(source: C, called: string): { readonly path: string; readonly isTaken: boolean } | undefined;
  /** Of its items only what was published is taken, so one that never was is not. */
  leavesOutDrafts?(source: C): boolean;
  /** It holds the addresses that are registered one by one, not what is found from somewhere. */
  holdsRegistered?(source: C): boolean;
  /** Only kinds that have it can be watched. */
  watch?(source: C): SourceWatch;

  open(run: SourceRun<C>, options: SourceOptions): Source;
  /** For kinds whose originals are no documents yet. */
  openConverter?(): Converter;
}

/** One source of one domain, as the steps get it. */
export interface SourceRun<C extends SourceConfig = SourceConfig> {
  readonly domainId: DomainId;
  readonly config: C;
  /** A source of another kind has the same id, or had it and is not gone yet: what the index holds under it is not all of this one. */
  readonly sharesId?: boolean;
}

export interface SourceOptions {
  /** Hears of waits (throttling) and progress that a person watching would wonder about. */
  readonly log: (line: string) => void;
  /** The ledger of the step that asks it, for sources that remember their items themselves. */
  readonly ledger: () => Promise<Ledger>;
  /** The source must not write anything down. */
  readonly dryRun: boolean;
  /** Sources that can leave out what they know to be unchanged ask for it all the same. */
  readonly force: boolean;
  /** Every file is read, whatever the source says of it. */
  readonly checksum: boolean;
  /** Nothing outside these folders can have changed since the last look. */
  readonly onlyFolders?: ReadonlySet<string>;
}

/** The kinds of sources that there are, in the order they are crawled. */
export class SourceKinds {
  readonly all: readonly SourceKind[];

  /** Throws when two of them would have the same sources, folder or scope, or one has abilities that exclude each other. */
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

  /** undefined for kinds of an older or newer version. */
  find(type: string): SourceKind | undefined {
    return this.all.find((kind) => kind.type === type);
  }

  get(type: string): SourceKind {
    const found = this.find(type);
    if (found) return found;
    throw new BadInputError(`There is no kind of source '${type}'. There are: ${this.types.join(", ")}.`);
  }

  /** By an id of an item, as far as that tells. */
  ofItem(itemId: string): SourceKind {
    const made = this.all.find(({ idPrefix }) => idPrefix !== undefined && itemId.startsWith(idPrefix));
    const foreign = made ?? this.all.find(({ idPrefix }) => idPrefix === undefined);
    if (foreign) return foreign;
    throw new Error(`find the kind of '${itemId}': no kind takes ids of others`);
  }
}
