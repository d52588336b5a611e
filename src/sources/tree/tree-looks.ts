import { randomUUID } from "node:crypto";
import { RemoteError } from "../../contracts/errors.ts";
import type { ListedFile } from "../../contracts/manifest.ts";
import type { ChangesSince, Listing, LookOutcome } from "../../contracts/source.ts";
import { compareAll, compareOnly } from "./compare-tree.ts";
import { concludeLook } from "./conclude-look.ts";
import { Hidden } from "./hidden.ts";
import { KeptBytes } from "./kept-bytes.ts";
import type { TreeTools } from "./open-tree-source.ts";
import { recallEntries } from "./recall-entries.ts";
import { type Look, type LookTools, MAX_CHANGED, refuseOtherRoot, takeLook } from "./take-look.ts";
import { recall, sightingOf } from "./tree-sighting.ts";
import type { TreeSourceConfig } from "./tree-source-codec.ts";

/** A look of this run. */
export interface TakenLook extends Look {
  /** As TreeLook. */
  readonly root: string;
  readonly turn: number;
  /** What it is to be called. */
  readonly mark: string;
  /** Only some folders were walked. */
  readonly isPartial: boolean;
}

/** Where stamps do not tell everything, a hundredth of the files is read in every run, another one each time. */
const PARTS = 100;

/** One run's look at a tree, compared with its manifest: all of it, or the folders that somebody told of. */
export class TreeLooks {
  readonly #tools: LookTools;
  readonly #takesTurns: boolean;
  #taken: TakenLook | undefined;
  #looking: Promise<TakenLook> | undefined;
  /** Names the look of this run, once it is concluded. */
  readonly mark = randomUUID();
  readonly kept = new KeptBytes();

  constructor(config: TreeSourceConfig, tools: TreeTools) {
    this.#takesTurns = config.ignoreInodes === true;
    this.#tools = { ...tools, kept: this.kept };
  }

  /** What the feed saw of the tree need not be seen again, also when it could not vouch for all of it. */
  async *list(signal: AbortSignal): Listing {
    const taken = await this.#lookOnce(signal);
    const { completeness, unreadable, lost } = taken;
    if (unreadable.length > 0) yield unreadable;
    const lostIds = new Set(lost.map(({ docId }) => docId));
    const hidden = new Hidden(unreadable);
    const isThere = ({ docId, path }: ListedFile): boolean => !lostIds.has(docId) && !hidden.has(path);
    for await (const page of (await this.#tools.manifest()).active()) {
      yield page.filter(isThere).map((entry) => sightingOf(entry, this.#tools.tree));
    }
    return completeness;
  }

  /** Only what is not in the manifest is told, so the last look must have been carried out, and with this manifest. */
  async since(mark: string, signal: AbortSignal): Promise<ChangesSince | undefined> {
    if (this.#tools.checksum || mark === "" || (await this.#tools.manifest()).look?.id !== mark) return undefined;
    const taken = await this.#look(signal, mark);
    const { completeness, unreadable, changed, lost } = taken;
    if (completeness !== "complete" || unreadable.length > 0 || changed.length > MAX_CHANGED) return undefined;
    return {
      mark: taken.mark,
      touched: changed.map((entry) => sightingOf(entry, this.#tools.tree)),
      gone: lost.map(({ docId }) => docId),
      recall,
    };
  }

  async conclude(outcome: LookOutcome): Promise<void> {
    if (this.#taken) await concludeLook(this.#taken, outcome, this.#tools);
  }

  /** Of two listings at once, one looks: two looks would give each new file two documents. */
  async #lookOnce(signal: AbortSignal): Promise<TakenLook> {
    const looking = (this.#looking ?? Promise.resolve()).catch(() => undefined);
    this.#looking = looking.then(() => this.#taken ?? this.#look(signal));
    return await this.#looking;
  }

  /** `before`: what the last look was called, if only what changed since is wanted. */
  async #look(signal: AbortSignal, before?: string): Promise<TakenLook> {
    const { tree, log, checksum, acceptedTypes, manifest: open, onlyFolders } = this.#tools;
    const manifest = await open();
    const identity = await tree.identity(signal);
    const root = identity && `${identity} ${tree.place}`;
    const isSameRoot = manifest.look?.root === root;
    // Where nothing is known, any is as good as another.
    const last = manifest.look?.turn ?? Math.floor(Math.random() * PARTS);
    const next = this.#takesTurns ? (last + 1) % PARTS : last;
    const isTurn = (path: string): boolean => partOf(path) === next;
    const asked = { tree, manifest: open, acceptedTypes, checksum, signal };
    const hints = before !== undefined && isSameRoot ? onlyFolders : undefined;
    const some = hints && (await compareOnly(asked, hints));
    const comparison = some ?? (await compareAll({ ...asked, ...(this.#takesTurns && { isTurn }) }));
    if ((await tree.identity(signal)) !== identity) {
      throw new RemoteError(
        `look at '${tree.place}': another folder took its place meanwhile. The next run looks again.`,
      );
    }
    if (!isSameRoot) await refuseOtherRoot(root, tree.place, manifest, comparison.sawKnown);
    for (const line of comparison.leftOut.lines()) log(line);
    const recalled = some ? [] : await recallEntries(comparison, this.#tools);
    const look = await takeLook(comparison, recalled, this.#tools, signal);
    const mark = (look.isQuiet && before) || this.mark;
    this.#taken = { ...look, root, turn: some ? last : next, mark, isPartial: some !== undefined };
    return this.#taken;
  }
}

/** The same for ever, and spread evenly enough. */
function partOf(path: string): number {
  let sum = 0;
  for (let at = 0; at < path.length; at++) sum = (sum * 31 + path.charCodeAt(at)) % 65_521;
  return sum % PARTS;
}
