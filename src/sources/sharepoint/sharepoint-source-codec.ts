import type { SourceConfig } from "../../contracts/domain.ts";
import type { OwnFields } from "../../contracts/source-kind.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { readFlag } from "../../lib/read-fields.ts";
import { findSiteUrlProblem } from "../../lib/site-url.ts";

export interface SharePointSourceConfig extends SourceConfig {
  readonly siteUrl: string;
  /** OData, "" for none. */
  readonly filter: string;
}

/** A SharePoint document library, or one folder of it. */
export interface FileSourceConfig extends SharePointSourceConfig {
  /** Path below the site, with a leading slash: `/Shared Documents`, `/Shared Documents/Reports`. */
  readonly urlPart: string;
  /** The latest version of every file is taken, published or not; otherwise the latest published one. */
  readonly drafts?: boolean;
}

/** A SharePoint list, found by its title. */
export interface ListSourceConfig extends SharePointSourceConfig {
  readonly listName: string;
}

/** The pages of a SharePoint site: its library `/SitePages`, or one folder of it. */
export interface SitePageSourceConfig extends SharePointSourceConfig {
  readonly urlPart: string;
}

export function parseLibrary(value: JsonObject, where: string, problems: string[]): OwnFields<FileSourceConfig> {
  const common = readPlace(value, where, problems);
  const urlPart = readUrlPart(value["sharepoint_url_part"], "/Shared Documents", where, problems);
  const drafts = readFlag(value["drafts"], `${where}.drafts`, problems);
  return { ...common, urlPart, ...(drafts && { drafts }) };
}

export function parseList(value: JsonObject, where: string, problems: string[]): OwnFields<ListSourceConfig> {
  return {
    ...readPlace(value, where, problems),
    listName: readListName(value["list_name"], where, problems),
  };
}

export function parsePages(value: JsonObject, where: string, problems: string[]): OwnFields<SitePageSourceConfig> {
  const common = readPlace(value, where, problems);
  return { ...common, urlPart: readUrlPart(value["sharepoint_url_part"], "/SitePages", where, problems) };
}

export function formatLibrary(source: FileSourceConfig, earlier: JsonObject): JsonObject {
  const { drafts = false } = source;
  const common = formatPages(source);
  return drafts || "drafts" in earlier ? { ...common, drafts } : common;
}

export function formatList({ siteUrl, listName, filter }: ListSourceConfig): JsonObject {
  return { site_url: siteUrl, list_name: listName, filter };
}

export function formatPages({ siteUrl, urlPart, filter }: SitePageSourceConfig): JsonObject {
  return { site_url: siteUrl, sharepoint_url_part: urlPart, filter };
}

function readPlace(
  value: JsonObject,
  where: string,
  problems: string[],
): Pick<SharePointSourceConfig, "siteUrl" | "filter"> {
  return {
    siteUrl: readSiteUrl(value["site_url"], where, problems),
    filter: readText(value["filter"] ?? "", `${where}.filter`, problems),
  };
}

function readSiteUrl(value: unknown, where: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() : "";
  const problem = findSiteUrlProblem(text);
  if (problem) problems.push(`${where}.site_url ${problem}.`);
  return text.replace(/\/+$/, "");
}

function readListName(value: unknown, where: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() : "";
  if (text === "") problems.push(`${where}.list_name must be the title of the list, like "Project Tasks".`);
  return text;
}

function readUrlPart(value: unknown, example: string, where: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() : "";
  if (!text.startsWith("/") || /^\/*$/.test(text)) {
    problems.push(`${where}.sharepoint_url_part must begin with "/" and name the library, like "${example}".`);
  } else if (text.split("/").some((part) => part === "." || part === "..")) {
    problems.push(`${where}.sharepoint_url_part must not hold "." or ".." as a folder.`);
  }
  return text.replace(/(?<=.)\/+$/, "");
}

function readText(value: unknown, where: string, problems: string[]): string {
  if (typeof value === "string") return value;
  problems.push(`${where} must be text.`);
  return "";
}
