import type { FileTree, TreeFile, TreeHole, TreePage } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { KnownFolder, Manifest, ManifestEntry } from "../../contracts/manifest.ts";
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
  /** Known files that something unreadable above them hides. */
  readonly hidden: readonly HiddenFile[];
  /** Something that is known was there. */
  readonly sawKnown: boolean;
}

export interface HiddenFile {
  readonly entry: ManifestEntry;
  /** What hides it. */
  readonly hole: Unreadable;
}

export interface CompareTools {
  readonly tree: FileTree;
  readonly manifest: () => Promise<Manifest>;
  readonly acceptedTypes: ReadonlySet<string>;
  readonly checksum: boolean;
  /** Whether it is a file's turn to be read although its stamp is what it was; without it never. */
  readonly isTurn?: (path: string) => boolean;
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
  /** Of those that were not compared folder by folder. */
  readonly #seen = new Set<ItemId>();
  #seenCount = 0;
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
      const isSame = whole.digest !== "" && this.#before.get(folder) === whole.digest;
      const { isTurn } = this.#tools;
      if (isSame && !(isTurn && page.files.some(({ path }) => isTurn(path)))) {
        this.#sawFamiliar = true;
        this.#familiar.add(folder);
        // Holes that matter are not remembered.
        this.#leftOut.add(page.unreadable);
        return;
      }
    }
    for (const hole of page.unreadable) await this.#meetHole(hole);
    const manifest = await this.#tools.manifest();
    const known = whole && manifest.inFolder(folder);
    for (const file of page.files) {
      this.#place(file, manifest, known);
      if (this.#turn.isOver()) await this.#turn.next();
    }
    for (const entry of known?.unmet() ?? []) this.#absent.push(entry);
    if (known?.met) this.#familiar.add(folder);
  }

  #place(file: TreeFile, manifest: Manifest, known: KnownFolder | undefined): void {
    const type = fileTypeOf(nameOf(file.path));
    if (!this.#tools.acceptedTypes.has(type)) this.#leftOut.addType(type);
    else this.#compare(file, known ? known.meet(file) : this.#meetAlone(file.path, manifest));
  }

  #meetAlone(path: string, manifest: Manifest): ManifestEntry | undefined {
    const entry = manifest.at(path);
    if (!isPresent(entry)) return undefined;
    this.#seen.add(entry.docId);
    this.#familiar.add(folderOf(path));
    return entry;
  }

  /** Nobody misses a link, or a file of a type that is not taken, unless it stands where a document was. */
  async #meetHole(hole: TreeHole): Promise<void> {
    const { path, reason, what } = hole;
    const isWanted = what === undefined || (what === "file" && this.#tools.acceptedTypes.has(fileTypeOf(nameOf(path))));
    if (isWanted || isPresent((await this.#tools.manifest()).at(path))) this.#unreadable.push(hole);
    else this.#leftOut.add([{ path, reason }]);
  }

  #compare(file: TreeFile, known: ManifestEntry | "same" | undefined): void {
    if (known) this.#seenCount += 1;
    const isSame = known === "same" || (file.stamp !== "" && file.stamp === known?.stamp);
    if (!isSame || this.#tools.checksum || this.#tools.isTurn?.(file.path)) {
      this.#toRead.push(file);
      if (known) this.#onlyNew = false;
    } else if (known === "same") return;
    else if (known?.status === "error") this.#readable.push({ ...known, node: file.node });
    else if (known && file.node !== known.node) this.#renumbered.push({ ...known, node: file.node });
  }

  /** Those of folders that were not walked. */
  async missEverywhere(): Promise<void> {
    const manifest = await this.#tools.manifest();
    const { active, error } = manifest.count();
    if (this.#seenCount + this.#absent.length === active + error) return;
    for (const page of manifest.entries()) {
      for (const entry of page) if (!this.folders.has(folderOf(entry.path))) this.#miss(entry);
      if (this.#turn.isOver()) await this.#turn.next();
    }
  }

  async missFolder(folder: string): Promise<void> {
    for (const entry of (await this.#tools.manifest()).inFolder(folder).unmet()) this.#absent.push(entry);
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
    const absent = completeness === "complete" ? this.#absent : [];
    this.#unreadable.push(...findUnmounted(absent, this.#devices, this.#familiar));
    const holes = new Hidden(this.#unreadable);
    const vanished: ManifestEntry[] = [];
    const hidden: HiddenFile[] = [];
    for (const entry of absent) {
      const hole = holes.above(entry.path);
      if (hole) hidden.push({ entry, hole });
      else vanished.push(entry);
    }
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
      hidden,
      sawKnown: this.#seenCount > 0 || this.#sawFamiliar,
    };
  }
}

function isPresent(entry: ManifestEntry | undefined): entry is ManifestEntry {
  return entry?.status === "active" || entry?.status === "error";
}
