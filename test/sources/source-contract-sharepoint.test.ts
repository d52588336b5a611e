// Libraries, lists and pages of SharePoint keep the contract of a source.
import { setImmediate } from "node:timers/promises";
import type { Sighting, Source } from "../../src/contracts/source.ts";
import type { FaultEffect, FaultMatch } from "../../src/sandbox/faults.ts";
import { describeLibrary } from "../../src/sandbox/sharepoint/tenant/describe-library.ts";
import { openSharePointList } from "../../src/sources/sharepoint/lists/open-sharepoint-list.ts";
import { openSharePointLibrary } from "../../src/sources/sharepoint/open-sharepoint-library.ts";
import { openSharePointPages } from "../../src/sources/sharepoint/pages/open-sharepoint-pages.ts";
import type { SharePointConnection } from "../../src/sources/sharepoint/sharepoint-connection.ts";
import { type SourceWorld, sourceSuite } from "../contracts/source-suite.ts";
import { listConfig, TASKS } from "./list-world.ts";
import { DOCS, useSandbox } from "./sandbox-world.ts";
import { sourceConfig } from "./scripted-tenant.ts";

const world = useSandbox();
const PAGES = "/sites/demo/SitePages";
/** A listing of five has three of them. */
const options = { pageSize: 2 };
/** Longer than a test: what ends sooner was cancelled. */
const timeouts = { connectMs: 300_000, headersMs: 300_000, idleMs: 300_000 };

const NAMES_REFUSED = {
  "a blank at the beginning": "SharePoint takes no blank there",
  quotes: "SharePoint takes none",
  "a question mark": "SharePoint takes none",
  "a backslash": "SharePoint takes none",
  "upper case": "SharePoint takes both for the same name",
};

type Trouble = Pick<SourceWorld, "cuts" | "cutBodies" | "stallListing" | "stallBodies" | "breakDown" | "mend">;

/** What can happen to any of them; `body`: what requests for content have in their address. */
function troubles(body: string): Trouble {
  const { faults } = world.sandbox.state;
  const always = (url: string, effect: FaultEffect): void => world.strike({ url, times: "always" }, effect);
  const stall = async (match: FaultMatch, effect: FaultEffect): Promise<void> => {
    const { id } = faults.add({ times: "always", ...match }, effect);
    while (!faults.list().some((fault) => fault.id === id && fault.struck > 0)) await setImmediate();
  };
  return {
    cuts: {
      "a page that never comes": () => always("skiptoken", { status: 502 }),
      "a page that lacks rows": () => always("skiptoken", { dropRows: 1 }),
      "an answer without rows": () => world.strike({ url: "/items\\?", times: 1 }, { emptyListing: true }),
      "a last page that is cut": () => always("skiptoken", { truncateAfterBytes: 50 }),
      "a web page instead of rows": () => always("skiptoken", { status: 200, body: "<html>Sorry</html>" }),
    },
    cutBodies: (how) => world.strike({ url: body, times: how === "once" ? 1 : "always" }, { truncateAfterBytes: 1000 }),
    stallListing: () => stall({ url: "/items\\?", nth: 2 }, { stallAfterBytes: 0 }),
    stallBodies: () => stall({ url: body }, { stallAfterBytes: 1000 }),
    breakDown: () => always("_api", { status: 403 }),
    mend: () => faults.clear(),
  };
}

function connect(): SharePointConnection {
  world.sandbox.state.reset();
  return world.connect({ timeouts });
}

/** Whatever extension the kind has. */
const stem = ({ path }: Sighting): string => path.replace(/\.[a-z]+$/, "");

const isThere = (path: string): boolean => world.sandbox.tenant.itemAt(path) !== undefined;

/** What is published of a draft cannot be looked up. */
function hideHistory(editing: "update" | "edit-page", library: string, folder: string): void {
  world.act("set-library", { path: library, minorVersions: true });
  for (const { kind, path } of describeLibrary(world.sandbox.tenant, library))
    if (kind === "file" && path.startsWith(`${library}/${folder}/`)) world.act(editing, { path, text: "A draft." });
  world.strike({ url: "/versions", times: "always" }, { status: 403 });
}

sourceSuite("a library of SharePoint", async () => {
  const connection = connect();
  const at = (name: string): string => `${DOCS}/${name}.txt`;
  return {
    openSource: () => openSharePointLibrary(sourceConfig(world.sandbox.siteUrl), connection, options),
    put: (name, text) => world.act(isThere(at(name)) ? "update" : "add", { path: at(name), text }),
    remove: (name) => world.act("delete", { path: at(name) }),
    nameOf: stem,
    bodies: "as put",
    rename: (from, to) => world.act("move", { path: at(from), to: at(to) }),
    shut: (folder) => hideHistory("update", DOCS, folder),
    ...troubles("\\$value"),
    refuses: NAMES_REFUSED,
  };
});

sourceSuite("the pages of a site", async () => {
  const connection = connect();
  const at = (name: string): string => `${PAGES}/${name}.aspx`;
  const config = { ...sourceConfig(world.sandbox.siteUrl, "/SitePages"), sourceType: "sitepage_sources" as const };
  return {
    openSource: () => openSharePointPages(config, connection, options),
    put(name, text) {
      if (!isThere(at(name))) return world.act("add-page", { path: at(name), title: "Title", text });
      world.act("edit-page", { path: at(name), text });
      world.act("publish-page", { path: at(name) });
    },
    remove: (name) => world.act("delete", { path: at(name) }),
    nameOf: stem,
    bodies: "made of it",
    rename: (from, to) => world.act("move", { path: at(from), to: at(to) }),
    shut: (folder) => hideHistory("edit-page", PAGES, folder),
    ...troubles("/items\\(\\d+\\)"),
    refuses: NAMES_REFUSED,
  };
});

const NO_RENAME = "a row has no name, and an attachment is not renamed";
const NO_HOLE = "a row is shown or not; answers that make no sense are in sharepoint-lists-trouble.test.ts";
const NO_BODY = "a row has no bytes: the export of the list is made of the listing";

interface Tasks {
  readonly openSource: () => Source;
  /** The numbers of the rows that are there, by their titles. */
  readonly ids: Map<string, number>;
  setRow(title: string, text: string): void;
  /** Also of a row that is not there any more. */
  titleOf(row: Pick<Sighting, "listItemId">): string | undefined;
}

function openTasks(): Tasks {
  const connection = connect();
  world.act("add-list", { path: TASKS, title: "Tasks", columns: [{ title: "Text", type: "Note" }] });
  const ids = new Map<string, number>();
  const titles: string[] = [];
  return {
    openSource: () => openSharePointList(listConfig(world.sandbox.siteUrl), connection, options),
    ids,
    setRow(title, text) {
      const [id, values] = [ids.get(title), { Title: title, Text: text }];
      if (id !== undefined) return world.act("update-item", { list: TASKS, id, values });
      ids.set(title, titles.push(title));
      world.act("add-item", { list: TASKS, values });
    },
    titleOf: ({ listItemId }) => titles[listItemId - 1],
  };
}

sourceSuite("the rows of a list", async () => {
  const { openSource, ids, setRow, titleOf } = openTasks();
  return {
    openSource,
    put: setRow,
    remove(name) {
      world.act("delete-item", { list: TASKS, id: ids.get(name) });
      ids.delete(name);
    },
    nameOf: titleOf,
    rename: NO_RENAME,
    shut: NO_HOLE,
    ...troubles("never"),
    bodies: { none: NO_BODY },
    cutBodies: NO_BODY,
    stallBodies: NO_BODY,
  };
});

sourceSuite("the attachments of a list", async () => {
  const { openSource, ids, setRow, titleOf } = openTasks();
  const cut = (name: string): [string, string] => [
    name.slice(0, name.lastIndexOf("/") + 1),
    name.slice(name.lastIndexOf("/") + 1),
  ];
  const act = (operation: string, name: string, more = {}): void => {
    const [folder, file] = cut(name);
    if (!ids.has(folder)) setRow(folder, "");
    world.act(operation, { list: TASKS, id: ids.get(folder), name: `${file}.txt`, ...more });
  };
  const files = new Set<string>();
  return {
    openSource,
    put(name, text) {
      if (files.has(name)) act("remove-attachment", name);
      files.add(name);
      act("add-attachment", name, { text });
    },
    remove(name) {
      files.delete(name);
      act("remove-attachment", name);
    },
    nameOf: (sighting) =>
      sighting.form === "row" ? undefined : `${titleOf(sighting)}${sighting.name.replace(/\.txt$/, "")}`,
    bodies: "as put",
    rename: NO_RENAME,
    shut: NO_HOLE,
    ...troubles("\\$value"),
    refuses: NAMES_REFUSED,
  };
});
