import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { startAzurite } from "../../azurite.ts";
import { openBlobWorld } from "../../sources/blob-world.ts";
import type { History } from "../history.ts";

const WORDS = ["ibex", "marmot"];
/** Named by the domain, held by the environment. */
const VARIABLE = "LOCKSTEP_RECORDED_BLOBS";

export const blobsHistory: History = {
  name: "blobs",
  isApart: true,
  async play(stage) {
    const azurite = await startAzurite();
    stage.atEnd(() => azurite.stop());
    const { container, put, sas } = await openBlobWorld(azurite.connectionString, "recorded");
    stage.normaliser.place(new URL(container.url).origin, "http://blobs.example");
    process.env[VARIABLE] = await sas(new Date("2099-01-01T00:00:00Z"));
    stage.atEnd(async () => void delete process.env[VARIABLE]);
    await stage.serve();
    const crawl = (title: string, wishes?: string): Promise<void> => stage.actCrawl(title, "BOXES", WORDS, wishes);
    /** The service keeps times to the second, in a time of its own: a blob that is put again is to have another one. */
    const putLater = async (name: string, text: string, than: Date): Promise<void> => {
      for (;;) {
        await put(name, text);
        if ((await changedAt(name)) > than) return;
        await setTimeout(20);
      }
    };
    const changedAt = async (name: string): Promise<Date> =>
      (await container.getBlobClient(name).getProperties()).lastModified ?? new Date(0);
    await put("docs/ibex.md", "# Ibex\n\nAn ibex climbs where no marmot goes.");
    await put("docs/low/marmot.txt", "A marmot whistles.");
    await put("docs/low/vole.txt", "A vole is small.");
    await put("elsewhere.md", "No ibex here.");
    stage.act("a domain of one container");
    const source = { source_id: "box", container_url: container.url, prefix: "docs/", credential: VARIABLE };
    const domain = { domain_id: "BOXES", name: "Boxes", description: "", blob_sources: [source] };
    await stage.ask("POST /v2/domains/create", { json: domain });

    await crawl("the first crawl, as a dry run", "mode=full&dry_run=true");
    await crawl("the first crawl");
    await crawl("nothing changed");
    await put("docs/new.txt", "A second marmot whistles back.");
    await crawl("a blob added");
    await put("docs/ibex.md", "# Ibex\n\nThe ibex came down.");
    await crawl("a blob edited");
    await putLater("docs/high/marmot.txt", "A marmot whistles.", await changedAt("docs/low/marmot.txt"));
    await container.deleteBlob("docs/low/marmot.txt");
    await crawl("a blob renamed");
    const addedAt = await changedAt("docs/new.txt");
    await container.deleteBlob("docs/new.txt");
    await crawl("a blob deleted");
    await putLater("docs/new.txt", "A second marmot whistles back.", addedAt);
    await crawl("a blob restored");
    await put("docs/broken.pdf", "no pdf at all");
    await put("docs/empty.md", "");
    await crawl("a blob that cannot be read, and one without text");
    await container.getBlobClient("docs/low/vole.txt").setAccessTier("Archive");
    await crawl("an archived blob");
    await stage.ask("GET /v2/documents?domain_id=BOXES&format=json");
    await container.getBlobClient("docs/low/vole.txt").setAccessTier("Hot");
    await crawl("it is back");
    const right = process.env[VARIABLE];
    process.env[VARIABLE] = "?sv=2024-11-04&sig=wrong";
    await crawl("a wrong signature");
    process.env[VARIABLE] = right;
    const folder = join(stage.storage, "crawler/BOXES/06_blobs/box");
    for (const map of ["sharepoint_map", "files_map", "vectorstore_map"])
      await rm(join(folder, `${map}.csv`), { force: true });
    await crawl("the maps removed");
    await crawl("mode full", "mode=full");
    await stage.ask("GET /v2/domains/check?domain_id=BOXES&format=json");
  },
};
