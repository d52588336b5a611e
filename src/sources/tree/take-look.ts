import { RemoteError } from "../../contracts/errors.ts";
import type { TreeFile } from "../../contracts/file-tree.ts";
import type { Manifest, ManifestEntry } from "../../contracts/manifest.ts";
import type { Completeness, Unreadable } from "../../contracts/source.ts";
import { asReadable, asSeen, asUnreadable } from "../../detect/lineage/seen-entry.ts";
import type { ReadFile } from "../../detect/lineage/trace-lineage.ts";
import { plural } from "../../lib/plural.ts";
import { hasInode } from "../../lib/tree-path.ts";
import type { Comparison } from "./compare-tree.ts";
import { ContentElsewhere } from "./content-elsewhere.ts";
import { Hidden } from "./hidden.ts";
import type { KeptBytes } from "./kept-bytes.ts";
import { forgetLook } from "./look-memory.ts";
import { movedMeanwhile } from "./moved-meanwhile.ts";
import type { TreeTools } from "./open-tree-source.ts";
import { type FailedFile, readFiles } from "./read-files.ts";
import { recognizeFiles } from "./recognize-files.ts";
import { notesOf, type TreeNotes } from "./tree-notes.ts";

/** What a look at the tree came to. The manifest knows of every file that is there; what is lost is still in its place. */
export interface Look {
  readonly completeness: Completeness;
  readonly unreadable: readonly Unreadable[];
  /** As they are now: what is new, edited, moved or restored. The first ones, if they are very many. */
  readonly changed: readonly ManifestEntry[];
  readonly lost: readonly ManifestEntry[];
  readonly folders: ReadonlyMap<string, string>;
  /** Known files that something unreadable hides. */
  readonly hidden: number;
  /** Nothing was written, and nothing is to be. */
  readonly isQuiet: boolean;
  readonly notes: () => Promise<TreeNotes>;
}

/** Beyond so many, whoever wants to know lists everything. */
export const MAX_CHANGED = 10_000;
/** Where nothing can have moved, so many are read before their identities are written down and the next ones are read. */
const BATCH = 5000;

export interface LookTools extends TreeTools {
  readonly kept: KeptBytes;
  readonly manifest: () => Promise<Manifest>;
}

/** Reads what has to be read, finds out who is who, and writes it down. A look that is cut short leaves everything else as it was. */
export async function takeLook(
  comparison: Comparison,
  recalled: ReadonlyMap<string, ManifestEntry>,
  tools: LookTools,
  signal: AbortSignal,
): Promise<Look> {
  const { completeness, toRead, readable, renumbered, vanished, unreadable, folders, hidden } = comparison;
  const quiet = [toRead, readable, renumbered, vanished, unreadable].every(({ length }) => length === 0);
  const look = new Looking(comparison, recalled, tools, signal);
  if (!quiet) await look.take();
  return {
    completeness,
    unreadable: look.unreadable,
    changed: look.changed,
    lost: look.lost,
    folders,
    hidden: hidden.length,
    isQuiet: quiet,
    notes: () => look.notes(),
  };
}

/** The place of a share that is not mounted is another folder than the share, with nothing in it that is known. */
export function refuseOtherRoot(root: string, place: string, manifest: Manifest, sawKnown: boolean): void {
  const { active, error } = manifest.count();
  const before = manifest.look?.root ?? "";
  const isOther = root !== "" && before !== root && before.endsWith(` ${place}`);
  if (!isOther || sawKnown || active + error === 0) return;
  throw new RemoteError(
    `look at '${place}': another folder is there than last time, and none of the ${plural(active + error, "known file")} in it. ` +
      "If it is a share, mount it. If the folder was replaced on purpose, give the source another source_id.",
  );
}

class Looking {
  readonly #comparison: Comparison;
  /** As recallEntries() says. */
  readonly #recalled: ReadonlyMap<string, ManifestEntry>;
  readonly #tools: LookTools;
  readonly #signal: AbortSignal;
  #notes: TreeNotes | undefined;
  readonly unreadable: Unreadable[] = [];
  readonly changed: ManifestEntry[] = [];
  lost: readonly ManifestEntry[] = [];

  constructor(
    comparison: Comparison,
    recalled: ReadonlyMap<string, ManifestEntry>,
    tools: LookTools,
    signal: AbortSignal,
  ) {
    this.#comparison = comparison;
    this.#recalled = recalled;
    this.#tools = tools;
    this.#signal = signal;
  }

  async notes(): Promise<TreeNotes> {
    this.#notes ??= notesOf(await this.#tools.manifest(), this.#tools);
    return this.#notes;
  }

  async take(): Promise<void> {
    const { folder, dryRun, now } = this.#tools;
    const { toRead, readable, renumbered, unreadable, hidden } = this.#comparison;
    const manifest = await this.#tools.manifest();
    const notes = await this.notes();
    if (!dryRun) await forgetLook(folder);
    for (const { path, reason } of unreadable) this.#cannotRead(path, reason, manifest, notes);
    for (const { entry, hole } of hidden) {
      if (entry.path !== hole.path) notes.put(asUnreadable(entry, `'${hole.path}' cannot be read: ${hole.reason}`));
    }
    for (const entry of readable) notes.put(asReadable(entry, now()));
    for (const entry of renumbered) notes.put(entry);
    await (this.#mayGoInBatches(manifest)
      ? this.#takeInBatches(manifest, notes)
      : this.#takeAll(toRead, manifest, notes));
    await notes.flush();
  }

  /** First looks, and files that were only added: there is nothing that they could have been before. */
  #mayGoInBatches(manifest: Manifest): boolean {
    const { missing, deleted } = manifest.count();
    const gone = this.#comparison.vanished.length + missing + deleted + this.#recalled.size;
    return this.#comparison.onlyNew && gone === 0;
  }

  async #takeInBatches(manifest: Manifest, notes: TreeNotes): Promise<void> {
    const { toRead } = this.#comparison;
    const elsewhere = new ContentElsewhere(manifest);
    for (let at = 0; at < toRead.length; at += BATCH) {
      await this.#takeAll(toRead.slice(at, at + BATCH), manifest, notes, elsewhere);
      await notes.flush();
      const done = Math.min(at + BATCH, toRead.length);
      if (toRead.length > BATCH) this.#tools.log(`Read ${done} of ${plural(toRead.length, "file")}.`);
    }
  }

  async #takeAll(
    files: readonly TreeFile[],
    manifest: Manifest,
    notes: TreeNotes,
    others?: ContentElsewhere,
  ): Promise<void> {
    const read: ReadFile[] = [];
    const failed: FailedFile[] = [];
    const before = new Map<string, ManifestEntry>();
    for (let at = 0; at < files.length; at += BATCH) {
      for (const outcome of await readFiles(files.slice(at, at + BATCH), this.#tools, this.#signal)) {
        const { file } = outcome;
        if ("reason" in outcome) {
          failed.push(outcome);
          continue;
        }
        const entry = this.#presentAt(file.path, manifest);
        if (entry && isWhatItWas(outcome, entry)) this.#touch(outcome, entry, notes);
        else {
          read.push(outcome);
          if (entry) before.set(file.path, entry);
        }
      }
    }
    const gone = [...this.#comparison.vanished, ...this.#recalledElsewhere(manifest)];
    const held = this.#giveUp(failed, gone, manifest, notes);
    const left = gone.filter((entry) => !held.has(entry));
    const apart = new Set([...before.values(), ...gone].map(({ docId }) => docId));
    const moved = await movedMeanwhile(read, apart, manifest, this.#tools.tree, this.#signal);
    const vanished = [...left, ...moved];
    const elsewhere = others ?? new ContentElsewhere(manifest, [...before.values(), ...vanished]);
    const isElsewhere = (contentHash: string): boolean => elsewhere.has(contentHash);
    const question = { read, before, vanished, absent: [...manifest.absent()], isElsewhere };
    const { entries, lost } = await recognizeFiles(question, this.#tools, this.#signal);
    for (const entry of entries) {
      this.#put(entry, notes);
      if (this.#tools.dryRun) elsewhere.add(entry.contentHash);
    }
    this.lost = [...this.lost, ...lost];
  }

  #presentAt(path: string, manifest: Manifest): ManifestEntry | undefined {
    const entry = manifest.at(path);
    return entry?.status === "active" || entry?.status === "error" ? entry : this.#recalled.get(path);
  }

  /** Those whose path is not there any more, or belongs to another document by now. */
  #recalledElsewhere(manifest: Manifest): readonly ManifestEntry[] {
    if (this.#recalled.size === 0) return [];
    const { toRead, unreadable } = this.#comparison;
    const there = new Set(toRead.map(({ path }) => path));
    const hidden = new Hidden(unreadable);
    return [...this.#recalled.values()].filter((entry) => {
      const isHere = there.has(entry.path) && this.#presentAt(entry.path, manifest) === entry;
      return !isHere && !hidden.has(entry.path);
    });
  }

  /** The same file with the same content: whatever else the file system says of it is only noted. */
  #touch(read: ReadFile, entry: ManifestEntry, notes: TreeNotes): void {
    if (read.file.stamp === entry.stamp && entry.status === "active") return;
    const touched = asSeen({ kind: "touched", read, entry }, this.#tools.now(), () => entry.docId);
    if (touched.modifiedAt === entry.modifiedAt) notes.put(touched);
    else this.#put(touched, notes);
  }

  #put(entry: ManifestEntry, notes: TreeNotes): void {
    notes.put(entry);
    if (this.changed.length <= MAX_CHANGED) this.changed.push(entry);
  }

  /**
   * Nobody knows what they are. One that is new may be any that vanished, unless their nodes tell otherwise: those are returned,
   * and keep their places.
   */
  #giveUp(
    failed: readonly FailedFile[],
    vanished: readonly ManifestEntry[],
    manifest: Manifest,
    notes: TreeNotes,
  ): ReadonlySet<ManifestEntry> {
    const held = new Set<ManifestEntry>();
    const byNode = Map.groupBy(vanished, ({ node }) => node);
    for (const { file, reason } of failed) {
      this.#cannotRead(file.path, reason, manifest, notes);
      if (this.#presentAt(file.path, manifest)) continue;
      const why = `it may be '${file.path}' now: ${reason}`;
      for (const node of hasInode(file.node)
        ? [...byNode.keys()].filter((one) => one === file.node || !hasInode(one))
        : [...byNode.keys()]) {
        for (const entry of byNode.get(node) ?? []) {
          held.add(entry);
          notes.put(asUnreadable(entry, why));
          this.unreadable.push({ kind: "unreadable", path: entry.path, reason: why, itemId: entry.docId });
        }
        byNode.delete(node);
      }
    }
    return held;
  }

  #cannotRead(path: string, reason: string, manifest: Manifest, notes: TreeNotes): void {
    const entry = path === "" ? undefined : this.#presentAt(path, manifest);
    if (entry) notes.put(asUnreadable(entry, reason));
    this.unreadable.push({ kind: "unreadable", path, reason, ...(entry && { itemId: entry.docId }) });
  }
}

function isWhatItWas({ file, contentHash }: ReadFile, entry: ManifestEntry): boolean {
  return contentHash === entry.contentHash && (!hasInode(file.node) || file.node === entry.node);
}
