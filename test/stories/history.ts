import assert from "node:assert/strict";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assertAsPlanned, readMaps } from "../engine/as-planned.ts";
import { BRISK, DOMAIN, LIBRARY } from "../engine/world.ts";
import { tenantFiles } from "./in-step.ts";
import { Random } from "./random.ts";
import { RandomAuthor } from "./random-author.ts";
import { RandomUser } from "./random-changes.ts";
import { openStage, type Stage } from "./stage.ts";

const ROUNDS = 6;
const DEEDS_A_ROUND = 6;

/**
 * Users, accidents and crawls by chance, then one quiet crawl: ledger, disk, store and search must then say what the
 * tenant says, and another crawl must find nothing to do. Throws with the whole history when they do not. `allPlanned`: a dry run precedes
 * every crawl that nothing disturbs.
 */
export async function playHistory(seed: number, { allPlanned = false } = {}): Promise<void> {
  const record: string[] = [];
  const random = new Random(seed);
  const stage = await openStage({ pace: BRISK });
  try {
    const user = new RandomUser(stage, random);
    const author = random.chance(0.5) ? await RandomAuthor.join(stage, random) : undefined;
    // Edits within one second are told apart by what `.lockstep/` remembers: a history has the one or loses the other.
    const hurried = random.chance(0.5);
    await stage.world.control("POST", "clock", { at: "2026-03-01T09:00:00Z" });
    for (let i = 0; i < 8; i++) record.push(await user.do("add", { path: `Start/file${i}.txt`, text: user.text() }));
    for (let round = 0; round < ROUNDS; round++) {
      if (!hurried) await stage.world.control("POST", "clock", { advanceSeconds: 60 });
      for (let i = random.below(DEEDS_A_ROUND); i >= 0; i--)
        record.push(await (author && random.chance(0.4) ? author : user).act());
      if (random.chance(0.3)) record.push(await damage(stage, random, hurried ? 4 : 5));
      record.push(await crawlSomehow(stage, random, allPlanned));
    }
    await endQuietly(stage, author, record);
  } catch (error) {
    const told = record.map((line) => `  ${line}`).join("\n");
    throw new Error(`history ${seed} does not end in step:\n${told}`, { cause: error });
  } finally {
    await stage.close();
  }
}

/** Whole, disturbed, or stopped in the middle. */
async function crawlSomehow(stage: Stage, random: Random, allPlanned: boolean): Promise<string> {
  const mode = random.chance(0.15) ? "full" : "incremental";
  const mood = random.below(4);
  if (mood === 0) {
    let lines = random.below(20);
    const job = await stage.world.crawlUntil(() => lines-- <= 0, { mode });
    return `crawl, ${mode}, stopped by its log: ${job.state}`;
  }
  if (mood === 1) {
    const effect = random.pick([
      { status: 503, body: "" },
      { status: 403, body: "{}" },
      { connection: "reset" },
      { truncateAfterBytes: 4, ending: "reset" },
    ]);
    const match = { url: random.chance(0.7) ? "\\$value" : "/_api/", nth: 1 + random.below(4), every: 2, times: 30 };
    await stage.world.fault(match, effect ?? {});
    const outcome = await outcomeOf(stage, mode);
    await stage.world.control("DELETE", "faults");
    return `crawl, ${mode}, with ${JSON.stringify({ match, effect })}: ${outcome}`;
  }
  return mood === 2 || allPlanned
    ? await crawlAsPlanned(stage, mode)
    : `crawl, ${mode}: ${await outcomeOf(stage, mode)}`;
}

/** A dry run first: the crawl does what that had planned. */
async function crawlAsPlanned(stage: Stage, mode: "full" | "incremental"): Promise<string> {
  const { app } = stage.world;
  const dry = await stage.world.crawl({ mode, dryRun: true });
  const before = await readMaps(app, DOMAIN);
  const { job, result } = await stage.tryCrawl({ mode });
  assertAsPlanned(dry.result, result, before, await readMaps(app, DOMAIN));
  return `crawl, ${mode}, as planned: ${job.result?.error || "ok"}`;
}

async function outcomeOf(stage: Stage, mode: "full" | "incremental"): Promise<string> {
  const { job } = await stage.tryCrawl({ mode });
  return job.result?.error || "ok";
}

/** What happens to our own disk and store. */
async function damage(stage: Stage, random: Random, kinds: number): Promise<string> {
  const kind = random.below(kinds);
  const { folder } = stage.docs;
  const files = await stage.docs.disk();
  const file = random.pick(files);
  if (kind === 0 && file) {
    await rm(join(folder, "02_embedded", file));
    return `damage: ${file} missing on disk`;
  }
  if (kind === 1 && files.length > 0) {
    await writeFile(join(folder, "02_embedded", "orphan.txt"), "Nobody's wordorphan1.");
    return "damage: an orphan";
  }
  if (kind === 2) {
    const maps = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".csv"));
    const map = random.pick(maps);
    if (map) await rm(join(folder, map));
    return `damage: ${map} lost`;
  }
  if (kind === 4) {
    await rm(join(folder, ".lockstep"), { recursive: true, force: true });
    return "damage: .lockstep lost";
  }
  const { vectorStoreId } = await stage.world.app.domains.get(DOMAIN);
  const held = vectorStoreId ? await stage.world.storeFileIds() : [];
  const id = random.pick(held);
  if (id) await stage.world.openai().vectorStores.files.delete(id, { vector_store_id: vectorStoreId });
  return `damage: ${id} taken out of the store`;
}

async function endQuietly(stage: Stage, author: RandomAuthor | undefined, record: string[]): Promise<void> {
  const { job, log } = await stage.tryCrawl({ confirmDeletes: true });
  record.push(`the quiet crawl: ${job.result?.error || "ok"}\n${log}`);
  // A name says "pdf" and the bytes do not: whoever is called so cannot be read.
  const failed = tenantFiles(stage.world, LIBRARY).flatMap(({ path }) => (path.endsWith(".pdf") ? path : []));
  // Documents of the other sources are not the library's.
  await stage.inStep({ failed, marked: true, ...(author && { foreign: [] }) });
  await author?.assertInStep();
  await stage.forgetDownloads();
  const before = await stage.fileIds();
  const again = await stage.crawl();
  record.push(`the crawl after it:\n${again.log}`);
  assert.equal(await stage.downloads(), 0, "the crawl after the quiet one downloads nothing");
  assert.deepEqual(await stage.fileIds(), before);
  // Documents of the other sources are not the library's.
  await stage.inStep({ failed, marked: true, ...(author && { foreign: [] }) });
  await author?.assertInStep();
}
