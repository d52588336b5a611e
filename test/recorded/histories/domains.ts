import { mkdir } from "node:fs/promises";
import type { History } from "../history.ts";
import { Share } from "../share.ts";
import { Tenant } from "../tenant.ts";

/** A domain of three kinds is made, changed, renamed and deleted. */
export const domainsHistory: History = {
  name: "domains",
  async play(stage) {
    const tenant = await Tenant.open(stage);
    const share = new Share(stage.beside("share"));
    await mkdir(share.root);
    await share.write("lemur.md", "A lemur sits in the sun.");
    await tenant.change("add", { path: "Travel/policy.txt", text: "A hotel night is approved by the zebra desk." });
    await tenant.change("add-list", { path: "/sites/demo/Lists/Tasks", title: "Tasks" });
    await tenant.change("add-item", { list: "/sites/demo/Lists/Tasks", values: { Title: "Feed the wombat" } });
    const docs = { source_id: "docs", site_url: tenant.siteUrl, sharepoint_url_part: "/Shared Documents", filter: "" };
    const tasks = { source_id: "tasks", site_url: tenant.siteUrl, list_name: "Tasks", filter: "" };
    const notes = { source_id: "notes", root: share.root };
    const words = ["zebra", "wombat", "lemur"];

    stage.act("bad input");
    const wrong = [
      {},
      { domain_id: "../x", name: "X" },
      { domain_id: "D", name: "D", file_sources: [{ source_id: "a b" }] },
    ];
    for (const json of [...wrong, { domain_id: "D", name: "D", schedule: "at night" }, { domain_id: "D", name: 1 }]) {
      await stage.ask("POST /v2/domains/create", { json });
    }
    await stage.ask("POST /v2/domains/create", {
      json: { domain_id: "D", name: "D", folder_sources: [{ source_id: "s" }] },
    });
    await stage.ask("GET /v2/domains/get?domain_id=NOBODY&format=json");
    await stage.ask("PUT /v2/domains/update?domain_id=NOBODY", { json: { name: "N" } });
    await stage.ask("DELETE /v2/domains/delete?domain_id=NOBODY");
    await stage.ask("GET /v2/crawler/crawl?domain_id=NOBODY&format=json");
    await stage.ask("GET /v2/crawler/crawl?domain_id=D&mode=fast&format=json");

    stage.act("a domain is made");
    const domain = { domain_id: "FIRST", name: "First", description: "Of three kinds.", file_sources: [docs] };
    await stage.ask("POST /v2/domains/create?dry_run=true", { json: domain });
    await stage.ask("POST /v2/domains/create", { json: domain });
    await stage.ask("POST /v2/domains/create", { json: domain });
    await stage.ask("GET /v2/domains/check?domain_id=FIRST&format=json");
    await stage.actCrawl("crawled", "FIRST", words);
    stage.act("two sources more");
    const more = { list_sources: [tasks], folder_sources: [notes], schedule: "0 2 * * *" };
    await stage.ask("PUT /v2/domains/update?domain_id=FIRST", { json: more });
    await stage.actCrawl("crawled", "FIRST", words);
    await stage.actCrawl("only the lists", "FIRST", [], "mode=incremental&scope=lists");
    await stage.actCrawl("only one source", "FIRST", [], "mode=incremental&source_id=notes");
    await stage.actCrawl("a source that is not there", "FIRST", [], "mode=incremental&source_id=nobody");
    await stage.ask("GET /v2/domains?format=json");
    await stage.tree();

    stage.act("renamed, as a dry run");
    await stage.ask("PUT /v2/domains/update?domain_id=FIRST&dry_run=true", { json: { domain_id: "SECOND" } });
    stage.act("renamed");
    await stage.ask("PUT /v2/domains/update?domain_id=FIRST", { json: { domain_id: "SECOND" } });
    await stage.look("SECOND");
    await stage.search("SECOND", ...words);
    await stage.tree();
    await stage.actCrawl("crawled: nothing changed", "SECOND", words);
    stage.act("a source taken out");
    await stage.ask("PUT /v2/domains/update?domain_id=SECOND", { json: { list_sources: [] } });
    await stage.actCrawl("crawled", "SECOND", words);
    await stage.tree();

    stage.act("deleted, as a dry run");
    await stage.ask("DELETE /v2/domains/delete?domain_id=SECOND&mode=with_vector_store&dry_run=true");
    stage.act("deleted");
    await stage.ask("DELETE /v2/domains/delete?domain_id=SECOND&mode=with_vector_store");
    await stage.tree();
    await stage.ask("GET /v2/inventory/vector_stores?format=json");
    await stage.search("SECOND", "zebra");
    await stage.ask("GET /v2/jobs?format=json&limit=3");
  },
};
