import { mkdir, rm } from "node:fs/promises";
import type { History } from "../history.ts";
import { Share } from "../share.ts";

export const generationsHistory: History = {
  name: "generations",
  async play(stage) {
    const share = new Share(stage.beside("share"));
    await mkdir(share.root);
    await stage.serve();
    stage.act("a domain of one folder");
    const domain = { domain_id: "TIMES", name: "Times", folder_sources: [{ source_id: "notes", root: share.root }] };
    await stage.quietly("POST /v2/domains/create", { json: domain });
    const crawl = (title: string): Promise<void> => stage.actCrawl(title, "TIMES", ["lemur"]);
    await share.write("lemur.md", "A lemur sits in the sun.");
    await share.write("loris.md", "A loris is slow.");
    await crawl("the first generation");
    await share.write("lemur.md", "The lemur moved into the shade.");
    await share.write("tarsier.md", "A tarsier looks at the lemur.");
    await crawl("the second");
    await rm(share.at("loris.md"));
    await crawl("the third");
    await stage.ask("GET /v2/domains/generations?domain_id=TIMES&format=json");
    await stage.ask("GET /v2/domains/generations/difference?domain_id=TIMES&from=1&to=3&format=json");
    await stage.ask("GET /v2/domains/generations/difference?domain_id=TIMES&from=1&to=9&format=json");

    stage.act("rolled back");
    await stage.ask("POST /v2/domains/generations/rollback?domain_id=TIMES&generation=1&dry_run=true");
    await stage.ask("POST /v2/domains/generations/rollback?domain_id=TIMES&generation=1");
    await stage.ask("POST /v2/domains/generations/rollback?domain_id=TIMES&generation=77");
    await stage.search("TIMES", "lemur", "loris");
    await share.write("indri.md", "An indri sings to the lemur.");
    await crawl("crawled while rolled back");
    await stage.ask("GET /v2/domains/generations?domain_id=TIMES&format=json");
    stage.act("released");
    await stage.ask("POST /v2/domains/generations/release?domain_id=TIMES&dry_run=true");
    await stage.ask("POST /v2/domains/generations/release?domain_id=TIMES");
    await stage.search("TIMES", "lemur");
    await crawl("crawled");
    await stage.ask("GET /v2/domains/generations?domain_id=TIMES&format=json");
  },
};
