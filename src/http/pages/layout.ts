import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import { mayAct, type Principal, type Role } from "../../contracts/access.ts";
import type { ProductFacts } from "../http-env.ts";

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** What every page shows around its content. */
export interface Frame {
  readonly product: ProductFacts;
  /** undefined: the user has not signed in. */
  readonly principal: Principal | undefined;
  /** The address of the page itself. */
  readonly url: URL;
}

export interface Layout {
  readonly title: string;
  readonly body: Html;
  readonly frame: Frame;
  /** Scripts of this page below `/assets/`, in addition to the one of all pages. */
  readonly modules?: readonly string[];
}

/**
 * The frame of every page. The template escapes texts. Users who have not signed in see only the content: no link of the navigation would
 * work for them.
 */
export function layout({ title, body, frame, modules = [] }: Layout): Html {
  const { principal } = frame;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/assets/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/lockstep.css">
<script type="module" src="/assets/lockstep.js"></script>
${modules.map((name) => html`<script type="module" src="/assets/${name}"></script>`)}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<div class="frame ${principal ? "" : "bare"}">
${principal ? navigation(frame, principal) : ""}
<main id="main" tabindex="-1">
${body}
</main>
</div>
<p class="visually-hidden" role="status" id="announcer"></p>
</body>
</html>`;
}

/** Tells whether to show the user what needs the role; the endpoints refuse it anyway. */
export function mayChange({ principal }: Frame, needed: Role): boolean {
  return principal !== undefined && mayAct(principal, needed);
}

interface NavigationEntry {
  readonly icon: IconName;
  readonly name: string;
  readonly path: string;
  /** The path prefix of the entry's pages, if it is not `path`. */
  readonly section?: string;
}

const ENTRIES: readonly NavigationEntry[] = [
  { icon: "overview", name: "Overview", path: "/" },
  { icon: "search", name: "Search", path: "/v2/search" },
  { icon: "domains", name: "Domains", path: "/v2/domains" },
  { icon: "crawler", name: "Crawler", path: "/v2/crawler" },
  { icon: "web", name: "Web", path: "/v2/ingest/items", section: "/v2/ingest" },
  { icon: "jobs", name: "Jobs", path: "/v2/jobs" },
  { icon: "inventory", name: "Inventory", path: "/v2/inventory" },
  { icon: "reports", name: "Reports", path: "/v2/reports" },
];

/** For those who may only read. */
const READER_ENTRIES: readonly NavigationEntry[] = [
  { icon: "overview", name: "Start", path: "/" },
  { icon: "search", name: "Search", path: "/v2/search" },
];

const ADMIN_ENTRIES: readonly NavigationEntry[] = [
  { icon: "keys", name: "Keys", path: "/v2/keys" },
  { icon: "audit", name: "Audit", path: "/v2/audit" },
];

/** The navigation beside every page. On phones its menu is a popover, which needs no script. */
export function navigation(frame: Frame, principal: Principal): Html {
  const { product, url } = frame;
  const isAdmin = mayAct(principal, "admin");
  const entries = mayAct(principal, "operate") ? ENTRIES : READER_ENTRIES;
  return html`<header class="rail">
<a class="wordmark" href="/"><img src="/assets/favicon.svg" alt="" width="28" height="28">lockstep</a>
<button class="menu-button small" type="button" popovertarget="navigation">Menu</button>
<div class="nav" id="navigation" popover>
<nav aria-label="Pages"><ul>${entries.map((entry) => link(entry, url))}</ul></nav>
${isAdmin ? html`<nav aria-labelledby="administration"><p class="nav-title" id="administration">Administration</p><ul>${ADMIN_ENTRIES.map((entry) => link(entry, url))}</ul></nav>` : ""}
<div class="rail-end">
${principal.kind === "local" ? "" : whoIsHere(principal)}
<ul class="product-facts"><li>lockstep ${product.version}</li><li>${product.backend} backend</li><li><a href="/v2">HTTP interface</a></li></ul>
</div>
</div>
</header>`;
}

/** Returns the navigation entry that a page belongs to, of those that its user has. */
export function sectionOf(frame: Frame): { readonly name: string; readonly address: string } {
  const entries = mayChange(frame, "operate") ? [...ENTRIES, ...ADMIN_ENTRIES] : READER_ENTRIES;
  const section = entries.find((entry) => isInSection(entry, frame.url.pathname));
  return section ? { name: section.name, address: pageAddress(section) } : { name: "the start", address: "/" };
}

function isInSection({ path, section = path }: NavigationEntry, pathname: string): boolean {
  return path === "/" ? pathname === "/" : pathname === section || pathname.startsWith(`${section}/`);
}

function pageAddress({ path }: NavigationEntry): string {
  return path === "/" ? path : `${path}?format=ui`;
}

function link(entry: NavigationEntry, { pathname }: URL): Html {
  const { icon: name, name: word, path } = entry;
  const here = isInSection(entry, pathname);
  const current = pathname === path ? html`aria-current="page"` : here ? html`aria-current="true"` : "";
  return html`<li><a href="${pageAddress(entry)}" ${current}>${icon(name)}${word}</a></li>`;
}

function whoIsHere({ name, role }: Principal): Html {
  return html`<div class="who"><p><strong><bdi>${name}</bdi></strong>${role}</p>
<form action="/sign-out" method="post"><button class="small">Sign out</button></form></div>`;
}

/** Paths on a grid of 24 by 24. Decoration only: the word beside the icon says what it is. */
const STROKES = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4",
  domains: "M12 3 3 8l9 5 9-5zM3 12.5l9 5 9-5M3 17l9 5 9-5",
  crawler: "M20 11a8 8 0 0 0-14.5-3.5L4 9M4 4v5h5M4 13a8 8 0 0 0 14.5 3.5L20 15M20 20v-5h-5",
  web: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c3 2.6 3.8 5.8 3.8 9s-.8 6.4-3.8 9c-3-2.6-3.8-5.8-3.8-9S9 5.6 12 3z",
  jobs: "M5 6h14M5 12h14M5 18h8M3 6h.01M3 12h.01M3 18h.01",
  inventory:
    "M4 7c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zM4 7v10c0 1.7 3.6 3 8 3s8-1.3 8-3V7M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
  reports: "M7 3h7l5 5v13H7zM14 3v5h5M10 13h6M10 17h6",
  keys: "M14 10a4 4 0 1 0-3.5 4L12 12.5h2V11h1.5L20 6.5V4h-2.5z",
  audit: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4",
} as const;

type IconName = keyof typeof STROKES;

function icon(name: IconName): Html {
  return html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${raw(STROKES[name])}"/></svg>`;
}
