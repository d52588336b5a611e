import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { strToU8, zipSync, zlibSync } from "fflate";
import { addFile } from "../tenant/file-operations.ts";
import { addPage, addPagesLibrary, editPage, type PageContent } from "../tenant/page-operations.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { companyDocuments, type SeedDocument } from "./company-documents.ts";
import { seedSuppliers } from "./company-suppliers.ts";
import { parseBlocks } from "./text-blocks.ts";
import { writeDocx } from "./write-docx.ts";
import { writeHtml, writeText } from "./write-page.ts";
import { writePdf } from "./write-pdf.ts";

/** "company": the documents of a maker of cargo bikes. "empty": the same sites and libraries, nothing in them. */
export type SeedName = "company" | "empty";

const FOUNDED_AT = "2023-02-06T09:00:00Z";

export function seedTenant(tenant: Tenant, seed: SeedName): void {
  tenant.addSite("", "Tidewheel", FOUNDED_AT);
  tenant.addSite("/sites/demo", "Demo", FOUNDED_AT);
  tenant.addSite("/sites/hr", "People", FOUNDED_AT);
  tenant.addLibrary("/sites/demo/Shared Documents", { title: "Documents", at: FOUNDED_AT });
  tenant.addLibrary("/sites/demo/Contracts", { title: "Contracts", at: FOUNDED_AT });
  tenant.addLibrary("/sites/hr/Shared Documents", { title: "Documents", at: FOUNDED_AT });
  for (const site of ["/sites/demo", "/sites/hr"]) addPagesLibrary(tenant, site, { at: FOUNDED_AT });
  if (seed === "empty") return;
  for (const document of companyDocuments) {
    addFile(tenant, document.path, renderDocument(document), { at: document.modifiedAt });
  }
  seedSuppliers(tenant, FOUNDED_AT);
  seedPages(tenant);
}

interface SeedPage extends PageContent {
  readonly name: string;
  readonly at: string;
  readonly by: string;
  readonly published?: boolean;
}

const PAGES = "/sites/demo/SitePages";
const MILA = "Mila Petrovic";

const COMPANY_PAGES: readonly SeedPage[] = [
  {
    name: "Home.aspx",
    title: "Welcome to Tidewheel",
    layout: "Home",
    at: "2026-02-02T08:00:00Z",
    by: MILA,
    description: "Where to find what",
    text: "<h2>What you find here</h2><p>Policies, handbooks and manuals are in Documents, agreements in Contracts, and whom we buy from in the list Suppliers.</p><h2>Who helps</h2><p>The service desk has extension 4400, the reception in Bremen extension 4000.</p>",
  },
  {
    name: "Canteen-Bremen.aspx",
    title: "Canteen Bremen",
    at: "2026-01-19T10:30:00Z",
    by: MILA,
    description: "Opening hours and prices",
    text: "<h2>Opening hours</h2><p>The canteen serves lunch from 11:30 to 13:45 and a late meal for the second shift from 17:30 to 18:30. It is closed in calendar weeks 31 and 32, when production is closed.</p><h2>Prices</h2><p>A lunch costs 4.80 euros for employees and 7.50 euros for guests; the vegetarian dish is 50 cents cheaper. You pay with your badge.</p>",
  },
  {
    name: "Plant-Tours.aspx",
    title: "Tours of the plant",
    at: "2025-11-05T14:15:00Z",
    by: "Yusuf Brandt",
    description: "For customers, schools and neighbours",
    text: "<h2>When</h2><p>Every second Thursday at 15:00, starting at the reception, Am Deich 41. A tour takes 75 minutes and has room for 12 visitors; children may come along from the age of 10.</p><h2>Booking</h2><p>Book at extension 4127 at least two weeks ahead. Safety shoes and glasses are lent out at the reception.</p>",
  },
  {
    name: "Skerry-Colours.aspx",
    title: "The Skerry gets its colours",
    promoted: 2,
    at: "2026-02-16T07:00:00Z",
    by: "Lucia Ferrante",
    description: "News from the design review",
    text: "<p>The design review of 12 February has decided: the Skerry comes in Slate, Signal Yellow and Kelp. Coral did not make it.</p><p>Forty pilot customers will ride the pre-series before production starts on 7 September 2026.</p>",
  },
  {
    name: "How-this-site-works.aspx",
    title: "How this site works",
    at: "2023-03-01T09:00:00Z",
    by: MILA,
    wiki: "<h1>How this site works</h1><p>Every department keeps its own folder. Ask Mila Petrovic, extension 4215, for the right to edit.</p>",
  },
  {
    name: "Summer-Party-2026.aspx",
    title: "Summer party 2026",
    at: "2026-03-20T11:11:00Z",
    by: MILA,
    published: false,
    text: "<p>Draft, not agreed with the works council: the summer party is on 26 June 2026 at the Weser stadium.</p>",
  },
  {
    name: "Templates/Team-Page.aspx",
    title: "Team page",
    at: "2024-09-09T09:09:00Z",
    by: MILA,
    text: "<p>Say here what the team does and whom to ask.</p>",
  },
];

/** Published pages, news, a wiki page, a template, a page that is only a draft, and one with a draft on top. */
function seedPages(tenant: Tenant): void {
  for (const { name, at, by, ...content } of COMPANY_PAGES) addPage(tenant, `${PAGES}/${name}`, content, { at, by });
  const text = "<h2>Prices</h2><p>From 1 May a lunch costs 5.20 euros. (To be approved.)</p>";
  editPage(tenant, `${PAGES}/Canteen-Bremen.aspx`, { text }, { at: "2026-03-23T09:00:00Z", by: MILA });
}

/** The bytes of a seeded document: made once, the same on every call and on every machine. */
function renderDocument(document: SeedDocument): Uint8Array {
  const bytes = rendered.get(document.path) ?? render(document);
  rendered.set(document.path, bytes);
  return bytes;
}

const rendered = new Map<string, Uint8Array>();

function render({ path, text }: SeedDocument): Uint8Array {
  if (text === "logo") return drawLogo();
  if (text === "drawings") return packDrawings();
  const markdown = readFileSync(new URL(`texts/${text}.md`, import.meta.url), "utf8").replaceAll("\r\n", "\n");
  const blocks = parseBlocks(markdown);
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? "";
  const format = path.slice(path.lastIndexOf(".") + 1);
  if (format === "docx") return writeDocx(blocks, title);
  if (format === "pdf") return writePdf(blocks, title);
  if (format === "html") return Buffer.from(writeHtml(blocks, title));
  return Buffer.from(format === "txt" ? writeText(blocks) : markdown);
}

const LOGO_SIZE = 96;

/** A wheel: a ring and a hub on white, 8-bit grey. */
function drawLogo(): Uint8Array {
  const pixels = Buffer.alloc(LOGO_SIZE * (LOGO_SIZE + 1), 0xff);
  for (let y = 0; y < LOGO_SIZE; y++) {
    pixels[y * (LOGO_SIZE + 1)] = 0;
    for (let x = 0; x < LOGO_SIZE; x++) {
      const radius = Math.hypot(x - LOGO_SIZE / 2, y - LOGO_SIZE / 2);
      if (radius < 6 || (radius > 36 && radius < 44)) pixels[y * (LOGO_SIZE + 1) + 1 + x] = 0x30;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(LOGO_SIZE, 0);
  header.writeUInt32BE(LOGO_SIZE, 4);
  header[8] = 8;
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    pngChunk("IHDR", header),
    pngChunk("IDAT", zlibSync(pixels)),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, content: Uint8Array): Uint8Array {
  const body = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(content.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

function packDrawings(): Uint8Array {
  const parts = ["frame", "fork", "steering-rod", "cargo-bed"].map(
    (part) => [`dray-2026/${part}.step`, strToU8(`ISO-10303-21; HEADER; /* ${part}, Dray 2026 */ ENDSEC;\n`)] as const,
  );
  return zipSync(Object.fromEntries(parts), { mtime: new Date(2024, 0, 1) });
}
