import { parseSseEvents, type SseEvent } from "../../src/lib/sse.ts";
import type { ServerProcess } from "../engine/server-process.ts";
import type { World } from "../engine/world.ts";

/** The stream of a crawl that a server was asked for. */
export interface QueuedCrawl {
  /** The events so far, as soon as a line of the log matches. Fails when the stream ends before. */
  until(line: RegExp): Promise<string>;
  /** All events, once the stream has ended. */
  events(): Promise<SseEvent[]>;
}

export async function askForCrawl(server: ServerProcess, domain: string): Promise<QueuedCrawl> {
  const response = await fetch(`${server.url}/v2/crawler/crawl?domain_id=${domain}&mode=incremental&format=stream`);
  if (!response.ok) throw new Error(`crawl ${domain}: ${await response.text()}`);
  let text = "";
  let over = false;
  let news = Promise.withResolvers<void>();
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      news.resolve();
      news = Promise.withResolvers<void>();
    }
  })().finally(() => {
    over = true;
    news.resolve();
  });
  return {
    async until(line) {
      while (!line.test(text)) {
        if (over) throw new Error(`the job never said ${line}: ${text}`);
        await news.promise;
      }
      return text;
    },
    async events() {
      await reading;
      return parseSseEvents(text);
    },
  };
}

/** Files of the library, each found by a word of its own. */
export async function addFiles(world: World, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const at = "2026-01-05T10:00:00Z";
    await world.change("add", { path: `folder${i % 3}/file${i}.txt`, text: `Report number${i} about gnu${i}.`, at });
  }
}

/** Each download waits a little at the tenant, so that there is a middle to do something in. */
export async function slowDown(world: World, delayMs: number): Promise<void> {
  await world.fault({ url: "\\$value", times: "always" }, { delayMs });
}
