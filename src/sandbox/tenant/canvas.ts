import { guidFrom } from "./guid-sequence.ts";

/** Text that is no markup yet: paragraphs are parted by empty lines. */
export function toHtml(text: string): string {
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
export function canvasOf(html: string, key: string): string {
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
export function titleAreaOf(title: string): string {
  const webPart = {
    id: "cbe7b0a9-3504-44dd-a3a3-0e5cacd07788",
    instanceId: "cbe7b0a9-3504-44dd-a3a3-0e5cacd07788",
    title: "Title area",
    properties: { title, layoutType: "FullWidthImage" },
  };
  return `<div><div data-sp-canvascontrol="" data-sp-canvasdataversion="1.4" data-sp-controldata="${escapeAttribute(JSON.stringify(webPart))}"></div></div>`;
}

/** The stored page: the canvas again, among the properties of the file. */
export function aspxOf(fields: { readonly title: string; readonly canvas: string; readonly wiki: string }): string {
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
