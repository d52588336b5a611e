import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { History } from "../history.ts";
import { Share } from "../share.ts";
import type { RecordedStage } from "../stage.ts";

const WORDS = ["otter", "heron"];

async function open(stage: RecordedStage): Promise<Share> {
  const share = new Share(stage.beside("share"));
  await mkdir(share.root);
  await stage.serve();
  stage.act("a domain of one folder");
  const source = { source_id: "notes", root: share.root, exclude: ["*.tmp"], max_removals: 2 };
  const domain = { domain_id: "NOTES", name: "Notes", description: "", folder_sources: [source] };
  await stage.ask("POST /v2/domains/create", { json: domain });
  await share.write("otters.md", "# Otters\n\nAn otter holds hands while it sleeps.");
  await share.write("birds/heron.txt", "A heron stands in the reed.");
  await share.write("birds/egret.txt", "An egret is a white heron.");
  await share.write("scratch.tmp", "Not an otter.");
  return share;
}

async function documents(stage: RecordedStage): Promise<void> {
  await stage.ask("GET /v2/documents?domain_id=NOTES&format=json");
}

export const folderHistory: History = {
  name: "folder",
  async play(stage) {
    const share = await open(stage);
    const crawl = (title: string, wishes?: string): Promise<void> => stage.actCrawl(title, "NOTES", WORDS, wishes);
    await crawl("the first crawl, as a dry run", "mode=full&dry_run=true");
    await crawl("the first crawl");
    await crawl("nothing changed");
    await share.write("birds/stork.md", "A stork is no heron.");
    await crawl("a file added");
    await share.write("otters.md", "# Otters\n\nAn otter holds hands with another otter.");
    await crawl("a file edited");
    await share.move("birds/heron.txt", "birds/grey heron.txt");
    await crawl("a file renamed");
    await share.move("birds", "wings");
    await crawl("a folder renamed");
    await share.move("wings/egret.txt", "swap");
    await share.move("otters.md", "wings/egret.txt");
    await share.move("swap", "otters.md");
    await crawl("two files swapped");
    await share.copy("wings/stork.md", "wings/stork (copy).md");
    await crawl("a file copied");
    const text = await readFile(share.at("wings/stork.md"));
    await rm(share.at("wings/stork.md"));
    await crawl("a file deleted");
    await documents(stage);
    await share.write("wings/stork.md", text);
    await crawl("a file restored");
    await documents(stage);
    await crawl("mode full, with checksums", "mode=full&checksum=true");

    stage.act("documents, one by one");
    await stage.ask("GET /v2/documents/get?domain_id=NOTES&document=wings/egret.txt&format=json");
    await stage.ask("GET /v2/documents/version?domain_id=NOTES&document=wings/egret.txt&version_id=v1&format=json");
    await stage.ask("GET /v2/documents/version?domain_id=NOTES&document=wings/egret.txt&format=raw");
    await stage.ask("GET /v2/documents/difference?domain_id=NOTES&document=wings/egret.txt&from=v1&to=v2&format=json");
    await stage.ask("GET /v2/documents/get?domain_id=NOTES&document=nobody.md&format=json");
    await stage.ask("GET /v2/search/explain?domain_id=NOTES&query=heron&document=wings/stork.md&format=json");
    await stage.ask("GET /v2/domains/check?domain_id=NOTES&format=json");
  },
};

export const folderTroubleHistory: History = {
  name: "folder-trouble",
  async play(stage) {
    const share = await open(stage);
    const folder = join(stage.storage, "crawler/NOTES/05_folders/notes");
    const crawl = (title: string, wishes?: string): Promise<void> => stage.actCrawl(title, "NOTES", WORDS, wishes);
    await crawl("the first crawl");
    await share.write("broken.pdf", "no pdf at all");
    await share.write("empty.md", "");
    await crawl("a file that cannot be read, and one without text");
    await share.write("broken.pdf", "still no pdf");
    await share.write("empty.md", "Now an otter is in it.");
    await crawl("one still cannot be read, one has text now");
    await rename(share.root, `${share.root}-away`);
    await crawl("the folder is not there");
    await documents(stage);
    await rename(`${share.root}-away`, share.root);
    await crawl("it is back");
    for (const map of ["sharepoint_map", "files_map", "vectorstore_map"])
      await rm(join(folder, `${map}.csv`), { force: true });
    await crawl("the maps removed");
    await writeFile(join(folder, "files_map.csv"), "no map at all");
    await crawl("files_map.csv is something else");
    await rm(join(folder, "manifest.json"));
    await crawl("manifest.json removed");
    await rm(join(folder, "02_embedded/otters.md"));
    await writeFile(join(folder, "02_embedded/orphan.txt"), "The orphan speaks of otters.");
    await crawl("the mirror: a file missing, one too many");
    for (const path of ["otters.md", "birds/heron.txt", "birds/egret.txt", "broken.pdf"]) await rm(share.at(path));
    await crawl("many files deleted: held");
    await crawl("and confirmed", "mode=incremental&confirm_deletes=true");
    await crawl("missing for a second run");
    stage.clock.skipDays(3);
    await crawl("three days later, the grace is over");
    await documents(stage);
    stage.act("maintenance, as a dry run");
    await stage.job("/v2/maintenance?domain_id=NOTES&dry_run=true");
    stage.clock.skipDays(60);
    stage.act("maintenance, two months later");
    await stage.job("/v2/maintenance?domain_id=NOTES");
    await stage.look("NOTES");
    await documents(stage);
  },
};
