import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { History } from "../history.ts";
import { Tenant } from "../tenant.ts";

const LIST = "/sites/demo/Lists/Tasks";
const WORDS = ["wombat", "lighthouse"];

export const listHistory: History = {
  name: "list",
  async play(stage) {
    const tenant = await Tenant.open(stage);
    const crawl = (title: string, wishes?: string): Promise<void> => stage.actCrawl(title, "TASKS", WORDS, wishes);
    const list = (operation: string, fields: object): Promise<object> =>
      tenant.change(operation, { list: LIST, ...fields });
    await plant(tenant);
    stage.act("a domain of one list");
    const source = { source_id: "tasks", site_url: tenant.siteUrl, list_name: "Project Tasks", filter: "" };
    const domain = { domain_id: "TASKS", name: "Tasks", description: "", list_sources: [source] };
    await stage.ask("POST /v2/domains/create", { json: domain });

    await crawl("the first crawl, as a dry run", "mode=full&dry_run=true");
    await crawl("the first crawl");
    await crawl("nothing changed");
    await list("add-item", {
      values: { Title: "Polish the lighthouse", Status: "Active", Details: "Twice, with wax." },
    });
    await crawl("a row added");
    await list("update-item", { id: 1, values: { Title: "Paint the lighthouse", Details: 'In "red", not blue' } });
    await crawl("a row edited");
    await list("add-column", { name: "Due", type: "DateTime" });
    await list("update-item", { id: 3, values: { Due: "2024-07-01T00:00:00Z" } });
    await crawl("a column added");
    await list("add-attachment", { id: 1, name: "colours.txt", text: "Red as a wombat's scarf." });
    await list("remove-attachment", { id: 2, name: "diet.txt" });
    await crawl("an attachment added, another removed");
    await list("delete-item", { id: 2 });
    await crawl("a row deleted");
    await list("restore-item", { id: 2 });
    await crawl("a row restored");

    await list("delete-item", { id: 3 });
    await tenant.fault({ url: "/items\\?|RenderList|GetChanges" }, { dropRows: 1 });
    await crawl("a listing that lacks a row", "mode=full");
    await tenant.heal();
    await crawl("the listing is complete again");
    const folder = join(stage.storage, "crawler/TASKS/02_lists/tasks");
    await rm(join(folder, "files_map.csv"));
    await crawl("B6 files_map.csv removed");
    await writeFile(join(folder, "sharepoint_map.csv"), "no map at all");
    await crawl("B7 sharepoint_map.csv is something else");
    await rm(join(folder, "01_originals"), { recursive: true });
    await crawl("the export removed");
    await crawl("mode full", "mode=full");
  },
};

async function plant(tenant: Tenant): Promise<void> {
  await tenant.change("add-list", {
    path: LIST,
    title: "Project Tasks",
    columns: [
      { name: "Status", type: "Choice", choices: ["Active", "Done"] },
      { name: "Details", type: "Note" },
    ],
  });
  for (const title of ["Paint the shed", "Feed the wombat", "Sharpen pencils"]) {
    await tenant.change("add-item", { list: LIST, values: { Title: title, Status: "Active" } });
  }
  const text = "A wombat eats two kilos of grass.";
  await tenant.change("add-attachment", { list: LIST, id: 2, name: "diet.txt", text });
}
