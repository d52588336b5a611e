import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseDomainId } from "../../../src/contracts/ids.ts";
import { openTestLedgers } from "../../ledger/open-test-ledgers.ts";
import { html, linksTo, redirect } from "../../sources/web-visit-world.ts";
import type { KillPoint } from "./fixture-child.ts";
import { DOMAIN, isMade, Maker } from "./maker.ts";
import { ContainerPlace, FolderPlace, SitePlace, TenantPlace } from "./source-state.ts";
import { StoreService } from "./store-service.ts";

const LIBRARY = "/sites/demo/Shared Documents";
const OLD = "# Old\n\nThe quagga rule.";
const NOW = "2026-11-18T09:00:00.000Z";

/** One for each kind of source: what happens to it, and when whoever crawls it is killed. */
const RECIPES: Readonly<Record<string, () => Promise<void>>> = {
  library,
  folder,
  list,
  pages,
  site,
  remote,
  addresses,
  container,
};

type Moment = [name: string, about: string, kill: KillPoint];

function dayMs(day: string): number {
  return Date.parse(`2026-${day}T10:00:00Z`);
}

function emptyDomain(sources: object): Record<string, unknown> {
  return { name: "Earlier", description: "", vector_store_name: "earlier", vector_store_id: "", ...sources };
}

async function library(): Promise<void> {
  const place = await TenantPlace.open();
  const act = (operation: string, path: string, fields: object, day: string): void =>
    place.act({ operation, path: `${LIBRARY}/${path}`, ...fields, at: `2026-0${day}T10:00:00Z` });
  const maker = await Maker.open(place, { now: NOW, settings: { SWAP_KEEP_DAYS: "365" } });
  const source = { source_id: "docs", site_url: place.sandbox.siteUrl, sharepoint_url_part: "/Shared Documents" };
  act("add", "Travel/policy.txt", { text: "A hotel night is approved by the zebra desk." }, "1-05");
  act("add", "Travel/old.md", { text: "# Retired\n\nThe quagga rule was abolished in 2019." }, "1-05");
  act("add", "handbook.html", { text: "<h1>Handbook</h1><p>The okapi team answers questions about pay.</p>" }, "1-06");
  act("add", "notes.txt", { text: "Notes about the gnu." }, "1-06");
  act("add", "Plans/plan.md", { text: "# Plan\n\nA wombat for every desk." }, "1-07");
  act("add", "empty.txt", { text: "" }, "1-07");
  act("add", "broken.pdf", { text: "no PDF at all" }, "1-08");
  act("add", "photo.png", { text: "no document" }, "1-08");
  await maker.run({ create: emptyDomain({ schedule: "0 2 * * *", file_sources: [source] }) });
  const [superseded] = await storesOf(maker);
  await maker.run({ crawl: { mode: "full", swap: true } });
  await note(maker, "policy.txt", { reviewed_by: "Ann", grade: 7 });
  act("update", "Travel/policy.txt", { text: "A hotel night is approved by the zebra desk and the lemur." }, "2-01");
  act("rename", "notes.txt", { name: "memo.txt" }, "2-02");
  act("move", "Plans/plan.md", { to: `${LIBRARY}/Archive/plan.md` }, "2-03");
  act("delete", "Travel/old.md", {}, "2-04");
  await maker.run({});
  await maker.run({});
  const words = ["zebra", "lemur", "quagga", "okapi", "gnu", "wombat", "tapir", "yak"];
  const properties = { lemur: { reviewed_by: "Ann", grade: 7 } };
  await maker.write({
    name: "library-idle",
    about: "A library after edits, a rename, a move and a removal; its vector store replaced another one.",
    idle: true,
    ...{ words, properties, superseded: [superseded ?? ""], settings: { SWAP_KEEP_DAYS: "0" } },
  });

  const back = await maker.remember();
  act("update", "handbook.html", { text: "<h1>Handbook</h1><p>The tapir team answers now.</p>" }, "3-01");
  act("rename", "memo.txt", { name: "memo 2.txt" }, "3-02");
  act("move", "Archive/plan.md", { to: `${LIBRARY}/plan.md` }, "3-02");
  act("delete", "empty.txt", {}, "3-03");
  act("add", "new.md", { text: "# New\n\nA yak joined." }, "3-04");
  const moments: Moment[] = [
    ["moving", "killed between the two halves of a move", { before: "rename", matching: "02_embedded/memo 2" }],
    [
      "downloading",
      "killed with rows in the journal, when a file had just been fetched",
      { before: "log", matching: "Downloaded 'new.md'" },
    ],
    [
      "folding",
      "killed when one map file had its rows and the others had not",
      { before: "rename", matching: "/files_map\\.csv$" },
    ],
    ["indexing", "killed while files were indexed", { before: "log", matching: "Indexing", nth: 2 }],
    [
      "indexed",
      "killed when the index had the documents and vectorstore_map.csv had not",
      { before: "rename", matching: "/vectorstore_map\\.csv$" },
    ],
    [
      "noting",
      "killed before files_metadata.json had the new documents",
      { before: "rename", matching: "/files_metadata\\.json$" },
    ],
  ];
  for (const [name, about, kill] of moments) {
    await maker.killed(
      { name: `library-${name}`, about: `A library whose crawl was ${about}.`, words, properties },
      kill,
    );
    await back();
  }
  const checkedAt = new Date("2026-11-17T12:00:00Z");
  const ledgers = openTestLedgers(join(maker.storage, "crawler"));
  await ledgers.schedules.put(parseDomainId(DOMAIN), { schedule: "0 2 * * *", checkedAt });
  await ledgers.close();
  await maker.killed(
    {
      name: "library-renaming",
      due: true,
      about: "A library whose domain was being renamed.",
      words,
      properties,
      domainId: "LATER",
    },
    { before: "log", matching: ".", nth: 3 },
    { renameTo: "LATER" },
  );
  await maker.close();
}

const FOLDER_WORDS = ["zebra", "lemur", "quagga", "gnu", "wombat", "tapir", "yak"];

async function folder(): Promise<void> {
  const place = await FolderPlace.open();
  const maker = await Maker.open(place, { now: NOW });
  await place.write("manual.md", "# Manual\n\nThe zebra runs.", dayMs("01-05"));
  await place.write("a/notes.txt", "Notes about the gnu.", dayMs("01-05"));
  await place.write("a/plan.md", "# Plan\n\nA wombat for every desk.", dayMs("01-06"));
  await place.write("old.md", OLD, dayMs("01-06"));
  await place.write("empty.txt", "", dayMs("01-07"));
  await place.write("broken.pdf", "no PDF at all", dayMs("01-07"));
  await maker.run({ create: emptyDomain({ folder_sources: [{ source_id: "docs", root: place.root }] }) });
  const old = await maker.rowOf("05_folders/docs", "old.md");
  const missing = {
    ...{ path: "old.md", text: OLD, word: "quagga" },
    docId: old["sharepoint_unique_file_id"] ?? "",
  };
  await note(maker, "manual.md", { reviewed_by: "Ann" });
  await place.write("manual.md", "# Manual\n\nThe zebra runs with the lemur.", dayMs("02-01"));
  await place.rename("a/notes.txt", "a/memo.txt");
  await place.rename("a/plan.md", "b/plan.md");
  await place.remove("old.md");
  await maker.run({});
  await maker.run({});
  const told = { words: FOLDER_WORDS, properties: { lemur: { reviewed_by: "Ann" } }, missing };
  await maker.write({
    name: "folder-idle",
    about: "A folder after an edit, a rename, a move, and a removal that is not long ago.",
    ...{ idle: true, ...told, versions: { "manual.md": 2 } },
  });

  const back = await maker.remember();
  await place.write("manual.md", "# Manual\n\nThe zebra runs with the tapir.", dayMs("03-01"));
  await place.rename("a/memo.txt", "b/memo.txt");
  await place.remove("empty.txt");
  await place.write("new.md", "# New\n\nA yak joined.", dayMs("03-04"));
  const moments: Moment[] = [
    [
      "identified",
      "killed with lines in the manifest's journal, before anything was fetched",
      { before: "log", matching: "^Listed" },
    ],
    [
      "journal",
      "killed in the middle of a line of the manifest's journal",
      { before: "write", matching: "/manifest\\.journal$" },
    ],
    [
      "snapshot",
      "killed when half of a new manifest was written",
      { before: "write", matching: "/manifest\\.json\\..*tmp$" },
    ],
    [
      "replacing",
      "killed when the new manifest was to take its place",
      { before: "rename", matching: "/manifest\\.json$" },
    ],
    [
      "downloading",
      "killed with rows in the journal, when a file had just been fetched",
      { before: "log", matching: "Downloaded 'new.md'" },
    ],
    [
      "keeping",
      "killed while one text took the place of another",
      { before: "rename", matching: "/documents/doc_[0-9a-f]+$" },
    ],
    [
      "indexed",
      "killed when the index had the documents and vectorstore_map.csv had not",
      { before: "rename", matching: "/vectorstore_map\\.csv$" },
    ],
  ];
  for (const [name, about, kill] of moments) {
    const properties = { tapir: { reviewed_by: "Ann" } };
    await maker.killed(
      { name: `folder-${name}`, about: `A folder whose crawl was ${about}.`, ...told, properties },
      kill,
    );
    await back();
  }
  await maker.run({});
  for (let run = 0; run < 3; run++) await maker.run({});
  maker.nowMs += 25 * 3600_000;
  await maker.killed(
    {
      name: "folder-purging",
      about: "A folder whose crawl was killed while it purged what was missing for too long.",
      words: FOLDER_WORDS,
    },
    { before: "rm", matching: "\\.gone$" },
  );
  await maker.close();
}

async function list(): Promise<void> {
  const place = await TenantPlace.open();
  const maker = await Maker.open(place, { now: NOW });
  const list = "/sites/demo/Lists/Tasks";
  const act = (operation: string, fields: object, day: string): void =>
    place.act({ operation, list, ...fields, at: `2026-${day}T10:00:00Z` });
  place.act({
    operation: "add-list",
    path: list,
    title: "Tasks",
    columns: [{ name: "Notes" }],
    at: "2026-01-01T10:00:00Z",
  });
  act("add-item", { values: { Title: "Feed the zebra", Notes: "Twice a day." } }, "01-05");
  act("add-item", { values: { Title: "Count the gnu" } }, "01-05");
  act("add-item", { values: { Title: "Retire the quagga" } }, "01-06");
  act("add-attachment", { id: 1, name: "diet.txt", text: "Hay for the okapi." }, "01-07");
  act("add-attachment", { id: 2, name: "broken.pdf", text: "no PDF at all" }, "01-07");
  const source = { source_id: "tasks", site_url: place.sandbox.siteUrl, list_name: "Tasks" };
  await maker.run({ create: emptyDomain({ list_sources: [source] }) });
  await note(maker, "diet.txt", { reviewed_by: "Ann" });
  act("update-item", { id: 1, values: { Notes: "Twice a day, with the lemur." } }, "02-01");
  act("delete-item", { id: 3 }, "02-02");
  await maker.run({});
  await maker.run({});
  const told = {
    words: ["zebra", "lemur", "quagga", "okapi", "gnu", "tapir", "yak"],
    properties: { okapi: { reviewed_by: "Ann" } },
  };
  await maker.write({
    name: "list-idle",
    about: "A list after an edit and a removal, with attachments.",
    idle: true,
    ...told,
  });

  const back = await maker.remember();
  act("update-item", { id: 2, values: { Title: "Count the tapir" } }, "03-01");
  act("add-item", { values: { Title: "Buy a yak" } }, "03-02");
  act("delete-item", { id: 1 }, "03-03");
  const moments: Moment[] = [
    [
      "exporting",
      "killed when its rows were to take their place",
      { before: "rename", matching: "/01_originals/[^/]*\\.csv$" },
    ],
    [
      "processing",
      "killed with rows in the journal, before documents were made of them",
      { before: "rename", matching: "/02_embedded/.*\\.md$" },
    ],
    [
      "folding",
      "killed when one map file had its rows and the others had not",
      { before: "rename", matching: "/files_map\\.csv$" },
    ],
    [
      "indexed",
      "killed when the index had the documents and vectorstore_map.csv had not",
      { before: "rename", matching: "/vectorstore_map\\.csv$" },
    ],
  ];
  for (const [name, about, kill] of moments) {
    await maker.killed({ name: `list-${name}`, about: `A list whose crawl was ${about}.`, words: told.words }, kill);
    await back();
  }
  await maker.close();
}

async function pages(): Promise<void> {
  const place = await TenantPlace.open();
  const maker = await Maker.open(place, { now: NOW });
  const folder = "/sites/demo/SitePages";
  const at = (day: string): void => place.act({ operation: "clock", at: `2026-${day}T10:00:00Z` });
  const act = (operation: string, path: string, fields: object): void =>
    place.act({ operation, path: `${folder}/${path}`, ...fields });
  const edit = (path: string, text: string): void => {
    act("edit-page", path, { text: `<p>${text}</p>` });
    act("publish-page", path, {});
  };
  at("01-05");
  act("add-page", "Home.aspx", { title: "Home", text: "<p>The zebra greets.</p>", published: true });
  act("add-page", "News.aspx", { title: "News", text: "<p>The gnu has news.</p>", published: true });
  act("add-page", "Old.aspx", { title: "Old", text: "<p>The quagga rule.</p>", published: true });
  act("add-page", "Draft.aspx", { title: "Draft", text: "<p>The unicorn is a draft.</p>", published: false });
  const source = { source_id: "pages", site_url: place.sandbox.siteUrl, sharepoint_url_part: "/SitePages" };
  await maker.run({ create: emptyDomain({ sitepage_sources: [source] }) });
  at("02-01");
  edit("Home.aspx", "The zebra greets with the lemur.");
  act("rename", "News.aspx", { name: "Memo.aspx" });
  act("delete", "Old.aspx", {});
  await maker.run({});
  await maker.run({});
  const words = ["zebra", "lemur", "quagga", "gnu", "unicorn", "tapir", "yak"];
  await maker.write({
    name: "pages-idle",
    about: "Site pages after an edit, a rename and a removal.",
    idle: true,
    words,
  });

  const back = await maker.remember();
  at("03-01");
  edit("Home.aspx", "The tapir greets now.");
  act("rename", "Memo.aspx", { name: "Memo2.aspx" });
  act("add-page", "New.aspx", { title: "New", text: "<p>A yak joined.</p>", published: true });
  const moments: Moment[] = [
    [
      "processing",
      "killed when the first document was to be made of an original",
      { before: "rename", matching: "/02_embedded/Home" },
    ],
    [
      "indexed",
      "killed when the index had the documents and vectorstore_map.csv had not",
      { before: "rename", matching: "/vectorstore_map\\.csv$" },
    ],
  ];
  for (const [name, about, kill] of moments) {
    await maker.killed({ name: `pages-${name}`, about: `Site pages whose crawl was ${about}.`, words }, kill);
    await back();
  }
  await maker.close();
}

function page(title: string, text: string, links: readonly string[] = []): string {
  return html(title, `<p>${text}</p>${linksTo(...links)}`);
}

async function site(): Promise<void> {
  const place = await SitePlace.open();
  const maker = await Maker.open(place, { now: NOW });
  const all = ["/first", "/second", "/third", "/fourth", "/fifth", "/notes.txt", "/empty.txt", "/broken.pdf"];
  place.set("/", page("Home", "Where everything begins.", all));
  place.set("/first", page("First", "The zebra runs."));
  place.set("/second", page("Second", "The gnu stands."));
  place.set("/third", page("Third", "A wombat for every desk.", ["/deep"]));
  place.set("/deep", page("Deep", "The narwhal dives."));
  place.set("/fourth", page("Fourth", "The quagga rule."));
  place.set("/fifth", page("Fifth", "The okapi hides."));
  place.set("/notes.txt", { type: "text/plain", body: "Notes about the ibex." });
  place.set("/empty.txt", { type: "text/plain", body: "" });
  place.set("/broken.pdf", { type: "application/pdf", body: "no PDF at all" });
  await maker.run({
    create: emptyDomain({ web_sources: [{ source_id: "site", start_urls: [`${place.site.origin}/`] }] }),
  });
  await note(maker, "notes.txt", { reviewed_by: "Ann" });
  await maker.run({});
  place.set(
    "/",
    page(
      "Home",
      "Where everything begins.",
      all.filter((path) => path !== "/fifth"),
    ),
  );
  place.set("/first", page("First", "The zebra runs with the lemur."));
  place.set("/second", redirect("/memo"));
  place.set("/memo", page("Memo", "The gnu stands."));
  place.set("/fourth", undefined);
  await maker.run({});
  const words = ["zebra", "lemur", "quagga", "okapi", "gnu", "wombat", "narwhal", "ibex", "tapir", "yak"];
  const told = { words, properties: { ibex: { reviewed_by: "Ann" } } };
  await maker.write({
    name: "site-idle",
    about: "A web site after an edit, a redirect, a page that is gone and one that nothing links to.",
    ...{ idle: true, ...told, leaving: ["quagga", "okapi"] },
  });

  const back = await maker.remember();
  place.set("/", page("Home", "Where everything begins.", all));
  place.set("/fourth", page("Fourth", "The quagga rule."));
  place.set("/first", page("First", "The zebra runs with the tapir."));
  place.set("/third", page("Third", "A wombat for every desk.", ["/deep", "/new"]));
  place.set("/new", page("New", "A yak joined."));
  const crawling = { name: "site-crawling", about: "A web site whose crawl was killed half-way.", ...told };
  if (!isMade(crawling)) {
    await maker.run({}, (kill) => {
      place.site.onRequest = (path) => (path === "/new" ? kill() : undefined);
    });
    place.site.onRequest = () => undefined;
    const log = join(maker.storage, "crawler", DOMAIN, "04_web/site/.lockstep/web/crawl.jsonl");
    place.crawlStartedAt = /"started_at":"([^"]+)"/.exec(await readFile(log, "utf8"))?.[1];
    await maker.write({ ...crawling, idle: false });
    place.crawlStartedAt = undefined;
    await back();
  }
  await maker.killed(
    {
      name: "site-indexed",
      about: "A web site whose crawl was killed when the index had the documents and vectorstore_map.csv had not.",
      ...told,
    },
    { before: "rename", matching: "/vectorstore_map\\.csv$" },
  );
  await maker.close();
}

/** Documents in a vector store of another service. */
async function remote(): Promise<void> {
  const place = await TenantPlace.open();
  const act = (operation: string, path: string, fields: object, day: string): void =>
    place.act({ operation, path: `${LIBRARY}/${path}`, ...fields, at: `2026-${day}T10:00:00Z` });
  const maker = await Maker.open(place, { now: NOW });
  maker.service = await StoreService.open({});
  const source = { source_id: "docs", site_url: place.sandbox.siteUrl, sharepoint_url_part: "/Shared Documents" };
  act("add", "policy.txt", { text: "A hotel night is approved by the zebra desk." }, "01-05");
  act("add", "notes.txt", { text: "Notes about the gnu." }, "01-06");
  act("add", "old.md", { text: "# Retired\n\nThe quagga rule." }, "01-06");
  await maker.run({ create: emptyDomain({ file_sources: [source] }) });
  await note(maker, "notes.txt", { reviewed_by: "Ann" });
  act("update", "policy.txt", { text: "A hotel night is approved by the zebra desk and the lemur." }, "02-01");
  act("rename", "notes.txt", { name: "memo.txt" }, "02-02");
  act("delete", "old.md", {}, "02-03");
  await maker.run({});
  await maker.run({});
  const told = {
    words: ["zebra", "lemur", "quagga", "gnu", "tapir", "yak"],
    properties: { gnu: { reviewed_by: "Ann" } },
  };
  await maker.write({
    name: "remote-idle",
    about: "A library whose documents are in a remote vector store.",
    idle: true,
    ...told,
  });

  const back = await maker.remember();
  act("update", "policy.txt", { text: "A hotel night is approved by the tapir." }, "03-01");
  act("add", "new.md", { text: "# New\n\nA yak joined." }, "03-02");
  const moments = [
    ["sent", "when a file had arrived at the service, which nobody heard of", ["POST /files"]],
    [
      "attached",
      "when a file had been attached to the vector store, which nobody heard of",
      ["POST /vector_stores/:store/files", "POST /vector_stores/:store/file_batches"],
    ],
  ] as const;
  for (const [name, about, on] of moments) {
    const fixture = { name: `remote-${name}`, about: `A library whose crawl was killed ${about}.`, ...told };
    if (isMade(fixture)) continue;
    await maker.run({}, (kill) => {
      const rewrite = async (body: unknown): Promise<unknown> => {
        await kill();
        return body;
      };
      for (const one of on) maker.service?.proxy.inject({ on: one, times: 1, act: { kind: "rewrite", rewrite } });
    });
    await maker.write({ ...fixture, idle: false });
    await back();
  }
  await maker.close();
}

/** Addresses that were registered one by one. */
async function addresses(): Promise<void> {
  const place = await SitePlace.open();
  const maker = await Maker.open(place, { now: NOW });
  const at = (...paths: string[]): string[] => paths.map((path) => place.site.origin + path);
  place.set("/zebra", page("Zebra", "The zebra runs."));
  place.set("/gnu", page("Gnu", "The gnu stands."));
  place.set("/wombat", page("Wombat", "A wombat for every desk."));
  place.set("/quagga", page("Quagga", "The quagga rule."));
  place.set("/broken.pdf", { type: "application/pdf", body: "no PDF at all" });
  const add = at("/zebra", "/gnu", "/wombat", "/quagga", "/broken.pdf", "/nowhere");
  await maker.run({ create: emptyDomain({}), addresses: { add } });
  await note(maker, "gnu", { reviewed_by: "Ann" });
  place.set("/zebra", page("Zebra", "The zebra runs with the lemur."));
  place.set("/wombat", redirect("/memo"));
  place.set("/memo", page("Memo", "A wombat for every desk."));
  await maker.run({ addresses: { add: at("/zebra", "/wombat"), remove: at("/quagga") } });
  const told = { words: ["zebra", "lemur", "quagga", "gnu", "wombat", "tapir", "yak"] };
  await maker.write({
    name: "addresses-idle",
    about: "Addresses that were registered: one edited, one redirected, one taken out, one that is not there.",
    ...{ idle: true, ...told },
  });

  const back = await maker.remember();
  place.set("/yak", page("Yak", "A yak joined."));
  const looking = {
    name: "addresses-looking",
    about: "Addresses of which one was being looked at when the worker was killed.",
    ...told,
  };
  if (!isMade(looking)) {
    await maker.run({ addresses: { add: at("/yak"), remove: at("/gnu") } }, (kill) => {
      place.site.onRequest = (path) => (path === "/yak" ? kill() : undefined);
    });
    place.site.onRequest = () => undefined;
    await maker.write({ ...looking, idle: false });
    await back();
  }
  await maker.killed(
    {
      name: "addresses-indexed",
      about: "Addresses whose crawl was killed when the index had the documents and vectorstore_map.csv had not.",
      ...told,
    },
    { before: "rename", matching: "/vectorstore_map\\.csv$" },
    { addresses: { add: at("/yak"), remove: at("/gnu") } },
  );
  await maker.close();
}

async function container(): Promise<void> {
  const place = await ContainerPlace.open();
  const maker = await Maker.open(place, { now: NOW });
  place.put("manual.md", "# Manual\n\nThe zebra runs.", "2026-01-05T10:00:00.000Z");
  place.put("a/notes.txt", "Notes about the gnu.", "2026-01-05T10:00:00.000Z");
  place.put("old.md", OLD, "2026-01-05T10:00:00.000Z");
  place.put("empty.txt", "", "2026-01-05T10:00:00.000Z");
  place.put("broken.pdf", "no PDF at all", "2026-01-05T10:00:00.000Z");
  const source = { source_id: "box", container_url: place.url, credential: place.credential };
  await maker.run({ create: emptyDomain({ blob_sources: [source] }) });
  await note(maker, "manual.md", { reviewed_by: "Ann" });
  place.put("manual.md", "# Manual\n\nThe zebra runs with the lemur.", "2026-02-01T10:00:00.000Z");
  place.remove("a/notes.txt");
  place.put("b/memo.txt", "Notes about the gnu.", "2026-02-01T10:00:00.000Z");
  place.remove("old.md");
  await maker.run({});
  await maker.run({});
  const words = FOLDER_WORDS;
  await maker.write({
    name: "container-idle",
    about: "A container of blobs after an edit, a move and a removal that is not long ago.",
    ...{ idle: true, words, properties: { lemur: { reviewed_by: "Ann" } }, versions: { "manual.md": 2 } },
  });

  const back = await maker.remember();
  place.put("manual.md", "# Manual\n\nThe zebra runs with the tapir.", "2026-03-01T10:00:00.000Z");
  place.remove("b/memo.txt");
  place.put("memo.txt", "Notes about the gnu.", "2026-03-01T10:00:00.000Z");
  place.put("new.md", "# New\n\nA yak joined.", "2026-03-01T10:00:00.000Z");
  const moments: Moment[] = [
    [
      "downloading",
      "killed with rows in the journal, when a blob had just been fetched",
      { before: "log", matching: "Downloaded 'new.md'" },
    ],
    [
      "indexed",
      "killed when the index had the documents and vectorstore_map.csv had not",
      { before: "rename", matching: "/vectorstore_map\\.csv$" },
    ],
  ];
  for (const [name, about, kill] of moments) {
    const properties = { tapir: { reviewed_by: "Ann" } };
    await maker.killed(
      { name: `container-${name}`, about: `A container whose crawl was ${about}.`, words, properties },
      kill,
    );
    await back();
  }
  await maker.close();
}

/** Ids of the stores that the domain has had. */
async function storesOf(maker: Maker): Promise<string[]> {
  const json = JSON.parse(await readFile(join(maker.storage, "domains", DOMAIN, "domain.json"), "utf8"));
  return [String(json.vector_store_id)];
}

/** What a user writes beside a document. */
async function note(maker: Maker, filename: string, properties: object): Promise<void> {
  const path = join(maker.storage, "domains", DOMAIN, "files_metadata.json");
  const entries = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>[];
  const entry = entries.findLast((one) => one["filename"] === filename);
  await writeFile(
    path,
    `${JSON.stringify(
      entries.map((one) => (one === entry ? { ...one, ...properties } : one)),
      undefined,
      2,
    )}\n`,
  );
}

if (import.meta.main) {
  const wanted = process.argv.slice(2);
  for (const [name, play] of Object.entries(RECIPES)) {
    if (wanted.length === 0 || wanted.includes(name)) await play();
  }
}
