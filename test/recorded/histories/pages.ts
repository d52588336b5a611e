import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { History } from "../history.ts";
import { Tenant } from "../tenant.ts";

const PAGES = "/sites/demo/SitePages";
const WORDS = ["numbat", "quoll"];

export const pagesHistory: History = {
  name: "pages",
  async play(stage) {
    const tenant = await Tenant.open(stage);
    const crawl = (title: string, wishes?: string): Promise<void> => stage.actCrawl(title, "PORTAL", WORDS, wishes);
    const at = (path: string): string => `${PAGES}/${path}`;
    const add = (path: string, text: string, published = true): Promise<object> =>
      tenant.change("add-page", {
        path: at(path),
        title: path.replace(/\.aspx$/, ""),
        text: `<p>${text}</p>`,
        published,
      });
    await add("Home.aspx", "Welcome to the numbat portal.");
    await add("News/Party.aspx", "The quoll party begins at nine.");
    await add("Draft.aspx", "Nobody has seen this numbat yet.", false);
    stage.act("a domain of site pages");
    const source = { source_id: "pages", site_url: tenant.siteUrl, sharepoint_url_part: "/SitePages", filter: "" };
    const domain = { domain_id: "PORTAL", name: "Portal", description: "", sitepage_sources: [source] };
    await stage.ask("POST /v2/domains/create", { json: domain });

    await crawl("the first crawl");
    await crawl("nothing changed");
    await add("News/Rain.aspx", "It rained on the quoll party.");
    await crawl("a page added");
    await tenant.change("edit-page", { path: at("Home.aspx"), text: "<p>Welcome, says the quoll.</p>" });
    await crawl("a page edited, not published");
    await tenant.change("publish-page", { path: at("Home.aspx") });
    await tenant.change("publish-page", { path: at("Draft.aspx") });
    await crawl("two pages published");
    await tenant.change("rename", { path: at("News/Party.aspx"), name: "Feast.aspx" });
    await crawl("a page renamed");
    const { uniqueId } = await tenant.change("delete", { path: at("News/Rain.aspx") });
    await crawl("a page deleted");
    await tenant.change("restore", { uniqueId });
    await crawl("a page restored");

    const body = await tenant.change("edit-page", { path: at("Home.aspx"), text: "<p>The numbat is back.</p>" });
    await tenant.change("publish-page", { path: at("Home.aspx") });
    await tenant.fault({ url: `${String(body["uniqueId"])}|Home\\.aspx|items\\(\\d+\\)` }, { status: 403, body: "{}" });
    await crawl("a page that cannot be read");
    await tenant.heal();
    await crawl("it can be read again");
    await tenant.change("edit-page", { path: at("Draft.aspx"), text: "" });
    await tenant.change("publish-page", { path: at("Draft.aspx") });
    await crawl("a page without text");
    const folder = join(stage.storage, "crawler/PORTAL/03_sitepages/pages");
    await rm(join(folder, "vectorstore_map.csv"));
    await rm(join(folder, "files_map.csv"));
    await crawl("B6 two maps removed");
    await writeFile(join(folder, "files_map.csv"), "no map at all");
    await crawl("B7 files_map.csv is something else");
    await crawl("mode full", "mode=full");
  },
};
