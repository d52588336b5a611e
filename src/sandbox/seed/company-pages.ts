import { addPage, editPage, type PageContent } from "../tenant/page-operations.ts";
import type { Tenant } from "../tenant/tenant.ts";

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
export function seedPages(tenant: Tenant): void {
  for (const { name, at, by, ...content } of COMPANY_PAGES) addPage(tenant, `${PAGES}/${name}`, content, { at, by });
  const text = "<h2>Prices</h2><p>From 1 May a lunch costs 5.20 euros. (To be approved.)</p>";
  editPage(tenant, `${PAGES}/Canteen-Bremen.aspx`, { text }, { at: "2026-03-23T09:00:00Z", by: MILA });
}
