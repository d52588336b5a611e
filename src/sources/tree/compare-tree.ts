import type { FileTree, TreeFile, TreeHole, TreePage } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../contracts/manifest.ts";
import type { Completeness, Unreadable } from "../../contracts/source.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { folderOf, nameOf } from "../../lib/tree-path.ts";
import { Turn } from "../../lib/turn.ts";
import { findUnmounted } from "./find-unmounted.ts";
import { Hidden } from "./hidden.ts";
import { LeftOut } from "./left-out.ts";

/** The tree beside the manifest, before anything was read. */
export interface Comparison {
  readonly completeness: Completeness;
  /** New paths, and paths whose stamp is another. */
  readonly toRead: readonly TreeFile[];
  /** Could not be read before, and are as they were when they last could. */
  readonly readable: readonly ManifestEntry[];
  /** What they were, in a file system that got another number since: they lie on it as they do now. */
  readonly renumbered: readonly ManifestEntry[];
  /** Their path is not there any more, and nothing unreadable hides it. */
  readonly vanished: readonly ManifestEntry[];
  readonly unreadable: readonly Unreadable[];
  readonly leftOut: LeftOut;
  /** As RememberedLook.folders. */
  readonly folders: ReadonlyMap<string, string>;
  /** All of `toRead` are at new paths. */
  readonly onlyNew: boolean;
  /** Known files that something unreadable hides. */
  readonly hidden: number;
  /** Something that is known was there. */
  readonly sawKnown: boolean;
}

export interface CompareTools {
  readonly tree: FileTree;
  readonly manifest: () => Promise<Manifest>;
  readonly acceptedTypes: ReadonlySet<string>;
  readonly checksum: boolean;
  readonly signal: AbortSignal;
}

/** Everything is compared, file by file. */
export async function compareAll(tools: CompareTools): Promise<Comparison> {
  const comparing = new Comparing(tools, new Map());
  const completeness = await comparing.walk();
  if (completeness === "complete") await comparing.missEverywhere();
  return comparing.result(completeness);
}

/** Folders that are what they were are passed over, and the manifest is opened only when one is not. */
export async function compareFolders(tools: CompareTools, before: ReadonlyMap<string, string>): Promise<Comparison> {
  const comparing = new Comparing(tools, before);
  const completeness = await comparing.walk();
  for (const folder of before.keys()) if (!comparing.folders.has(folder)) await comparing.missFolder(folder);
  return comparing.result(completeness);
}

/** Only these folders, and those that are new in them, can have changed. undefined: they are not what they should be, so everything has to be walked. */
export async function compareOnly(
  tools: CompareTools,
  before: ReadonlyMap<string, string>,
  only: ReadonlySet<string>,
): Promise<Comparison | undefined> {
  const comparing = new Comparing(tools, before);
  let next: ReadonlySet<string> = only;
  while (next.size > 0) {
    await comparing.walk(next);
    next = comparing.newFolders();
  }
  for (const folder of comparing.goneFolders()) await comparing.missFolder(folder);
  for (const folder of only) if (before.has(folder) && !comparing.folders.has(folder)) return undefined;
  comparing.keepOthers();
  return comparing.result("complete");
}

class Comparing {
  readonly #tools: CompareTools;
  readonly #before: ReadonlyMap<string, string>;
  readonly #toRead: TreeFile[] = [];
  readonly #readable: ManifestEntry[] = [];
  readonly #renumbered: ManifestEntry[] = [];
  readonly #seen = new Set<ItemId>();
  readonly #absent: ManifestEntry[] = [];
  readonly #unreadable: Unreadable[] = [];
  readonly #leftOut = new LeftOut();
  readonly #named = new Set<string>();
  readonly #gone = new Set<string>();
  readonly #devices = new Map<string, string>();
  /** Folders with something in them that is known. */
  readonly #familiar = new Set<string>();
  readonly #turn = new Turn();
  #onlyNew = true;
  #sawFamiliar = false;
  readonly folders = new Map<string, string>();

  constructor(tools: CompareTools, before: ReadonlyMap<string, string>) {
    this.#tools = tools;
    this.#before = before;
  }

  async walk(below?: ReadonlySet<string>): Promise<Completeness> {
    const { tree, signal } = this.#tools;
    const pages = tree.walk(signal, below);
    let step = await pages.next();
    for (; !step.done; step = await pages.next()) await this.#take(step.value);
    return step.value;
  }

  async #take(page: TreePage): Promise<void> {
    const { folder, whole } = page;
    this.#leftOut.add(page.skipped);
    if (whole) {
      this.folders.set(folder, whole.digest);
      this.#devices.set(folder, whole.device);
      for (const name of whole.folders) this.#named.add(folder === "" ? name : `${folder}/${name}`);
      if (whole.digest !== "" && this.#before.get(folder) === whole.digest) {
        this.#sawFamiliar = true;
        this.#familiar.add(folder);
        // Holes that matter are not remembered.
        this.#leftOut.add(page.unreadable);
        return;
      }
    }
    for (const hole of page.unreadable) await this.#meet(hole);
    const { acceptedTypes } = this.#tools;
    const manifest = await this.#tools.manifest();
    // Those of a folder are read together, which is cheaper than one by one.
    const known = whole && [...manifest.inFolder(folder)];
    const entries = known && byPath(known, manifest);
    for (const file of page.files) {
      const type = fileTypeOf(nameOf(file.path));
      if (acceptedTypes.has(type)) this.#compare(file, entries ? entries.get(file.path) : manifest.at(file.path));
      else this.#leftOut.addType(type);
      if (this.#turn.isOver()) await this.#turn.next();
    }
    // Of a tree that is compared as a whole, what is missing is found in the end.
    if (known && this.#before.size > 0) for (const entry of known) this.#miss(entry);
  }

  /** Nobody misses a link, or a file of a type that is not taken, unless it stands where a document was. */
  async #meet(hole: TreeHole): Promise<void> {
    const { path, reason, what } = hole;
    const isWanted = what === undefined || (what === "file" && this.#tools.acceptedTypes.has(fileTypeOf(nameOf(path))));
    if (isWanted || isPresent((await this.#tools.manifest()).at(path))) this.#unreadable.push(hole);
    else this.#leftOut.add([{ path, reason }]);
  }

  #compare(file: TreeFile, entry: ManifestEntry | undefined): void {
    const isKnown = isPresent(entry);
    if (isKnown) {
      this.#seen.add(entry.docId);
      this.#familiar.add(folderOf(file.path));
    }
    const isSame = isKnown && file.stamp !== "" && file.stamp === entry.stamp && !this.#tools.checksum;
    if (!isSame) {
      this.#toRead.push(file);
      if (isKnown) this.#onlyNew = false;
    } else if (entry.status === "error") this.#readable.push(entry);
    else if (file.node !== entry.node) this.#renumbered.push({ ...entry, node: file.node });
  }

  async missEverywhere(): Promise<void> {
    const manifest = await this.#tools.manifest();
    const { active, error } = manifest.count();
    if (this.#seen.size === active + error) return;
    for (const page of manifest.entries()) {
      for (const entry of page) this.#miss(entry);
      if (this.#turn.isOver()) await this.#turn.next();
    }
  }

  async missFolder(folder: string): Promise<void> {
    for (const entry of (await this.#tools.manifest()).inFolder(folder)) this.#miss(entry);
  }

  #miss(entry: ManifestEntry): void {
    if (isPresent(entry) && !this.#seen.has(entry.docId)) this.#absent.push(entry);
  }

  /** Folders that were met for the first time, and are not walked yet. */
  newFolders(): ReadonlySet<string> {
    return new Set([...this.#named].filter((folder) => !this.folders.has(folder) && !this.#before.has(folder)));
  }

  /** Folders below the walked ones that are not in them any more, and all that were below those. */
  goneFolders(): Iterable<string> {
    for (const folder of this.#before.keys()) {
      for (let at = folder; at !== ""; at = folderOf(at)) {
        if (this.folders.has(folderOf(at)) && !this.#named.has(at) && !this.folders.has(at)) this.#gone.add(folder);
      }
    }
    return this.#gone;
  }

  /** Of what was not walked, what was remembered holds. */
  keepOthers(): void {
    for (const [folder, digest] of this.#before) {
      if (!this.folders.has(folder) && !this.#gone.has(folder)) this.folders.set(folder, digest);
    }
    this.#sawFamiliar = true;
  }

  result(completeness: Completeness): Comparison {
    this.#unreadable.push(...findUnmounted(this.#absent, this.#devices, this.#familiar));
    const hidden = new Hidden(this.#unreadable);
    const vanished = this.#absent.filter(({ path }) => !hidden.has(path));
    return {
      completeness,
      toRead: this.#toRead,
      readable: this.#readable,
      renumbered: this.#renumbered,
      vanished,
      unreadable: this.#unreadable,
      leftOut: this.#leftOut,
      folders: this.folders,
      onlyNew: this.#onlyNew,
      hidden: this.#absent.length - vanished.length,
      sawKnown: this.#seen.size > 0 || this.#sawFamiliar,
    };
  }
}

function isPresent(entry: ManifestEntry | undefined): entry is ManifestEntry {
  return entry?.status === "active" || entry?.status === "error";
}

/** By path. Two have it only after a run was cut off: the manifest knows whose it is. */
function byPath(entries: readonly ManifestEntry[], manifest: Manifest): ReadonlyMap<string, ManifestEntry> {
  const found = new Map<string, ManifestEntry>();
  for (const entry of entries) {
    const { path } = entry;
    found.set(path, found.has(path) ? (manifest.at(path) ?? entry) : entry);
  }
  return found;
}
