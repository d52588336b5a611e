import { randomInt } from "node:crypto";
import type { FileId, ItemId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Index, IndexedRef, SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";

/** So many documents are searched for, and so many that were removed. */
const MAX_SEARCHED = 200;
const MAX_REMOVED = 50;
const HITS = 20;
const MAX_WORDS = 16;
const MIN_WORDS = 4;

interface SearchedDocument {
  readonly itemId: ItemId;
  readonly fileId: FileId;
  readonly path: string;
  readonly sentence: string;
}

interface SearchOutcome {
  /** Documents that a sentence of theirs does not find. */
  readonly missed: readonly { readonly itemId: ItemId; readonly path: string }[];
  /** Removed ones that their words still find. */
  readonly haunted: readonly { readonly itemId: ItemId; readonly path: string }[];
  readonly searched: number;
  readonly searchedRemoved: number;
}

/**
 * Searches as readers do, in the newest generation also while they are shown another: for a sample of the documents of a source, and
 * for what was removed from it.
 */
export class SearchCheck {
  readonly #run: SourceRun;
  readonly #index: Index;
  readonly #total: number;
  readonly #sample: SearchedDocument[] = [];
  #offered = 0;
  #asOf: Pick<SearchQuery, "generation"> = {};

  /** `total`: how many documents will be offered, at most. */
  constructor(run: SourceRun, index: Index, total: number) {
    this.#run = run;
    this.#index = index;
    this.#total = total;
  }

  /** Each document has the same chance to be in the sample; all are, where there are few enough. */
  offer(itemId: ItemId, { fileId }: IndexedRef, path: string, text: string): void {
    const sentence = pickSentence(text);
    if (sentence === "") return;
    this.#offered += 1;
    const document = { itemId, fileId, path, sentence };
    if (this.#sample.length < MAX_SEARCHED) this.#sample.push(document);
    else if (this.#total > MAX_SEARCHED) {
      const at = randomInt(this.#offered);
      if (at < MAX_SEARCHED) this.#sample[at] = document;
    }
  }

  async run(job: JobContext): Promise<SearchOutcome> {
    const missed: SearchedDocument[] = [];
    const state = await this.#index.generations?.state();
    if (state?.pinned) this.#asOf = { generation: state.newest };
    for (const [at, document] of this.#sample.entries()) {
      await job.checkpoint();
      if (!(await this.#isFound(document, job.signal))) missed.push(document);
      if ((at + 1) % HITS === 0) job.log(`[ ${at + 1} / ${this.#sample.length} ] Searching for documents.`);
    }
    const { haunted, count } = await this.#checkRemoved(job);
    return { missed, haunted, searched: this.#sample.length, searchedRemoved: count };
  }

  /** Many documents may have the same sentence: then the one that is meant is asked for by its place. */
  async #isFound({ fileId, itemId, path, sentence }: SearchedDocument, signal: AbortSignal): Promise<boolean> {
    const scope = { domainId: this.#run.domainId, sourceId: this.#run.config.sourceId };
    const query = { text: sentence, limit: HITS, signal, ...this.#asOf };
    const narrow: Partial<SearchQuery> =
      this.#index.commits === "atomic"
        ? { scope: { ...scope, pathPrefix: path }, unfolded: true }
        : { scope, filter: { type: "eq", key: "item_id", value: itemId } };
    for (const more of [{ scope }, narrow]) {
      if (names(await this.#index.search({ ...query, ...more }), fileId)) return true;
    }
    return false;
  }

  /** What the oldest kept generation shows and the newest does not. Where none is kept, nothing is known of it. */
  async #checkRemoved(job: JobContext): Promise<{ haunted: SearchOutcome["haunted"]; count: number }> {
    const { generations } = this.#index;
    const { sourceId } = this.#run.config;
    const haunted: { itemId: ItemId; path: string }[] = [];
    let count = 0;
    if (!generations) return { haunted, count };
    const { newest } = await generations.state();
    const oldest = (await generations.list()).filter(({ number }) => number < newest).at(-1)?.number;
    if (oldest === undefined) return { haunted, count };
    for await (const page of generations.difference(oldest, newest)) {
      for (const { kind, sourceId: of, itemId, name, path } of page) {
        if (kind !== "removed" || of !== sourceId || count >= MAX_REMOVED) continue;
        await job.checkpoint();
        const scope = { domainId: this.#run.domainId, sourceId };
        const before = { text: words(name).join(" "), limit: 1, generation: oldest, signal: job.signal };
        const [earlier] = await this.#index.search({ ...before, scope: { ...scope, pathPrefix: path } });
        const sentence = earlier ? pickSentence(earlier.text) : "";
        if (sentence === "") continue;
        count += 1;
        const hits = await this.#index.search({
          text: sentence,
          limit: HITS,
          scope,
          unfolded: true,
          signal: job.signal,
          ...this.#asOf,
        });
        if (hits.some(({ attributes }) => attributes["item_id"] === itemId)) haunted.push({ itemId, path });
      }
    }
    return { haunted, count };
  }
}

/** By its text: that its name or path has a word of the sentence does not count. */
function names(hits: readonly SearchHit[], fileId: FileId): boolean {
  const byText = hits.filter(({ details }) => !details || details.parts.text + details.parts.vector > 0);
  return byText.some((hit) => hit.fileId === fileId || hit.details?.alsoIn.some((other) => other.fileId === fileId));
}

/** Words alone, so that nothing in it is read as an operator of the search; "" where the text has too few. */
export function pickSentence(text: string): string {
  const sentences = text.slice(0, 100_000).split(/[\n.!?。]+/);
  let best: string[] = [];
  for (const sentence of sentences) {
    const found = words(sentence).slice(0, MAX_WORDS);
    if (found.length > best.length) best = found;
    if (best.length >= MAX_WORDS / 2) break;
  }
  return best.length >= MIN_WORDS || words(text).length <= MIN_WORDS * 2 ? best.join(" ") : "";
}

function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}
