import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { ServerProcess } from "../test/engine/server-process.ts";
import { BRISK, DOMAIN, LIBRARY } from "../test/engine/world.ts";
import { tenantFiles } from "../test/stories/in-step.ts";
import { Random } from "../test/stories/random.ts";
import { RandomUser } from "../test/stories/random-changes.ts";
import { openStage } from "../test/stories/stage.ts";
import type { Soak } from "./soak.ts";

const ROUNDS = 4;

const CLI = fileURLToPath(new URL("../bin/lockstep.mjs", import.meta.url));

/** A server and a command crawl one domain at once while users go on: one state in the end, no document twice. */
export const parallelSoak: Soak = {
  count: 10,
  async play(seed) {
    const stage = await openStage({ pace: BRISK });
    const { settings } = stage.world;
    const server = await ServerProcess.start(settings);
    const crawlTwice = (): Promise<unknown> =>
      Promise.all([server.crawlUntil(DOMAIN, /event: end_json/), crawlByCommand(settings)]);
    try {
      const user = new RandomUser(stage, new Random(seed));
      for (let i = 0; i < 12; i++) await user.do("add", { path: `Start/file${i}.txt`, text: user.text() });
      for (let round = 0; round < ROUNDS; round++) {
        const crawls = crawlTwice();
        for (let i = 0; i < 5; i++) await user.act();
        await crawls;
      }
      await crawlTwice();
      await stage.tryCrawl({ confirmDeletes: true });
      const failed = tenantFiles(stage.world, LIBRARY).flatMap(({ path }) => (path.endsWith(".pdf") ? path : []));
      await stage.inStep({ failed, marked: true });
      return `${(await stage.docs.map("files_map")).length} files`;
    } finally {
      await server.end("SIGKILL");
      await stage.close();
    }
  },
};

async function crawlByCommand(settings: Readonly<Record<string, string>>): Promise<void> {
  const env = { PATH: process.env["PATH"] ?? "", ...settings };
  await once(spawn(process.execPath, [CLI, "crawl", DOMAIN], { env, stdio: "ignore" }), "exit");
}
