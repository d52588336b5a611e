import assert from "node:assert/strict";
import { DOMAIN } from "../engine/world.ts";
import { parseDomain } from "../kinds.ts";
import { assertGone } from "./claims.ts";
import { assertDocuments, type Documents } from "./documents.ts";
import { sourceView } from "./source-view.ts";
import type { Stage } from "./stage.ts";
import type { Story } from "./story.ts";

const PAGES = "/sites/demo/SitePages";
const PLANTED: Documents = {
  "Home.aspx.html": "zebra",
  "Teams/Care.aspx.html": "quagga",
  "Teams/Pay.aspx.html": "okapi",
};

async function addPage(stage: Stage, path: string, word: string): Promise<void> {
  const text = `<p>About the ${word}.</p>`;
  await stage.change("add-page", { path: `${PAGES}/${path}`, title: path, text, published: true });
}

/** Three published pages and a draft nobody else sees, crawled. */
async function plantPages(stage: Stage): Promise<void> {
  const { world } = stage;
  await addPage(stage, "Home.aspx", "zebra");
  await addPage(stage, "Teams/Care.aspx", "quagga");
  await addPage(stage, "Teams/Pay.aspx", "okapi");
  const draft = {
    path: `${PAGES}/Draft.aspx`,
    title: "Draft",
    text: "<p>About the secret yeti.</p>",
    published: false,
  };
  await stage.change("add-page", draft);
  const pages = { source_id: "pages", site_url: world.sandbox.siteUrl, sharepoint_url_part: "/SitePages", filter: "" };
  const json = { ...world.domainJson(), file_sources: [], sitepage_sources: [pages] };
  await world.app.domains.update(parseDomain(json, DOMAIN), await world.app.domains.get(DOMAIN));
  await stage.crawl();
  await inStep(stage, PLANTED);
  await assertGone(stage, "yeti");
}

async function inStep(stage: Stage, documents: Documents): Promise<void> {
  await assertDocuments(stage, sourceView(stage.world, "sitepage_sources", "pages", PAGES), documents);
}

async function pageIds(stage: Stage): Promise<string[]> {
  const rows = await sourceView(stage.world, "sitepage_sources", "pages", PAGES).map("vectorstore_map");
  return rows.map((row) => row["openai_file_id"] ?? "").sort();
}

async function editPage(stage: Stage, path: string, word: string): Promise<void> {
  await stage.change("edit-page", { path: `${PAGES}/${path}`, text: `<p>About the ${word}.</p>` });
  await stage.change("publish-page", { path: `${PAGES}/${path}` });
}

/** Stories in which the same pages lie elsewhere afterwards, and nothing is embedded for it. */
function relocation(id: Story["id"], title: string, operations: [string, object][], after: Documents): Story {
  return {
    id,
    title: `site pages: ${title}`,
    async play(stage) {
      await plantPages(stage);
      const before = await pageIds(stage);
      for (const [operation, fields] of operations) await stage.change(operation, { ...fields });
      await stage.crawl();
      await inStep(stage, after);
      assert.deepEqual(await pageIds(stage), before, "nothing is embedded again");
    },
  };
}

export const PAGE_STORIES: readonly Story[] = [
  {
    id: "A1",
    title: "site pages: a page is found once it is published",
    async play(stage) {
      await plantPages(stage);
      await stage.change("publish-page", { path: `${PAGES}/Draft.aspx` });
      await stage.crawl();
      await inStep(stage, { ...PLANTED, "Draft.aspx.html": "yeti" });
    },
  },
  {
    id: "A2",
    title: "site pages: a deleted page leaves",
    async play(stage) {
      await plantPages(stage);
      await stage.change("delete", { path: `${PAGES}/Home.aspx` });
      await stage.crawl();
      const { "Home.aspx.html": _gone, ...rest } = PLANTED;
      await inStep(stage, rest);
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A3",
    title: "site pages: an edit is found when it is published, not before",
    async play(stage) {
      await plantPages(stage);
      await stage.change("edit-page", { path: `${PAGES}/Home.aspx`, text: "<p>About the gnu.</p>" });
      await stage.crawl();
      await inStep(stage, PLANTED);
      await assertGone(stage, "gnu");
      await stage.change("publish-page", { path: `${PAGES}/Home.aspx` });
      await stage.crawl();
      await inStep(stage, { ...PLANTED, "Home.aspx.html": "gnu" });
      await assertGone(stage, "zebra");
    },
  },
  relocation(
    "A4",
    "a renamed page keeps its document",
    [["rename", { path: `${PAGES}/Home.aspx`, name: "Start.aspx" }]],
    { "Start.aspx.html": "zebra", "Teams/Care.aspx.html": "quagga", "Teams/Pay.aspx.html": "okapi" },
  ),
  relocation(
    "A5",
    "a moved page keeps its document",
    [["move", { path: `${PAGES}/Home.aspx`, to: `${PAGES}/Teams/Home.aspx` }]],
    { "Teams/Home.aspx.html": "zebra", "Teams/Care.aspx.html": "quagga", "Teams/Pay.aspx.html": "okapi" },
  ),
  relocation("A15", "a renamed folder takes its pages along", [["rename", { path: `${PAGES}/Teams`, name: "Crews" }]], {
    "Home.aspx.html": "zebra",
    "Crews/Care.aspx.html": "quagga",
    "Crews/Pay.aspx.html": "okapi",
  }),
  {
    id: "A9",
    title: "site pages: renamed, moved and edited",
    async play(stage) {
      await plantPages(stage);
      await stage.change("move", { path: `${PAGES}/Home.aspx`, to: `${PAGES}/Teams/Start.aspx` });
      await editPage(stage, "Teams/Start.aspx", "gnu");
      await stage.crawl();
      const { "Home.aspx.html": _gone, ...rest } = PLANTED;
      await inStep(stage, { ...rest, "Teams/Start.aspx.html": "gnu" });
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A10",
    title: "site pages: a page from the recycle bin is found again",
    async play(stage) {
      await plantPages(stage);
      await stage.change("delete", { path: `${PAGES}/Home.aspx` });
      await stage.crawl();
      await stage.change("restore", { path: `${PAGES}/Home.aspx` });
      await stage.crawl();
      await inStep(stage, PLANTED);
    },
  },
  {
    id: "A12",
    title: "site pages: a copy is a page of its own",
    async play(stage) {
      await plantPages(stage);
      await stage.change("copy", { path: `${PAGES}/Home.aspx`, to: `${PAGES}/Copy.aspx` });
      await editPage(stage, "Copy.aspx", "gnu");
      await stage.crawl();
      await inStep(stage, { ...PLANTED, "Copy.aspx.html": "gnu" });
    },
  },
  {
    id: "A13",
    title: "site pages: deleted and created anew under the same name",
    async play(stage) {
      await plantPages(stage);
      await stage.change("delete", { path: `${PAGES}/Home.aspx` });
      await addPage(stage, "Home.aspx", "gnu");
      await stage.crawl();
      await inStep(stage, { ...PLANTED, "Home.aspx.html": "gnu" });
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A14",
    title: "site pages: published again with the same text: nothing is embedded",
    async play(stage) {
      await plantPages(stage);
      const before = await pageIds(stage);
      await editPage(stage, "Home.aspx", "zebra");
      await stage.crawl();
      await inStep(stage, PLANTED);
      assert.deepEqual(await pageIds(stage), before);
    },
  },
];
