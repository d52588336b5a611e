import { rm } from "node:fs/promises";
import { join } from "node:path";
import { html, linksTo, PageSite, redirect } from "../../sources/web-visit-world.ts";
import type { History } from "../history.ts";

const WORDS = ["lynx", "badger"];
export const WEB_SETTINGS = {
  WEB_ALLOW_PRIVATE_NETWORKS: "true",
  WEB_HOST_DELAY_MS: "0",
  WEB_REQUESTS_PER_HOST: "1",
  // One after the other: the order of lines and rows must not depend on which page comes first.
  WEB_PAGES_AT_ONCE: "1",
  CRAWL_GONE_SPACING_SECONDS: "0",
  CRAWL_MOVED_SPACING_SECONDS: "0",
};

export const webHistory: History = {
  name: "web",
  async play(stage) {
    const site = await PageSite.start();
    stage.atEnd(() => site.close());
    stage.normaliser.place(site.origin, "http://site.example");
    await stage.serve(WEB_SETTINGS);
    const crawl = (title: string, wishes?: string): Promise<void> => stage.actCrawl(title, "SITE", WORDS, wishes);
    const home = (...paths: string[]): void =>
      site.set("/", html("Home").replace("<main>", `<nav>${linksTo(...paths)}</nav><main>`));
    home("/lynx", "/badger", "/notes.txt", "/missing");
    site.set("/lynx", html("Lynx", "<p>The lynx has tufts on its ears.</p>"));
    site.set("/badger", html("Badger", "<p>The badger digs at night.</p>"));
    site.set("/notes.txt", { type: "text/plain", body: "A lynx was seen on Monday." });
    stage.act("a domain of one web site");
    const domain = {
      domain_id: "SITE",
      name: "Site",
      description: "",
      web_sources: [{ source_id: "site", start_urls: [`${site.origin}/`] }],
    };
    await stage.ask("POST /v2/domains/create", { json: domain });

    await crawl("the first crawl, as a dry run", "mode=full&dry_run=true");
    await crawl("the first crawl");
    await crawl("nothing changed");
    home("/lynx", "/badger", "/notes.txt", "/wolf");
    site.set("/wolf", html("Wolf", "<p>A wolf fears neither lynx nor badger.</p>"));
    await crawl("a page added");
    site.set("/badger", html("Badger", "<p>The badger sleeps at noon.</p>"));
    await crawl("a page edited");
    site.set("/lynx", redirect("/cats/lynx"));
    site.set("/cats/lynx", html("Lynx", "<p>The lynx has tufts on its ears.</p>"));
    await crawl("a page moved");
    await crawl("moved, seen again");
    site.set("/notes.txt", { status: 503 });
    site.set("/wolf", { status: 403 });
    await crawl("two pages in trouble");
    site.set("/notes.txt", { type: "text/plain", body: "A lynx was seen on Monday." });
    site.set("/wolf", html("Wolf", ""));
    await crawl("they are back, one with less text");
    site.pages.delete("/badger");
    await crawl("a page gone, seen once");
    await crawl("seen twice");
    await crawl("seen three times");
    site.set("/badger", html("Badger", "<p>The badger is back.</p>"));
    await crawl("a page restored");
    home("/lynx", "/badger");
    await crawl("links removed, once");
    await crawl("links removed, twice");
    await crawl("links removed, three times");
    site.trouble = { status: 500 };
    await crawl("the host is in trouble");
    site.trouble = undefined;
    const folder = join(stage.storage, "crawler/SITE/04_web/site");
    for (const map of ["sharepoint_map", "files_map", "vectorstore_map"])
      await rm(join(folder, `${map}.csv`), { force: true });
    await crawl("the maps removed");
    await crawl("mode full", "mode=full");
    await stage.ask("GET /v2/ingest/items?format=json");
    await stage.ask("GET /v2/domains/check?domain_id=SITE&format=json");
  },
};
