// A web site keeps the contract of a source.
import { REGISTERED_SOURCE } from "../../src/contracts/domain.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import type { ItemVisitor } from "../../src/contracts/web.ts";
import { createItemFetcher } from "../../src/engine/ingest/create-item-fetcher.ts";
import { identifyUrl } from "../../src/plan/web/item-identity.ts";
import { newItem, newMember } from "../../src/plan/web/item-state.ts";
import { openRegisteredUrls } from "../../src/sources/web/open-registered-urls.ts";
import { type SourceWorld, sourceSuite } from "../contracts/source-suite.ts";
import { SiteWorld } from "./web-site-world.ts";
import { html, linksTo, type PageAnswer, type PageSite } from "./web-visit-world.ts";

const NO_RENAME = "a page at another address is another page";
const OURS = "which addresses are registered is in our own database";
const READ_BY_LISTING = "a page is read by the listing, and fetched from what was kept of it";

type Pages = Omit<SourceWorld, "openSource" | "cuts" | "breakDown">;

/** A page for everything that is put, and a front page that links to them all. */
function pagesOf(site: PageSite, fault: { of(path: string): PageAnswer | undefined }): Pages {
  const pages = new Map<string, string>();
  const show = (path: string, page: () => string): void => site.set(path, () => ({ body: page(), ...fault.of(path) }));
  show("/", () => html("Home", linksTo(...pages.keys())));
  return {
    put(name, text) {
      const path = pathOf(name);
      pages.set(path, html("Page", `<p>${text}</p>`));
      show(path, () => pages.get(path) ?? "");
    },
    remove(name) {
      pages.delete(pathOf(name));
      site.pages.delete(pathOf(name));
    },
    nameOf: ({ url }) => decodeURIComponent(new URL(url).pathname.slice(1)) || undefined,
    bodies: "made of it",
    rename: NO_RENAME,
    shut(folder) {
      fault.of = (path) => (path.startsWith(`/${folder}/`) ? { status: 500 } : undefined);
    },
    cutBodies(how) {
      let left = how === "once" ? 1 : Infinity;
      fault.of = (path) =>
        path !== "/" && left-- > 0 ? { cutAfterBytes: 1000, ignoresConditions: true, etag: "another" } : undefined;
    },
    stallListing: () =>
      new Promise((tell) => {
        site.onRequest = (path) => {
          if (path === "/" || path === "/robots.txt") return;
          tell();
          return new Promise(() => undefined);
        };
      }),
    stallBodies: READ_BY_LISTING,
    mend() {
      fault.of = () => undefined;
      site.onRequest = () => undefined;
    },
  };
}

const pathOf = (name: string): string => `/${name.split("/").map(encodeURIComponent).join("/")}`;

sourceSuite("a web site", async (t) => {
  const world = await SiteWorld.open();
  t.after(() => world.close());
  const fault = { of: (_path: string): PageAnswer | undefined => undefined };
  return {
    ...pagesOf(world.site, fault),
    openSource: () => world.source(),
    cuts: {
      "pages that fail": () => {
        fault.of = (path) => (path === "/" ? undefined : { status: 500 });
      },
      "pages that are cut": () => {
        fault.of = (path) =>
          path === "/" ? undefined : { cutAfterBytes: 100, ignoresConditions: true, etag: "another" };
      },
    },
    breakDown: () => {
      fault.of = () => ({ status: 500 });
    },
  };
});

sourceSuite("registered addresses", async (t) => {
  const site = await SiteWorld.open();
  t.after(() => site.close());
  const { client, visitor, registry, ledgers, documents, parts } = site.world;
  const { members } = ledgers;
  const { rules } = parts;
  const items: ItemVisitor = {
    visit: (item, options) => visitor.visit(item.foundSource, options),
    document: (item, signal) => visitor.document(item, signal),
  };
  const tools = {
    ...{ domainId: parseDomainId("STORY"), client, visitor, registry, members, rules, items },
    itemFetcher: createItemFetcher({ registry, members, visitor: items, documents, rules }),
    openMemory: () => Promise.reject(new Error("no site is crawled")),
    // Addresses are due after a day; a run that is told to looks at all of them.
    ...{ dryRun: false, force: true, pagesAtOnce: 4, log: () => undefined, now: () => new Date() },
  };
  const config = site.config({ sourceId: REGISTERED_SOURCE, startUrls: [] });
  const pages = pagesOf(site.site, { of: () => undefined });
  return {
    ...pages,
    openSource: () => openRegisteredUrls(config, tools),
    async put(name, text) {
      await pages.put(name, text);
      const identity = identifyUrl(site.world.url(pathOf(name)), rules);
      if (await registry.get(identity.id)) return;
      await registry.put(newItem(identity, new Date()), null);
      const member = newMember(tools.domainId, REGISTERED_SOURCE, identity.id);
      await members.change([member], (_, added) => ({ ...added, wanted: "asked" }));
    },
    cuts: OURS,
    breakDown: OURS,
    defersToOthers: true,
  };
});
