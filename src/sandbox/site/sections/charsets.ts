import { htmlDocument, listed } from "../render-page.ts";
import type { MakeSection, SiteDocument } from "../site-section.ts";

/** A word with letters that every charset spells in its own way. */
export const UMLAUTS = "Fährgröße";

const KINDS: Readonly<
  Record<string, { readonly contentType: string; readonly meta: string; encode(html: string): Uint8Array }>
> = {
  "meta-1252": { contentType: "text/html", meta: "windows-1252", encode: (html) => Buffer.from(html, "latin1") },
  "header-latin1": {
    contentType: "text/html; charset=ISO-8859-1",
    meta: "",
    encode: (html) => Buffer.from(html, "latin1"),
  },
  "utf16-bom": { contentType: "text/html", meta: "", encode: (html) => Buffer.from(`\ufeff${html}`, "utf16le") },
  "utf8-undeclared": { contentType: "text/html", meta: "", encode: (html) => Buffer.from(html) },
  "utf8-called-latin1": {
    contentType: "text/html; charset=ISO-8859-1",
    meta: "utf-8",
    encode: (html) => Buffer.from(html),
  },
};

/** Pages in other charsets than they should be, some of which lie about it. */
export const charsets: MakeSection = () => ({
  name: "charsets",
  entrances: Object.keys(KINDS).map((name) => `/charsets/${name}`),
  pages: () => Object.keys(KINDS).map((name) => listed(`/charsets/${name}`, wordOf(name))),
  answer(asked): SiteDocument | undefined {
    const name = asked.path.slice("/charsets/".length);
    const kind = KINDS[name];
    if (!kind) return undefined;
    const { contentType, meta, encode } = kind;
    const page = htmlDocument({ word: wordOf(name), extra: `<p>The ${UMLAUTS} of ${name}.</p>` }, asked, {
      contentType,
    });
    const declared = meta === "" ? "" : `<meta charset="${meta}">`;
    return { ...page, body: () => encode(String(page.body()).replace('<meta charset="utf-8">', declared)) };
  },
});

function wordOf(name: string): string {
  return `swan${name.replaceAll("-", "")}`;
}
