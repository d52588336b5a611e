import { addAttachment } from "../tenant/attachments.ts";
import { addList, addListItem, type NewColumn, rowOf } from "../tenant/list-operations.ts";
import type { Tenant } from "../tenant/tenant.ts";

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
export function seedSuppliers(tenant: Tenant, foundedAt: string): void {
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
