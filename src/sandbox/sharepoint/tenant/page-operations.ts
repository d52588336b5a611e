import { BadInputError } from "../../../contracts/errors.ts";
import type { ColumnType } from "./column.ts";
import { addFile, type Columns } from "./file-operations.ts";
import { guidFrom } from "./guid-sequence.ts";
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

interface PageOptions {
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

/** Text that is no markup yet: paragraphs are parted by empty lines. */
function toHtml(text: string): string {
  if (text.trimStart().startsWith("<")) return text;
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => `<p>${escapeHtml(paragraph.trim())}</p>`)
    .join("");
}

/**
 * CanvasContent1 as list items carry it: one control for the text and, last, the page's own settings, each with its
 * description as JSON written into an attribute in SharePoint's own escaping.
 */
function canvasOf(html: string, key: string): string {
  const text = { controlType: 4, id: guidFrom(`control/${key}`), position: POSITION, addedFromPersistedData: true };
  const settings = { controlType: 0, pageSettingsSlice: { isDefaultDescription: true, isDefaultThumbnail: true } };
  return `<div>${control(text, `<div data-sp-rte="">${html}</div>`)}${control(settings, "")}</div>`;
}

const POSITION = { zoneIndex: 1, sectionIndex: 1, controlIndex: 1, layoutIndex: 1 };

function control(description: object, inner: string): string {
  const json = escapeAttribute(JSON.stringify(description));
  return `<div data-sp-canvascontrol="" data-sp-canvasdataversion="1.0" data-sp-controldata="${json}">${inner}</div>`;
}

/** The title region above the canvas. */
function titleAreaOf(title: string): string {
  const webPart = {
    id: "cbe7b0a9-3504-44dd-a3a3-0e5cacd07788",
    instanceId: "cbe7b0a9-3504-44dd-a3a3-0e5cacd07788",
    title: "Title area",
    properties: { title, layoutType: "FullWidthImage" },
  };
  return `<div><div data-sp-canvascontrol="" data-sp-canvasdataversion="1.4" data-sp-controldata="${escapeAttribute(JSON.stringify(webPart))}"></div></div>`;
}

/** The stored page: the canvas again, among the properties of the file. */
function aspxOf(fields: { readonly title: string; readonly canvas: string; readonly wiki: string }): string {
  return [
    '<%@ Page language="C#" Inherits="Microsoft.SharePoint.WebPartPages.WebPartPage, Microsoft.SharePoint, Version=16.0.0.0" %>',
    '<html xmlns:mso="urn:schemas-microsoft-com:office:office" xmlns:msdt="uuid:C2F41010-65B3-11d1-A29F-00AA00C14882"><head>',
    `<title>${escapeHtml(fields.title)}</title>`,
    "<!--[if gte mso 9]><xml><mso:CustomDocumentProperties>",
    `<mso:CanvasContent1 msdt:dt="string">${escapeHtml(fields.canvas)}</mso:CanvasContent1>`,
    `<mso:WikiField msdt:dt="string">${escapeHtml(fields.wiki)}</mso:WikiField>`,
    "</mso:CustomDocumentProperties></xml><![endif]--></head></html>",
    "",
  ].join("\n");
}

function escapeAttribute(text: string): string {
  return escapeHtml(text).replaceAll("{", "&#123;").replaceAll("}", "&#125;").replaceAll(":", "&#58;");
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
