import { CheerioCrawler, Configuration, log } from "@crawlee/cheerio";
import { report } from "./measure.ts";

const AT_ONCE = Number(process.env["BENCH_AT_ONCE"]);

log.setLevel(log.LEVELS.OFF);

/** The usual crawler of the field, at its best: nothing on disk, no sessions, no retries, no scaling. */
await report(async () => {
  let pages = 0;
  let characters = 0;
  const crawler = new CheerioCrawler(
    {
      minConcurrency: AT_ONCE,
      maxConcurrency: AT_ONCE,
      maxRequestRetries: 0,
      useSessionPool: false,
      async requestHandler({ $, enqueueLinks }) {
        pages++;
        characters += $("title").text().length + $("main").text().length;
        await enqueueLinks({ strategy: "same-hostname" });
      },
    },
    new Configuration({ persistStorage: false, purgeOnStart: false, memoryMbytes: 8192 }),
  );
  await crawler.run([`${process.env["BENCH_SITE"]}/`]);
  return { pages, characters };
});
