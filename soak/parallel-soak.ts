import { ServerProcess } from "../test/engine/server-process.ts";
import { BRISK, DOMAIN, LIBRARY } from "../test/engine/world.ts";
import { tenantFiles } from "../test/stories/in-step.ts";
import { Random } from "../test/stories/random.ts";
import { RandomUser } from "../test/stories/random-changes.ts";
import { openStage } from "../test/stories/stage.ts";
import type { Soak } from "./soak.ts";

const ROUNDS = 4;

/** Two servers crawl one domain at once while users go on: one state in the end, no document twice. */
export const parallelSoak: Soak = {
  count: 10,
  async play(seed) {
    const stage = await openStage({ pace: BRISK });
    const servers = await Promise.all([
      ServerProcess.start(stage.world.settings),
      ServerProcess.start(stage.world.settings),
    ]);
    try {
      const user = new RandomUser(stage, new Random(seed));
      for (let i = 0; i < 12; i++) await user.do("add", { path: `Start/file${i}.txt`, text: user.text() });
      for (let round = 0; round < ROUNDS; round++) {
        const crawls = servers.map((server) => server.crawlUntil(DOMAIN, /event: end_json/));
        for (let i = 0; i < 5; i++) await user.act();
        await Promise.all(crawls);
      }
      await Promise.all(servers.map((server) => server.crawlUntil(DOMAIN, /event: end_json/)));
      await stage.tryCrawl({ confirmDeletes: true });
      const failed = tenantFiles(stage.world, LIBRARY).flatMap(({ path }) => (path.endsWith(".pdf") ? path : []));
      await stage.inStep({ failed, marked: true });
      return `${(await stage.docs.map("files_map")).length} files`;
    } finally {
      for (const server of servers) await server.end("SIGKILL");
      await stage.close();
    }
  },
};
