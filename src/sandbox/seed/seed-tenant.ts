import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { strToU8, zipSync, zlibSync } from "fflate";
import { addAttachment } from "../sharepoint/tenant/attachments.ts";
import { addFile } from "../sharepoint/tenant/file-operations.ts";
import { addList, addListItem, type NewColumn, rowOf } from "../sharepoint/tenant/list-operations.ts";
import { addPage, addPagesLibrary, editPage, type PageContent } from "../sharepoint/tenant/page-operations.ts";
import type { Tenant } from "../sharepoint/tenant/tenant.ts";
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

/** A document of the seeded company: where it lies, which text it is made of, when it was last changed. */
interface SeedDocument {
  /** From the host's root. The extension decides the format. */
  readonly path: string;
  /** A file in `texts/`, or "logo" and "drawings" for the two that are no text. */
  readonly text: string;
  readonly modifiedAt: string;
}

const DOCUMENTS = "/sites/demo/Shared Documents";
const CONTRACTS = "/sites/demo/Contracts";
const PEOPLE = "/sites/hr/Shared Documents";

function document(path: string, text: string, modifiedAt: string): SeedDocument {
  return { path, text, modifiedAt };
}

export const companyDocuments: readonly SeedDocument[] = [
  document(`${DOCUMENTS}/Policies/Travel.docx`, "travel", "2025-12-15T10:12:31Z"),
  document(`${DOCUMENTS}/Policies/Remote Work.docx`, "remote-work", "2025-08-20T14:40:02Z"),
  document(`${DOCUMENTS}/Policies/Expense Reimbursement.pdf`, "expenses", "2025-12-15T10:31:55Z"),
  document(`${DOCUMENTS}/Policies/Code of Conduct.pdf`, "conduct", "2025-03-03T16:05:00Z"),
  document(`${DOCUMENTS}/Policies/Information Security.docx`, "infosec", "2025-09-24T08:17:44Z"),
  document(`${DOCUMENTS}/Policies/Data Retention.md`, "retention", "2025-06-26T12:00:09Z"),
  document(`${DOCUMENTS}/HR/Employee Handbook.docx`, "handbook", "2026-01-05T09:30:00Z"),
  document(`${DOCUMENTS}/HR/Parental Leave.docx`, "parental", "2025-11-18T13:22:10Z"),
  document(`${DOCUMENTS}/HR/Onboarding Checklist.md`, "onboarding", "2026-01-12T07:58:41Z"),
  document(`${DOCUMENTS}/HR/Benefits Overview.html`, "benefits", "2026-01-07T15:10:26Z"),
  document(`${DOCUMENTS}/HR/Überstundenregelung.docx`, "ueberstunden", "2025-03-28T11:45:13Z"),
  document(`${DOCUMENTS}/Engineering/Dray Assembly Manual.pdf`, "dray-manual", "2026-01-15T06:50:37Z"),
  document(`${DOCUMENTS}/Engineering/Battery Pack BP-625 Specification.pdf`, "battery", "2025-09-22T13:03:18Z"),
  document(`${DOCUMENTS}/Engineering/Firmware Release Process.md`, "firmware", "2026-02-04T10:20:50Z"),
  document(`${DOCUMENTS}/Engineering/Test Reports/Frame Fatigue Dray 2026.docx`, "fatigue", "2025-11-28T15:44:29Z"),
  document(`${DOCUMENTS}/Engineering/Motor Controller Error Codes.html`, "error-codes", "2026-01-22T09:09:09Z"),
  document(
    `${DOCUMENTS}/Engineering/Meeting Notes/2026-02-12 Design Review Skerry.md`,
    "skerry-review",
    "2026-02-13T08:31:00Z",
  ),
  document(`${DOCUMENTS}/Engineering/Dray CAD 2026-03.zip`, "drawings", "2026-03-02T17:20:05Z"),
  document(`${DOCUMENTS}/Finance/Annual Report 2025.pdf`, "annual-report", "2026-03-27T12:15:00Z"),
  document(`${DOCUMENTS}/Finance/Budget 2026.docx`, "budget", "2025-12-12T09:02:47Z"),
  document(`${DOCUMENTS}/Finance/Purchasing Guideline.docx`, "purchasing", "2025-12-16T14:28:33Z"),
  document(`${DOCUMENTS}/Finance/Chart of Accounts.txt`, "accounts", "2026-01-02T08:00:21Z"),
  document(`${DOCUMENTS}/Sales/Price List 2026.html`, "price-list", "2026-01-26T16:36:12Z"),
  document(`${DOCUMENTS}/Sales/Dealer Programme.docx`, "dealers", "2025-12-19T10:10:10Z"),
  document(`${DOCUMENTS}/Sales/Warranty Terms.pdf`, "warranty", "2025-01-02T09:41:58Z"),
  document(`${DOCUMENTS}/Sales/It's #1 & 100% + 😀.docx`, "campaign", "2026-02-27T11:54:06Z"),
  document(`${DOCUMENTS}/Sales/カーゴバイク市場調査.docx`, "japan", "2026-03-06T05:12:40Z"),
  document(`${DOCUMENTS}/Sales/Tidewheel Logo.png`, "logo", "2024-05-14T13:37:00Z"),
  document(`${DOCUMENTS}/IT/VPN Setup.txt`, "vpn", "2026-03-02T09:25:14Z"),
  document(`${DOCUMENTS}/IT/Backup and Recovery.md`, "backup", "2026-01-26T18:07:52Z"),
  document(`${DOCUMENTS}/IT/Service Desk FAQ.html`, "helpdesk", "2026-02-09T07:45:30Z"),
  document(`${CONTRACTS}/Suppliers/Supply Agreement Nordlicht Batteries.docx`, "nordlicht", "2025-10-30T14:00:00Z"),
  document(`${CONTRACTS}/Lease Bremen Plant.pdf`, "lease", "2025-08-18T10:48:27Z"),
  document(`${CONTRACTS}/Customers/Framework Agreement City of Utrecht.docx`, "utrecht", "2026-03-04T12:33:19Z"),
  document(`${PEOPLE}/Hiring/Interview Guide.docx`, "interviews", "2026-02-17T09:15:48Z"),
];

const LOCATIONS = "/sites/demo/Lists/Locations";
const SUPPLIERS = "/sites/demo/Lists/Suppliers";

const COLUMNS: readonly NewColumn[] = [
  { title: "Category", type: "Choice", choices: ["Batteries", "Frames", "Brakes", "Drive", "Services"], indexed: true },
  { title: "Supplies", type: "Note" },
  { title: "Assessment", type: "Note", richText: true },
  { title: "Country", type: "TaxonomyFieldType" },
  { title: "Certificates", type: "Choice", multiple: true, choices: ["ISO 9001", "ISO 14001", "UN 38.3"] },
  { title: "Delivers to", type: "Lookup", multiple: true, lookupList: LOCATIONS },
  { title: "Buyer", type: "User" },
  { title: "Annual volume", type: "Currency", currencyLocaleId: 1031 },
  { title: "Payment days", type: "Number" },
  { title: "Safety relevant", type: "Boolean" },
  { title: "Next audit", type: "DateTime", dateOnly: true },
  { title: "Website", type: "URL" },
];

const JORIS = "Joris van den Berg";
const SANNE = "Sanne Bakker";

interface Supplier {
  readonly values: Readonly<Record<string, unknown>>;
  readonly at: string;
  readonly by: string;
}

function supplier(title: string, at: string, by: string, values: Readonly<Record<string, unknown>>): Supplier {
  const host = title.toLowerCase().split(" ")[0] ?? "";
  const website = { Url: `https://www.${host}.example`, Description: title };
  return { at, by, values: { Title: title, Buyer: by, Website: website, ...values } };
}

const SUPPLIER_ROWS: readonly Supplier[] = [
  supplier("Nordlicht Batteries AS", "2026-01-08T09:12:00Z", JORIS, {
    Category: "Batteries",
    Supplies: "Battery packs BP-625 and BP-750.\nContact: Astrid Solheim, Trondheim.",
    Assessment:
      "<p>Our only source of battery packs. Agreement <b>C-2025-061</b> runs to the end of 2028.</p><ul><li>Safety stock of 1,200 packs BP-625 in Bremerhaven</li><li>From July 2026 up to 20 percent of the BP-750 may come from elsewhere</li></ul>",
    Country: "Norway",
    Certificates: ["ISO 9001", "UN 38.3"],
    "Delivers to": ["Bremen"],
    "Annual volume": 4754000,
    "Payment days": 45,
    "Safety relevant": true,
    "Next audit": "2027-10-14T00:00:00Z",
  }),
  supplier("Zellwerk Lübeck GmbH", "2026-03-11T14:40:00Z", JORIS, {
    Category: "Batteries",
    Supplies: "Candidate for the second source of the BP-750. First samples are due on 29 May 2026.",
    Assessment: "<p>Not approved yet. Cell supply and end-of-line test to be shown in the first audit.</p>",
    Country: "Germany",
    Certificates: ["ISO 9001"],
    "Annual volume": 0,
    "Payment days": 30,
    "Safety relevant": true,
    "Next audit": "2026-06-17T00:00:00Z",
  }),
  supplier("Rohrbau Thüringen GmbH", "2025-11-20T08:05:00Z", JORIS, {
    Category: "Frames",
    Supplies: "Drawn steel and aluminium tubes for frames and forks.",
    Assessment: "<p>Delivery on the agreed day in 97 percent of the cases in 2025.</p>",
    Country: "Germany",
    Certificates: ["ISO 9001", "ISO 14001"],
    "Delivers to": ["Bremen"],
    "Annual volume": 2180000,
    "Payment days": 30,
    "Safety relevant": true,
    "Next audit": "2026-09-08T00:00:00Z",
  }),
  supplier("Vellum Lagertechnik GmbH", "2026-02-18T16:22:00Z", JORIS, {
    Category: "Frames",
    Supplies: "Bearings and bushings, among them the tie rod bushing of the Skerry.",
    Assessment:
      "<p>Claim of 18 February 2026: the bushing has 0.3 millimetres of play where 0.1 was agreed. New samples were promised for 27 March 2026.</p>",
    Country: "Germany",
    Certificates: ["ISO 9001"],
    "Delivers to": ["Bremen", "Aarhus"],
    "Annual volume": 310000,
    "Payment days": 30,
    "Safety relevant": true,
    "Next audit": "2026-04-21T00:00:00Z",
  }),
  supplier("Remmetech BV", "2025-12-02T10:00:00Z", SANNE, {
    Category: "Brakes",
    Supplies: "Hydraulic brakes, brake discs and mineral oil.",
    Assessment: "<p>No complaint since 2023.</p>",
    Country: "Netherlands",
    Certificates: ["ISO 9001", "ISO 14001"],
    "Delivers to": ["Bremen", "Utrecht"],
    "Annual volume": 1460000,
    "Payment days": 30,
    "Safety relevant": true,
    "Next audit": "2027-02-03T00:00:00Z",
  }),
  supplier("Strømdrev A/S", "2026-01-27T11:31:00Z", SANNE, {
    Category: "Drive",
    Supplies: "Motors TW-85 and TW-90 with their controllers.",
    Assessment: "<p>Develops the TW-90 together with the lab in Aarhus.</p>",
    Country: "Denmark",
    Certificates: ["ISO 9001"],
    "Delivers to": ["Bremen", "Aarhus"],
    "Annual volume": 5920000,
    "Payment days": 45,
    "Safety relevant": false,
  }),
  supplier("Riemann Antriebsriemen KG", "2025-10-06T07:50:00Z", SANNE, {
    Category: "Drive",
    Supplies: "Drive belts and sprockets.",
    Country: "Germany",
    "Delivers to": ["Bremen", "Utrecht"],
    "Annual volume": 640000,
    "Payment days": 14,
    "Safety relevant": false,
  }),
  supplier("Leuchtfeuer Optik GmbH", "2025-09-15T13:13:00Z", SANNE, {
    Category: "Drive",
    Supplies: "Front, rear and brake lights.",
    Country: "Germany",
    Certificates: ["ISO 9001"],
    "Delivers to": ["Bremen"],
    "Annual volume": 395000,
    "Payment days": 30,
    "Safety relevant": false,
  }),
  supplier("Wabenplatte Oy", "2026-02-24T09:09:00Z", JORIS, {
    Category: "Frames",
    Supplies: "Honeycomb floors for the cargo box of the Skerry.",
    Assessment: "<p>Minimum order 200 floors; lead time 7 weeks.</p>",
    Country: "Finland",
    "Delivers to": ["Bremen"],
    "Annual volume": 88000,
    "Payment days": 30,
    "Safety relevant": false,
  }),
  supplier("Kistenkreis eG", "2025-10-01T06:30:00Z", SANNE, {
    Category: "Services",
    Supplies: "Reusable transport boxes for finished bikes, in use since October 2025.",
    Country: "Germany",
    "Delivers to": ["Bremen", "Utrecht"],
    "Annual volume": 212000,
    "Payment days": 30,
    "Safety relevant": false,
  }),
  supplier("Deichstrom Energie eG", "2025-12-30T15:45:00Z", SANNE, {
    Category: "Services",
    Supplies: "Electricity from wind power for the plant.",
    Country: "Germany",
    "Delivers to": ["Bremen"],
    "Annual volume": 540000,
    "Payment days": 14,
    "Safety relevant": false,
  }),
  supplier("Polderpost Logistiek BV", "2026-03-03T12:00:00Z", SANNE, {
    Category: "Services",
    Supplies: "Delivery of bikes to dealers in the Netherlands and Belgium; collects on Tuesdays and Fridays.",
    Country: "Netherlands",
    Certificates: ["ISO 14001"],
    "Delivers to": ["Utrecht"],
    "Annual volume": 730000,
    "Payment days": 30,
    "Safety relevant": false,
  }),
];

const TRANSPORT_CERTIFICATE = `Certificate 2025-0417: transport tests UN 38.3

Battery pack BP-625, maker Nordlicht Batteries AS, Trondheim.
The tests T1 to T8 were passed in the laboratory in Trondheim between 3 and 28 March 2025.
The certificate is valid until the cells or the housing are changed.
Copies for carriers are handed out by Quality, Anneke de Vries.
`;

const BUSHING_CLAIM = `# Claim Q-2026-014: tie rod bushing

To Vellum Lagertechnik GmbH, 18 February 2026, by Anneke de Vries.

On prototype P4 of the Skerry the left bushing has 0.3 millimetres of play; drawing ENG-2207 allows 0.1.
We ask for a report on the cause by 6 March and for 40 new samples by 27 March 2026.
Until then the remaining 160 bushings are blocked in shelf Q 3.
`;

/** A list of mixed columns, one looking up another list, two rows with a file. */
function seedSuppliers(tenant: Tenant, foundedAt: string): void {
  addList(tenant, LOCATIONS, { title: "Locations", at: foundedAt });
  for (const Title of ["Bremen", "Utrecht", "Aarhus"]) addListItem(tenant, LOCATIONS, { Title }, { at: foundedAt });
  const list = addList(tenant, SUPPLIERS, { title: "Suppliers", at: foundedAt, columns: COLUMNS });
  for (const { values, at, by } of SUPPLIER_ROWS) addListItem(tenant, SUPPLIERS, values, { at, by });
  const [nordlicht, vellum] = [rowOf(list, 1), rowOf(list, 4)];
  const certificate = { name: "Certificate UN 38.3 BP-625.txt", content: TRANSPORT_CERTIFICATE };
  addAttachment(tenant, nordlicht, certificate, { at: "2026-01-09T08:00:00Z" });
  addAttachment(
    tenant,
    vellum,
    { name: "Claim Q-2026-014.md", content: BUSHING_CLAIM },
    { at: "2026-02-18T16:30:00Z" },
  );
}
