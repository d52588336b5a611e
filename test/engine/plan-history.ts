import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import type { App } from "../../src/app/app.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import { CancelledError } from "../../src/contracts/errors.ts";
import type { DomainId } from "../../src/contracts/ids.ts";
import type { JobContext } from "../../src/contracts/job.ts";
import { type CrawlRequest, type CrawlResult, crawlRequest } from "../../src/engine/crawl-request.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { openBlobWorld, temporaryFolder } from "../sources/blob-world.ts";
import { SourceStory } from "../sources/source-story.ts";
import { html, linksTo } from "../sources/web-visit-world.ts";
import { playHistory } from "../stories/history.ts";
import { Random } from "../stories/random.ts";
import { assertAsPlanned, readMaps } from "./as-planned.ts";
import { GENEROUS, playFolderHistory } from "./folder-history.ts";
import { DOMAIN as WEB, WebStory } from "./web-story.ts";

const ROUNDS = 6;
const DEEDS_A_ROUND = 5;
const FIRST_ITEMS = 8;

/** Where the items of one source are, as the one who changes them sees it. */
interface Shelf {
  readonly app: App;
  readonly domainId: DomainId;
  put(name: string, text: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Something is wrong with the source, until the returned function is called. */
  disturb(): Promise<() => Promise<void>>;
  /** Nothing is left to do after so many crawls in which nothing changes: what is gone may have to be missing several times. */
  readonly settledAfter: number;
  close(): Promise<void>;
}

/** Kinds of sources, and who plays a history of each in which a dry run precedes every crawl. */
const PLAYERS: Readonly<Record<string, (seed: number) => Promise<void>>> = {
  tenant: (seed) => playHistory(seed, { allPlanned: true }),
  folder: async (seed) => void (await playFolderHistory(seed, ROUNDS, { allPlanned: true })),
  blobs: (seed) => playShelf(seed, openBlobs),
  web: (seed) => playShelf(seed, openWeb),
};

/** What the dry run planned and what the run after it did is the same, item by item. Returns which kind of source it was. */
export async function playPlanHistory(seed: number): Promise<string> {
  const kinds = Object.keys(PLAYERS);
  const kind = kinds[seed % kinds.length] ?? "";
  await PLAYERS[kind]?.(seed);
  return kind;
}

async function playShelf(seed: number, open: (seed: number, random: Random) => Promise<Shelf>): Promise<void> {
  const random = new Random(seed);
  const record: string[] = [];
  const shelf = await open(seed, random);
  try {
    const author = new ShelfAuthor(shelf, random);
    for (let i = 0; i < FIRST_ITEMS; i++) record.push(await author.add());
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = random.below(DEEDS_A_ROUND); i >= 0; i--) record.push(await author.act());
      record.push(await crawlSomehow(shelf, random));
    }
    for (let i = 0; i <= shelf.settledAfter; i++) record.push(await crawlAsPlanned(shelf, {}));
    await author.assertFound();
    const { sources } = await crawl(shelf, {});
    for (const { download } of sources)
      assert.deepEqual([download.added, download.changed, download.removed], [0, 0, 0]);
  } catch (error) {
    throw new Error(`history ${seed}:\n${record.map((line) => `  ${line}`).join("\n")}`, { cause: error });
  } finally {
    await shelf.close();
  }
}

async function crawlSomehow(shelf: Shelf, random: Random): Promise<string> {
  const mode = random.chance(0.15) ? "full" : "incremental";
  const mood = random.below(6);
  if (mood === 0) {
    let lines = random.below(20);
    const stop = (): boolean => lines-- <= 0;
    await crawl(shelf, { mode }, { stop });
    return `crawl, ${mode}, stopped by its log`;
  }
  if (mood === 1) {
    const undo = await shelf.disturb();
    try {
      return `disturbed: ${await crawlAsPlanned(shelf, { mode })}`;
    } finally {
      await undo();
    }
  }
  return await crawlAsPlanned(shelf, { mode });
}

async function crawlAsPlanned(shelf: Shelf, wishes: Partial<CrawlRequest>): Promise<string> {
  const dry = await crawl(shelf, wishes, { dryRun: true });
  const before = await readMaps(shelf.app, shelf.domainId);
  const result = await crawl(shelf, wishes);
  assertAsPlanned(dry, result, before, await readMaps(shelf.app, shelf.domainId));
  return `crawl, ${wishes.mode ?? "incremental"}, as planned: ${result.problems.join(" ") || "ok"}`;
}

async function crawl(
  { app, domainId }: Shelf,
  wishes: Partial<CrawlRequest>,
  { dryRun = false, stop = () => false }: { readonly dryRun?: boolean; readonly stop?: () => boolean } = {},
): Promise<CrawlResult> {
  const { start, work } = crawlJob(app, crawlRequest(domainId, wishes), { dryRun });
  const running = await app.runner.start({ ...start, endpoint: "test" }, (job) => work(stoppable(job, stop)));
  return (await running.done).result?.data as CrawlResult;
}

function stoppable(job: JobContext, stop: () => boolean): JobContext {
  const ended = new AbortController();
  return {
    jobId: job.jobId,
    dryRun: job.dryRun,
    signal: AbortSignal.any([job.signal, ended.signal]),
    log(line) {
      job.log(line);
      if (stop()) ended.abort();
    },
    async checkpoint() {
      await job.checkpoint();
      if (ended.signal.aborted) throw new CancelledError("the history stopped it");
    },
  };
}

/** Adds, edits, removes and brings back by chance, and knows which word each item must be found by. */
class ShelfAuthor {
  readonly #shelf: Shelf;
  readonly #random: Random;
  readonly #words = new Map<string, string>();
  readonly #removed = new Map<string, string>();
  #count = 0;

  constructor(shelf: Shelf, random: Random) {
    this.#shelf = shelf;
    this.#random = random;
  }

  async act(): Promise<string> {
    const name = this.#random.pick([...this.#words.keys()]);
    const deed = this.#random.below(10);
    if (deed < 3 || !name) return await this.add();
    if (deed < 6) return `edit ${await this.#put(name, this.#word())}`;
    if (deed < 7) return await this.#rename(name);
    if (deed < 9) return await this.#remove(name);
    const back = this.#random.pick([...this.#removed]);
    return back ? `bring back ${await this.#put(...back)}` : await this.add();
  }

  async add(): Promise<string> {
    this.#count += 1;
    const folder = this.#random.pick(["", "old/", "reports/2026/"]) ?? "";
    return `add ${await this.#put(`${folder}item${this.#count}.md`, this.#word())}`;
  }

  /** Every item is found by its word, and none that was removed. */
  async assertFound(): Promise<void> {
    const { app, domainId } = this.#shelf;
    const isFound = async (word: string): Promise<boolean> => {
      const { sources } = await app.query({ text: word, limit: 10, domainId, vectorStoreId: undefined });
      return sources.some(({ text }) => text.includes(word));
    };
    for (const [name, word] of this.#words) assert.ok(await isFound(word), `${name} is not found by '${word}'`);
    const words = new Set(this.#words.values());
    for (const [name, word] of this.#removed) {
      assert.ok(words.has(word) || !(await isFound(word)), `${name} is found by '${word}'`);
    }
  }

  async #put(name: string, word: string): Promise<string> {
    await this.#shelf.put(name, `All that is to be said here is about the ${word}, and it is said in one sentence.`);
    this.#words.set(name, word);
    this.#removed.delete(name);
    return name;
  }

  async #remove(name: string): Promise<string> {
    await this.#shelf.remove(name);
    this.#removed.set(name, this.#words.get(name) ?? "");
    this.#words.delete(name);
    return `remove ${name}`;
  }

  async #rename(name: string): Promise<string> {
    this.#count += 1;
    const word = this.#words.get(name) ?? "";
    await this.#remove(name);
    return `rename ${name} to ${await this.#put(`moved/item${this.#count}.md`, word)}`;
  }

  #word(): string {
    this.#count += 1;
    return `qzx${this.#count.toString(36)}mark`;
  }
}

let azurite: Promise<Azurite> | undefined;

async function openBlobs(seed: number): Promise<Shelf> {
  azurite ??= startAzurite();
  const world = await openBlobWorld((await azurite).connectionString, `plans${seed}`);
  const storage = await temporaryFolder();
  const credential = `LOCKSTEP_TEST_PLANS_${seed}`;
  process.env[credential] = await world.sas();
  const source = { ...world.config, credential, limits: GENEROUS };
  const story = await SourceStory.open({ domain: "BLOBS", scope: "blobs", storage, source });
  return {
    app: story.app,
    domainId: story.domainId,
    settledAfter: 1,
    put: (name, text) => world.put(name, text),
    remove: async (name) => void (await world.container.deleteBlob(name)),
    disturb: async () => {
      process.env[credential] = await world.sas(new Date(Date.now() - 60_000));
      return async () => {
        process.env[credential] = await world.sas();
      };
    },
    close: async () => {
      delete process.env[credential];
      await story.close();
      await world.container.delete();
      await rm(storage, { recursive: true, force: true });
    },
  };
}

async function openWeb(_seed: number, random: Random): Promise<Shelf> {
  const story = await WebStory.open({ limits: { max_removals: 1000, max_removals_percent: 100, allow_empty: true } });
  const { site } = story;
  const names = new Set<string>();
  const relink = (): void => site.set("/", html("Start", linksTo(...[...names].map((name) => `/${name}`))));
  relink();
  return {
    app: story.app,
    domainId: WEB,
    settledAfter: 4,
    async put(name, text) {
      names.add(name);
      site.set(`/${name}`, html(name, `<p>${text}</p>`));
      relink();
    },
    async remove(name) {
      names.delete(name);
      if (random.chance(0.5)) site.set(`/${name}`, { status: 410 });
      else site.pages.delete(`/${name}`);
      if (random.chance(0.7)) relink();
    },
    async disturb() {
      const name = random.pick(["", ...names]) ?? "";
      const page = site.pages.get(`/${name}`) ?? "";
      site.set(`/${name}`, { status: 503 });
      return async () => site.set(`/${name}`, page);
    },
    close: () => story.close(),
  };
}
