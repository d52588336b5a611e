import { randomUUID } from "node:crypto";
import type { TreeSourceConfig } from "../../contracts/domain.ts";
import { RemoteError } from "../../contracts/errors.ts";
import type { ManifestEntry, TrackedFile } from "../../contracts/manifest.ts";
import type { ChangesSince, Listing, LookOutcome } from "../../contracts/source.ts";
import { type Comparison, compareAll, compareFolders, compareOnly } from "./compare-tree.ts";
import { concludeLook } from "./conclude-look.ts";
import { Hidden } from "./hidden.ts";
import { KeptBytes } from "./kept-bytes.ts";
import { policyOf, type RememberedLook, readLook } from "./look-memory.ts";
import type { TreeTools } from "./open-tree-source.ts";
import { recallEntries } from "./recall-entries.ts";
import { type Look, type LookTools, MAX_CHANGED, refuseOtherRoot, takeLook } from "./take-look.ts";
import { recall, sightingOf } from "./tree-sighting.ts";

/** A look of this run, and where it began. */
export interface TakenLook extends Look {
  /** As TreeLook.root. */
  readonly root: string;
  /** Only some folders were walked. */
  readonly isPartial: boolean;
  readonly before: RememberedLook | undefined;
  /** Everything is as it was remembered. */
  readonly isSame: boolean;
  /** As RememberedLook. */
  readonly turn: number | undefined;
}

/** Where stamps do not tell everything, a hundredth of the files is read in every run, another one each time. */
const PARTS = 100;

/** One run's looks at a tree: by what is remembered when that can be trusted, otherwise at everything. Both write the same manifest. */
export class TreeLooks {
  readonly #tools: LookTools;
  readonly #policy: string;
  readonly #takesTurns: boolean;
  #taken: TakenLook | undefined;
  /** Names the look of this run, once it is concluded. */
  readonly mark = randomUUID();
  readonly kept = new KeptBytes();

  constructor(config: TreeSourceConfig, tools: TreeTools) {
    this.#policy = policyOf(config, tools.acceptedTypes);
    this.#takesTurns = config.sourceType === "folder_sources" && config.ignoreInodes === true;
    this.#tools = { ...tools, kept: this.kept };
  }

  /** What the feed saw of the tree need not be seen again, also when it could not vouch for all of it. */
  async *list(signal: AbortSignal): Listing {
    const taken = this.#taken ?? (await this.#look(signal, undefined));
    const { completeness, unreadable, lost } = taken;
    if (unreadable.length > 0) yield unreadable;
    const lostIds = new Set(lost.map(({ docId }) => docId));
    const hidden = new Hidden(unreadable);
    const isThere = ({ docId, path }: TrackedFile): boolean => !lostIds.has(docId) && !hidden.has(path);
    for await (const page of (await this.#tools.manifest()).active()) {
      yield page.filter(isThere).map((entry) => sightingOf(entry, this.#tools.tree));
    }
    return completeness;
  }

  async since(mark: string, signal: AbortSignal): Promise<ChangesSince | undefined> {
    if (this.#tools.checksum) return undefined;
    const before = await readLook(this.#tools.folder);
    if (!before || before.id !== mark || before.policy !== this.#policy) return undefined;
    // What was remembered was seen with another manifest: this one was lost since, or put back.
    if ((await this.#lookId()) !== before.id) return undefined;
    const taken = await this.#look(signal, before);
    const { completeness, unreadable, changed, lost, isQuiet } = taken;
    if (completeness !== "complete" || unreadable.length > 0 || changed.length > MAX_CHANGED) return undefined;
    return {
      mark: isQuiet ? mark : this.mark,
      touched: changed.map((entry) => sightingOf(entry, this.#tools.tree)),
      gone: lost.map(({ docId }) => docId),
      recall,
    };
  }

  async conclude(outcome: LookOutcome): Promise<void> {
    if (this.#taken)
      await concludeLook(this.#taken, outcome, { ...this.#tools, policy: this.#policy, mark: this.mark });
  }

  async #lookId(): Promise<string> {
    return (await this.#tools.manifest()).look?.id ?? "";
  }

  /** It is the one that the last look left, so nothing of the mirror is missing in it. */
  async #isLastManifest(): Promise<boolean> {
    const last = await readLook(this.#tools.folder);
    return last !== undefined && last.id === (await this.#lookId());
  }

  /** Where nothing is remembered, any is as good as another. */
  async #lastTurn(): Promise<number> {
    return (await readLook(this.#tools.folder))?.turn ?? Math.floor(Math.random() * PARTS);
  }

  async #look(signal: AbortSignal, before: RememberedLook | undefined): Promise<TakenLook> {
    const { tree, log, checksum, acceptedTypes, manifest, onlyFolders } = this.#tools;
    const identity = await tree.identity(signal);
    const root = identity && `${identity} ${tree.place}`;
    const known = before?.root === root ? before : undefined;
    const last = this.#takesTurns ? await this.#lastTurn() : undefined;
    const next = last === undefined ? undefined : (last + 1) % PARTS;
    const isTurn = (path: string): boolean => partOf(path) === next;
    const asked = { tree, manifest, acceptedTypes, checksum, signal };
    const tools = { ...asked, ...(next !== undefined && { isTurn }) };
    const part = known && onlyFolders && known.folders.size > 0;
    const some = part && (await compareOnly(asked, known.folders, onlyFolders));
    const comparison: Comparison =
      some || (known && known.folders.size > 0 ? await compareFolders(tools, known.folders) : await compareAll(tools));
    if ((await tree.identity(signal)) !== identity) {
      throw new RemoteError(
        `look at '${tree.place}': another folder took its place meanwhile. The next run looks again.`,
      );
    }
    if (!known) await refuseOtherRoot(root, tree.place, await manifest(), comparison.sawKnown);
    for (const line of comparison.leftOut.lines()) log(line);
    const isTrusted = known !== undefined || (await this.#isLastManifest());
    const recalled = isTrusted ? new Map<string, ManifestEntry>() : await recallEntries(comparison, this.#tools);
    const look = await takeLook(comparison, recalled, this.#tools, signal);
    const isSame = known !== undefined && look.isQuiet && isSameMap(look.folders, known.folders);
    this.#taken = { ...look, root, isPartial: some !== undefined, before: known, isSame, turn: some ? last : next };
    return this.#taken;
  }
}

/** The same for ever, and spread evenly enough. */
function partOf(path: string): number {
  let sum = 0;
  for (let at = 0; at < path.length; at++) sum = (sum * 31 + path.charCodeAt(at)) % 65_521;
  return sum % PARTS;
}

function isSameMap(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value) return false;
  return true;
}
