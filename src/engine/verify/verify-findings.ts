import type { ItemId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { MerkleTree } from "../../lib/merkle-tree.ts";
import {
  type Behind,
  type Difference,
  type ItemProof,
  LAYERS,
  type Layer,
  leafOf,
  noSourceCounts,
  type SourceVerification,
  type Verdict,
} from "./verification.ts";

/** So many of each are told in the result; the log has all. */
const MAX_TOLD = 500;

/** What a verification of one source has found out so far, as it will be told. Memory does not grow with the source. */
export class Findings {
  readonly counts = noSourceCounts();
  /** Documents whose stored parts are damaged. */
  readonly damaged: ItemId[] = [];
  readonly #source: Pick<SourceRun["config"], "sourceId" | "sourceType">;
  readonly #job: JobContext;
  readonly #problems: string[] = [];
  readonly #differences: Difference[] = [];
  readonly #behind: Behind[] = [];
  readonly #trees: Readonly<Record<Layer, MerkleTree>> = {
    source: new MerkleTree(),
    mirror: new MerkleTree(),
    index: new MerkleTree(),
  };
  readonly #proved: { itemId: ItemId; hashes: Partial<Record<Layer, string>> }[] = [];
  #differencesMore = 0;
  #behindMore = 0;

  constructor({ config }: SourceRun, job: JobContext, problems: readonly string[]) {
    this.#source = config;
    this.#job = job;
    this.#problems.push(...problems);
  }

  get hasProblems(): boolean {
    return this.#problems.length > 0;
  }

  get hasProof(): boolean {
    return this.#proved.length > 0;
  }

  noteProblem(problem: string): void {
    const { sourceId } = this.#source;
    this.#job.log(`WARNING: source '${sourceId}': ${problem}`);
    if (this.#problems.length < MAX_TOLD) this.#problems.push(problem);
  }

  tell(difference: Difference): void {
    const { layer, part, path, item_id, detail, crawl } = difference;
    const where = part ? `${layer}, ${part}` : layer;
    this.#job.log(`DIFFERS (${where}) '${path || item_id}': ${detail}. A crawl ${crawl}.`);
    if (this.#differences.length < MAX_TOLD) this.#differences.push(difference);
    else this.#differencesMore += 1;
  }

  tellBehind(behind: Behind): void {
    this.#job.log(`BEHIND '${behind.path || behind.item_id}': ${behind.detail}.`);
    if (this.#behind.length < MAX_TOLD) this.#behind.push(behind);
    else this.#behindMore += 1;
  }

  /** Adds what the layers have of an item to their roots. */
  addLeaves(itemId: ItemId, hashes: Partial<Record<Layer, string>>, { prove }: { readonly prove: boolean }): void {
    for (const layer of LAYERS) {
      const hash = hashes[layer];
      if (hash !== undefined) this.#trees[layer].add(leafOf(this.#source.sourceId, itemId, hash), { prove });
    }
    if (prove) this.#proved.push({ itemId, hashes });
  }

  verdict(): Verdict {
    if (this.#differences.length > 0) return "differs";
    if (this.#problems.length > 0) return "could not look";
    return this.#behind.length > 0 ? "behind" : "agrees";
  }

  result(basis: SourceVerification["based_on"]): SourceVerification {
    const { sourceId: source_id, sourceType: source_type } = this.#source;
    const rootOf = (layer: Layer) => ({
      root: this.#trees[layer].root().toString("hex"),
      leaves: this.#trees[layer].size,
    });
    return {
      source_id,
      source_type,
      verdict: this.verdict(),
      problems: this.#problems,
      counts: this.counts,
      based_on: basis,
      roots: { source: rootOf("source"), mirror: rootOf("mirror"), index: rootOf("index") },
      differences: this.#differences,
      differences_more: this.#differencesMore,
      behind: this.#behind,
      behind_more: this.#behindMore,
    };
  }

  proofs(): ItemProof[] {
    const [proved] = this.#proved;
    if (!proved) return [];
    return LAYERS.flatMap((layer) => {
      const content_hash = proved.hashes[layer];
      const proof = this.#trees[layer].proof();
      if (content_hash === undefined || !proof) return [];
      const { index, size } = proof;
      const path = proof.path.map((hash) => hash.toString("hex"));
      return [{ source_id: this.#source.sourceId, item_id: proved.itemId, layer, content_hash, index, size, path }];
    });
  }
}
