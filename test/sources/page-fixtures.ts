import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Converted } from "../../src/contracts/converter.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import { createPageConverter } from "../../src/sources/sharepoint/pages/page-converter.ts";
import { type PageOriginal, writePageOriginal } from "../../src/sources/sharepoint/pages/page-original.ts";

type Json = Record<string, unknown>;

/** JSON in an attribute, encoded the way SharePoint does it. */
export function inAttribute(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("{", "&#123;")
    .replaceAll("}", "&#125;")
    .replaceAll(":", "&#58;");
}

export function at(zoneIndex: number, sectionIndex = 1, controlIndex = 1, more: Json = {}): Json {
  return { zoneIndex, sectionIndex, controlIndex, layoutIndex: 1, ...more };
}

/** A text or a web part, in the two representations the same page has. */
export interface Control {
  readonly position: Json;
  readonly text?: string;
  readonly webPart?: Json;
  /** Inside `data-sp-htmlproperties`, in the HTML form only. */
  readonly elements?: string;
  readonly more?: Json;
}

export function htmlCanvas(controls: readonly Control[]): string {
  const divs = controls.map(({ position, text, webPart, elements = "", more }) => {
    const description = inAttribute({ controlType: text === undefined ? 3 : 4, id: "c0ffee", position, ...more });
    const inner =
      text === undefined
        ? `<div data-sp-webpart="" data-sp-webpartdataversion="1.4" data-sp-webpartdata="${inAttribute(webPart)}">` +
          `<div data-sp-componentid="">d1d91016-032f-456d-98a4-721247c305e8</div>` +
          `<div data-sp-htmlproperties="">${elements}</div></div>`
        : `<div data-sp-rte="">${text}</div>`;
    return `<div data-sp-canvascontrol="" data-sp-canvasdataversion="1.0" data-sp-controldata="${description}">${inner}</div>`;
  });
  return `<div>${divs.join("")}</div>`;
}

export function jsonCanvas(controls: readonly Control[]): string {
  const settings = { controlType: 0, pageSettingsSlice: { isDefaultDescription: true } };
  return JSON.stringify([
    ...controls.map(({ position, text, webPart, more }) =>
      text === undefined
        ? { controlType: 3, id: "c0ffee", position, webPartId: "d1d91016", webPartData: webPart, ...more }
        : { controlType: 4, id: "c0ffee", position, innerHTML: text, editorType: "CKEditor", ...more },
    ),
    settings,
  ]);
}

export function pageOf(columns: Record<string, string>, more: Partial<PageOriginal> = {}): PageOriginal {
  const address = "https://contoso.sharepoint.com/sites/demo/SitePages/News/Home.aspx";
  return { title: "Welcome", description: "", address, columns: new Map(Object.entries(columns)), ...more };
}

/** What the process step makes of a page, through a file as in a crawl; the body only, or the problem. */
export async function convert(page: PageOriginal): Promise<string> {
  return await convertText(writePageOriginal(page));
}

export async function convertText(original: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "page-"));
  try {
    const file = join(folder, "Home.aspx.html");
    await writeFile(file, original);
    const item = { itemId: "one" as ItemId, listItemId: 1, name: "Home.aspx" };
    const answers: Converted[] = [];
    const { signal } = new AbortController();
    for await (const answer of createPageConverter().convert(file, [item], signal)) answers.push(answer);
    const [answer] = answers;
    if (!answer || answers.length > 1) throw new Error(`convert one page: ${answers.length} answers`);
    if ("problem" in answer) return answer.problem;
    const html = Buffer.from(answer.document).toString();
    return html.slice(html.indexOf("<body>\n") + 7, html.indexOf("</body>"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

export async function convertCanvas(canvas: string): Promise<string> {
  const body = await convert(pageOf({ CanvasContent1: canvas }));
  return body.replace("<h1>Welcome</h1>\n", "");
}
