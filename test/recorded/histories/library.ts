import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { History } from "../history.ts";
import type { RecordedStage } from "../stage.ts";
import { Tenant } from "../tenant.ts";

const WORDS = ["zebra", "quagga", "okapi"];

export const libraryHistory: History = {
  name: "library",
  async play(stage) {
    const tenant = await Tenant.open(stage);
    const { crawlAndLook } = actsOf(stage);
    await open(stage, tenant);

    await plant(tenant);
    await crawlAndLook("the first crawl, as a dry run", "mode=full&dry_run=true");
    await crawlAndLook("the first crawl");
    await crawlAndLook("nothing changed");

    await tenant.change("add", {
      path: "Travel/visa.txt",
      text: "A visa for Botswana is asked for by the zebra desk.",
    });
    await crawlAndLook("a file added, as a dry run", "mode=incremental&dry_run=true");
    await crawlAndLook("a file added");
    await tenant.change("update", { path: "Travel/old.md", text: "# Retired\n\nThe quagga rule came back in 2024." });
    await crawlAndLook("a file edited");
    await tenant.change("rename", { path: "handbook.html", name: "manual, 2nd edition.html" });
    await crawlAndLook("a file renamed");
    await tenant.change("move", { path: "Travel/visa.txt", to: "Abroad/visa.txt" });
    await crawlAndLook("a file moved");
    await tenant.change("rename", { path: "Travel", name: "Journeys" });
    await crawlAndLook("a folder renamed");
    const { uniqueId } = await tenant.change("delete", { path: "Journeys/policy.txt" });
    await crawlAndLook("a file deleted");
    await tenant.change("restore", { uniqueId });
    await crawlAndLook("a file restored");
    await crawlAndLook("mode full, nothing changed", "mode=full");
    await stage.ask("GET /v2/reports?format=json");
  },
};

export const libraryTroubleHistory: History = {
  name: "library-trouble",
  async play(stage) {
    const tenant = await Tenant.open(stage);
    const { crawlAndLook } = actsOf(stage);
    await open(stage, tenant, { max_removals: 2 });
    await plant(tenant);
    await crawlAndLook("the first crawl");

    const { uniqueId } = await tenant.change("add", { path: "locked.txt", text: "The zebra clause is locked." });
    await tenant.fault({ url: String(uniqueId) }, { status: 403, body: "{}" });
    await crawlAndLook("a file that cannot be downloaded");
    await tenant.heal();
    await crawlAndLook("it can be downloaded again");

    await tenant.change("add", { path: "report.pdf", text: "no pdf at all" });
    await tenant.change("add", { path: "empty.txt", text: "" });
    await tenant.change("add", { path: "blank.md", text: " \n\n " });
    await tenant.change("add", { path: "picture.xyz", text: "of a type that nobody reads" });
    await crawlAndLook("a file that cannot be read, two without text, one of an unknown type");
    await crawlAndLook("nothing changed");
    await crawlAndLook("what failed is tried again", "mode=incremental&retry_failed=true");
    await tenant.change("update", { path: "report.pdf", text: "still no pdf" });
    await tenant.change("update", { path: "empty.txt", text: "Now the okapi says something." });
    await crawlAndLook("one is edited and still cannot be read, one has text now");

    await tenant.change("delete", { path: "Travel/old.md" });
    await tenant.fault({ url: "/items\\?|RenderList|GetChanges|delta" }, { dropRows: 2 });
    await crawlAndLook("a listing that lacks rows");
    await tenant.heal();
    await tenant.fault({ url: "/items\\?|RenderList|GetChanges|delta" }, { status: 400, body: "{}" });
    await crawlAndLook("a listing that fails", "mode=full");
    await tenant.heal();
    await crawlAndLook("the listing is complete again");

    for (const path of ["Travel/policy.txt", "handbook.html", "locked.txt", "empty.txt"]) {
      await tenant.change("delete", { path });
    }
    await crawlAndLook("many files deleted: held");
    await crawlAndLook("and confirmed", "mode=incremental&confirm_deletes=true");
  },
};

export const libraryMapsHistory: History = {
  name: "library-maps",
  async play(stage) {
    const tenant = await Tenant.open(stage);
    const { crawlAndLook } = actsOf(stage);
    await open(stage, tenant);
    await plant(tenant);
    await crawlAndLook("the first crawl");
    const folder = join(stage.storage, "crawler/DOCS/01_files/docs");
    const at = (name: string): string => join(folder, name);
    const edit = async (name: string, change: (text: string) => string): Promise<void> =>
      writeFile(at(name), change(await readFile(at(name), "utf8")));

    for (const map of ["sharepoint_map", "files_map", "vectorstore_map"]) {
      await rm(at(`${map}.csv`));
      await crawlAndLook(`B6 ${map}.csv removed`);
    }
    for (const map of ["sharepoint_map", "files_map", "vectorstore_map"]) {
      await edit(`${map}.csv`, (text) => text.slice(0, Math.floor(text.length / 2)));
      await crawlAndLook(`B7 ${map}.csv cut in the middle`);
      await writeFile(at(`${map}.csv`), "\0\0no map at all");
      await crawlAndLook(`B7 ${map}.csv is something else`);
    }
    const without = (word: string) => (text: string) =>
      text
        .split("\r\n")
        .filter((row) => !row.includes(word))
        .join("\r\n");
    await edit("files_map.csv", without("policy.txt"));
    await crawlAndLook("a row taken out of files_map.csv");
    await edit("vectorstore_map.csv", without("policy.txt"));
    await crawlAndLook("a row taken out of vectorstore_map.csv");
    await edit("files_map.csv", (text) => text.replace(/,44,2024-03-01T\d\d:/, ",43,2023-03-01T10:"));
    await crawlAndLook("a row of files_map.csv edited: another size and time");

    await rm(at("02_embedded/Travel/policy.txt"));
    await writeFile(at("02_embedded/orphan.txt"), "The orphan speaks of okapis.");
    await writeFile(at("02_embedded/handbook.html"), "<p>A zebra was here.</p>");
    await crawlAndLook("B1, B2, B4 the mirror: a file missing, one too many, one overwritten");
    await rm(folder, { recursive: true });
    await crawlAndLook("the source's folder removed");
    await rm(join(stage.storage, "domains/DOCS/files_metadata.json"));
    await crawlAndLook("files_metadata.json removed");
    await crawlAndLook("and mode full", "mode=full");
    await edit("../../../../domains/DOCS/files_metadata.json", (text) =>
      text.replace('"filename": "policy.txt"', '"filename": "policy.txt",\n    "owner": "Ann", "labels": ["a", "b"]'),
    );
    await tenant.change("rename", { path: "Travel/policy.txt", name: "rules.txt" });
    await crawlAndLook("a user's properties in files_metadata.json, and the file renamed");
    await tenant.change("update", {
      path: "Travel/rules.txt",
      text: "Hotels are approved by the zebra desk, since May.",
    });
    await crawlAndLook("and edited");
  },
};

export const libraryStepsHistory: History = {
  name: "library-steps",
  async play(stage) {
    const tenant = await Tenant.open(stage);
    await open(stage, tenant);
    await plant(tenant);
    const step = async (title: string, wishes: string, verb: string): Promise<void> => {
      stage.act(title);
      await stage.crawl("DOCS", wishes, verb);
      await stage.look("DOCS");
    };
    await step("download, as a dry run", "dry_run=true", "download_data");
    await step("download", "mode=incremental", "download_data");
    await step("process", "mode=incremental", "process_data");
    await step("embed, as a dry run", "mode=incremental&dry_run=true", "embed_data");
    await step("embed", "mode=incremental", "embed_data");
    await tenant.change("delete", { path: "Travel/old.md" });
    await tenant.change("rename", { path: "handbook.html", name: "manual.html" });
    await step("download what changed", "mode=incremental", "download_data");
    await stage.search("DOCS", ...WORDS);
    await step("embed what changed", "mode=incremental", "embed_data");
    await stage.search("DOCS", ...WORDS);
    await step("embed everything", "mode=full", "embed_data");
    stage.act("embed into another store");
    const { json } = await stage.quietly("POST /v2/inventory/vector_stores/create", { json: { name: "other" } });
    await stage.crawl("DOCS", `mode=incremental&vector_store_id=${json["data"]?.["id"]}`, "embed_data");
    await stage.look("DOCS");
    await stage.ask(`GET /v2/inventory/vector_stores/files?vector_store_id=${json["data"]?.["id"]}&format=json`);
  },
};

async function open(stage: RecordedStage, tenant: Tenant, more: object = {}): Promise<void> {
  stage.act("a domain of one library");
  const library = { site_url: tenant.siteUrl, sharepoint_url_part: "/Shared Documents", filter: "" };
  const file_sources = [{ source_id: "docs", ...library, ...more }];
  const domain = { domain_id: "DOCS", name: "Documents", description: "What the company wrote down.", file_sources };
  await stage.ask("POST /v2/domains/create", { json: domain });
}

async function plant(tenant: Tenant): Promise<void> {
  await tenant.change("add", { path: "Travel/policy.txt", text: "A hotel night is approved by the zebra desk." });
  await tenant.change("add", { path: "Travel/old.md", text: "# Retired\n\nThe quagga rule was abolished in 2019." });
  const page = "<h1>Handbook</h1><p>The okapi team answers questions about pay.</p>";
  await tenant.change("add", { path: "handbook.html", text: page });
}

function actsOf(stage: RecordedStage) {
  return {
    crawlAndLook: (title: string, wishes?: string): Promise<void> => stage.actCrawl(title, "DOCS", WORDS, wishes),
  };
}
