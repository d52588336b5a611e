import { mkdir, rm } from "node:fs/promises";
import { html, PageSite } from "../../sources/web-visit-world.ts";
import type { History } from "../history.ts";
import { Share } from "../share.ts";
import type { RecordedStage } from "../stage.ts";
import { WEB_SETTINGS } from "./web.ts";

const WORDS = ["walrus", "puffin"];

export const ingestHistory: History = {
  name: "ingest",
  async play(stage) {
    const site = await PageSite.start();
    stage.atEnd(() => site.close());
    stage.normaliser.place(site.origin, "http://site.example");
    const share = new Share(stage.beside("share"));
    await mkdir(share.root);
    await stage.serve({ ...WEB_SETTINGS, INGEST_FILE_ROOTS: share.root });
    site.set("/walrus", html("Walrus", "<p>A walrus sleeps on the ice.</p>"));
    site.set("/puffin", html("Puffin", "<p>A puffin nests in a burrow.</p>"));
    site.set("/broken.pdf", { type: "application/pdf", body: "no pdf at all" });
    await share.write("puffins.md", "# Puffins\n\nEvery puffin has a colourful beak.");
    const items = async (): Promise<void> => {
      await stage.ask("GET /v2/ingest/items?format=json");
      await stage.ask("GET /v2/ingest/status?domain_id=INGEST&format=json");
      await stage.ask("GET /api/SearchStatus?domain_id=INGEST");
    };

    stage.act("addresses and a file are registered");
    await stage.ask("POST /v2/ingest/items/create?dry_run=true", { json: { url: `${site.origin}/walrus` } });
    await stage.ask("POST /v2/ingest/items/create", { json: { url: `${site.origin}/walrus` } });
    await stage.ask("POST /v2/ingest/items/create", { json: { url: `${site.origin}/walrus/?utm_source=mail#top` } });
    await stage.ask("POST /api/AddUrlDocument", { json: { url: `${site.origin}/puffin`, title: "Seabirds" } });
    await stage.ask("POST /api/AddUrlDocument", { json: { url: `${site.origin}/broken.pdf` } });
    await stage.ask("POST /api/AddUrlDocument", { json: { url: `${site.origin}/missing` } });
    await stage.ask("POST /api/AddFileDocument", { json: { source: share.at("puffins.md") } });
    await stage.ask("POST /api/AddUrlDocument", { json: { url: "file:///etc/passwd" } });
    await stage.ask("POST /api/AddFileDocument", { json: { source: "/etc/passwd" } });
    await items();
    stage.act("they are looked at");
    await work(stage);
    await items();
    await stage.actCrawl("the first crawl", "INGEST", WORDS, "mode=incremental&scope=web");
    await items();
    await stage.ask(`GET /api/Search?q=walrus`);
    await stage.ask("POST /api/Search", { json: { query: "puffin", top: 2 } });

    stage.clock.skipDays(4);
    stage.act("due again: nothing changed");
    await work(stage);
    await stage.actCrawl("and crawled", "INGEST", WORDS, "mode=incremental&scope=web");
    site.set("/walrus", html("Walrus", "<p>A walrus dives for clams.</p>"));
    await share.write("puffins.md", "# Puffins\n\nEvery puffin lays one egg.");
    await stage.quietly("PUT /v2/ingest/items/update", { json: { item_id: await idOf(stage, "/walrus") } });
    stage.act("a page is to be looked at again, at once");
    await work(stage);
    await stage.actCrawl("a page edited", "INGEST", WORDS, "mode=incremental&scope=web");
    await items();
    stage.act("everything is looked at again");
    await stage.job("/v2/ingest/rebuild?domain_id=INGEST&force=true");
    await work(stage);
    await stage.actCrawl("a file edited", "INGEST", WORDS, "mode=incremental&scope=web");
    await rm(share.at("puffins.md"));
    site.pages.delete("/puffin");
    for (const title of ["gone, seen once", "seen twice", "seen three times"]) {
      stage.act(title);
      await stage.job("/v2/ingest/rebuild?domain_id=INGEST&force=true");
      await work(stage);
    }
    await stage.actCrawl("a page and a file gone", "INGEST", WORDS, "mode=incremental&scope=web");
    await items();
    stage.act("an item taken out");
    const id = await idOf(stage, "/walrus");
    await stage.ask(`GET /v2/ingest/items/get?item_id=${id}&format=json`);
    await stage.ask(`DELETE /v2/ingest/items/delete?item_id=${id}&domain_id=INGEST`);
    await stage.actCrawl("and crawled", "INGEST", WORDS, "mode=incremental&scope=web");
    await items();
    await stage.tree();
  },
};

/** As the timer and a worker do. */
async function work(stage: RecordedStage): Promise<void> {
  const signal = AbortSignal.timeout(600_000);
  await stage.app.ingest.sweep(signal);
  while (await stage.app.ingest.workOne("recorded", signal));
  await stage.learnNames();
}

async function idOf(stage: RecordedStage, path: string): Promise<string> {
  const { json } = await stage.quietly("GET /v2/ingest/items?format=json");
  const rows = json["data"] as unknown as { id: string; normalizedSource: string }[];
  return rows.find(({ normalizedSource }) => normalizedSource.endsWith(path))?.id ?? "";
}
