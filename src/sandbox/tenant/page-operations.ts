import { BadInputError } from "../../contracts/errors.ts";
import { aspxOf, canvasOf, titleAreaOf, toHtml } from "./canvas.ts";
import type { ColumnType } from "./column.ts";
import { addFile, type Columns } from "./file-operations.ts";
import type { Library } from "./library.ts";
import { requireItem } from "./place-item.ts";
import type { Tenant } from "./tenant.ts";
import { toSharePointTime } from "./tenant-clock.ts";
import type { ColumnValue, FileItem } from "./tenant-item.ts";
import { beginVersion, publishItem, refuseCheckedOut } from "./versions.ts";

/** What a page can be given; content is one of text (plain or HTML), a whole canvas, and wiki HTML. */
export interface PageContent {
  readonly title?: string;
  readonly text?: string;
  readonly canvas?: string;
  readonly wiki?: string;
  readonly description?: string;
  readonly bannerImageUrl?: string;
  /** 0 a page, 1 to become news, 2 news. */
  readonly promoted?: number;
  /** Article, Home, SingleWebPartAppPage, … */
  readonly layout?: string;
}

export interface PageOptions {
  readonly at?: string;
  readonly by?: string;
}

const PAGE_COLUMNS: readonly (readonly [name: string, title: string, type: ColumnType])[] = [
  ["Title", "Title", "Text"],
  ["WikiField", "Wiki Content", "HTML"],
  ["CanvasContent1", "Authoring Canvas Content", "HTML"],
  ["BannerImageUrl", "Banner Image URL", "URL"],
  ["Description", "Description", "Note"],
  ["PromotedState", "Promoted State", "Number"],
  ["FirstPublishedDate", "First Published Date", "DateTime"],
  ["LayoutWebpartsContent", "Layout Webparts Content", "HTML"],
  ["PageLayoutType", "Page Layout Type", "Text"],
  ["ClientSideApplicationId", "Client Side Application Id", "Text"],
  ["_SPSitePageFlags", "Site Page Flags", "MultiChoice"],
];

const CLIENT_SIDE_APPLICATION = "b6917cb1-93a0-4b97-a84d-7cf49975d4ec";

/** The library of site pages, with the columns such a library has. A site has at most one. */
export function addPagesLibrary(tenant: Tenant, sitePath: string, options: { at?: string } = {}): Library {
  const library = tenant.addLibrary(`${sitePath}/SitePages`, { title: "Site Pages", template: 119, ...options });
  for (const [internalName, title, type] of PAGE_COLUMNS) library.addColumn({ internalName, title, type });
  return library;
}

/** A page is published as 1.0, or stays the draft 0.1. Below `Templates` it is a template. */
export function addPage(
  tenant: Tenant,
  path: string,
  content: PageContent & { readonly published?: boolean },
  options: PageOptions = {},
): FileItem {
  const located = tenant.locate(path);
  if (located?.library.template !== 119 || !path.toLowerCase().endsWith(".aspx")) {
    throw new BadInputError(`Add page '${path}': pages look like '/sites/demo/SitePages/Home.aspx'.`);
  }
  const [folder] = located.names;
  const isTemplate = located.names.length > 1 && folder?.toLowerCase() === "templates";
  const page = addFile(tenant, path, "", present(options.at));
  write(page, {
    ClientSideApplicationId: content.wiki === undefined ? CLIENT_SIDE_APPLICATION : null,
    PageLayoutType: "Article",
    PromotedState: 0,
    ...(isTemplate ? { _SPSitePageFlags: ["Template"] } : {}),
  });
  fill(page, { title: page.name.slice(0, -".aspx".length), text: "", ...content });
  setEditor(page, options.by);
  if (content.published ?? true) publishPage(tenant, path);
  return page;
}

/** Always makes a draft; readers go on with the published page until it is published. */
export function editPage(tenant: Tenant, path: string, content: PageContent, options: PageOptions = {}): FileItem {
  const page = requirePage(tenant, path);
  refuseCheckedOut(page, "Edit page");
  beginVersion(page, "minor");
  fill(page, content);
  setEditor(page, options.by);
  page.modifiedAtMs = tenant.clock.resolveMs(options.at);
  page.etag++;
  page.library.noteChange(tenant.clock.nowMs(), "Update", page);
  return page;
}

export function publishPage(tenant: Tenant, path: string): FileItem {
  const page = requirePage(tenant, path);
  publishItem(tenant, path);
  if (!page.columns.get("FirstPublishedDate")) {
    page.columns.set("FirstPublishedDate", toSharePointTime(page.modifiedAtMs));
  }
  return page;
}

function requirePage(tenant: Tenant, path: string): FileItem {
  const item = requireItem(tenant, path);
  if (item.kind !== "file" || item.library.template !== 119) throw new BadInputError(`Use page '${path}': it is none.`);
  return item;
}

function fill(page: FileItem, content: PageContent): void {
  const given: Columns = {
    ...(content.title === undefined ? {} : { Title: content.title, LayoutWebpartsContent: titleAreaOf(content.title) }),
    ...(content.description === undefined ? {} : { Description: content.description }),
    ...(content.bannerImageUrl === undefined ? {} : { BannerImageUrl: content.bannerImageUrl }),
    ...(content.promoted === undefined ? {} : { PromotedState: content.promoted }),
    ...(content.layout === undefined ? {} : { PageLayoutType: content.layout }),
    ...bodyOf(page, content),
  };
  write(page, given);
  const text = (name: string): string => String(page.columns.get(name) ?? "");
  page.content = Buffer.from(aspxOf({ title: text("Title"), canvas: text("CanvasContent1"), wiki: text("WikiField") }));
  page.listedSize = page.content.length;
  page.contentVersion++;
}

function bodyOf(page: FileItem, { text, canvas, wiki }: PageContent): Record<string, ColumnValue> {
  if (wiki !== undefined) return { WikiField: wiki, CanvasContent1: null, LayoutWebpartsContent: null };
  if (canvas !== undefined) return { CanvasContent1: canvas };
  return text === undefined ? {} : { CanvasContent1: canvasOf(toHtml(text), page.uniqueId) };
}

function write(page: FileItem, columns: Columns): void {
  for (const [name, value] of Object.entries(columns)) page.columns.set(name, page.library.accept(name, value));
}

function setEditor(page: FileItem, by: string | undefined): void {
  if (by !== undefined) page.editorId = page.library.site.users.ensure(by).id;
}

function present(at: string | undefined): { at?: string } {
  return at === undefined ? {} : { at };
}
