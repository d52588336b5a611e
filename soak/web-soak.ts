import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { ServerProcess } from "../test/engine/server-process.ts";
import { SiteWorld, WEB_DOMAIN } from "../test/engine/site-world.ts";
import { Random } from "../test/stories/random.ts";
import type { Soak } from "./soak.ts";

const MANY = 10_000;
const FEW = 500;
const KILLS = 3;
/** What may be under way when a process is killed, and is asked for again. */
const UNDER_WAY = 64;

/**
 * A site with everything that makes crawling hard, the first time with 10,000 pages; the process is killed at moments chosen
 * by the seed, and the next one goes on. In the end every page that can be reached is there once, and none was downloaded
 * twice for nothing.
 */
export const webSoak: Soak = {
  count: 12,
  async play(seed) {
    const pages = seed === 1 ? MANY : FEW;
    const source = { exclude: ["/calendar/**"], max_pages: 2 * MANY };
    const world = await SiteWorld.open({ pages, seed, source });
    try {
      const random = new Random(seed);
      const moments: string[] = [];
      for (let i = 0; i < KILLS; i++) moments.push(await killSomewhere(world, random, pages));
      for (let i = 0; i < 2; i++) await world.crawl();
      assert.deepEqual(await world.held(), world.expected());
      const twice = sentBeyond(1, world);
      assert.ok(twice <= KILLS * UNDER_WAY, `${twice} bodies were sent twice`);
      world.site.clearCounts();
      await world.crawl();
      assert.equal(sentBeyond(0, world), 0, "nothing changed, so nothing is sent");
      return `${pages} pages, killed ${moments.join(", ")}, ${twice} bodies sent twice`;
    } finally {
      await world.close();
    }
  },
};

/** When the site has been asked so many times since, while the index is filled, or when the crawl is over. */
async function killSomewhere(world: SiteWorld, random: Random, pages: number): Promise<string> {
  const asked = (): number => [...world.site.counts().values()].reduce((sum, { requests }) => sum + requests, 0);
  const until = random.chance(0.7) ? asked() + random.below(Math.ceil((pages * 1.2) / KILLS)) : Number.MAX_SAFE_INTEGER;
  const server = await ServerProcess.start(world.settings);
  let seen: string | undefined;
  const crawl = server.crawlUntil(WEB_DOMAIN, /\] Indexing '|event: end_json/).then(
    (text) => {
      seen = text;
    },
    () => undefined,
  );
  while (seen === undefined && asked() < until) await setTimeout(5);
  await setTimeout(random.below(50));
  const moment = seen?.includes("] Indexing '") ? "while indexing" : seen ? "at the end" : `after ${asked()} requests`;
  await server.end("SIGKILL");
  await crawl;
  return moment;
}

/** Bodies of honest pages that were sent beyond the first so many. */
function sentBeyond(free: number, world: SiteWorld): number {
  const honest = [...world.site.reachable()].filter(({ resends }) => resends === "never").map(({ path }) => path);
  const sent = world.bodies();
  return honest.reduce((sum, path) => sum + Math.max(0, (sent.get(decodeURI(path)) ?? 0) - free), 0);
}
