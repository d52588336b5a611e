import { html } from "hono/html";
import { mayAct, type Principal } from "../../contracts/access.ts";
import type { Frame, Html } from "./layout.ts";
import { type IconName, icon } from "./nav-icons.ts";

interface Place {
  readonly icon: IconName;
  readonly name: string;
  readonly path: string;
  /** Where everything of it is, when that is not below `path`. */
  readonly around?: string;
}

const PLACES: readonly Place[] = [
  { icon: "overview", name: "Overview", path: "/" },
  { icon: "search", name: "Search", path: "/v2/search" },
  { icon: "domains", name: "Domains", path: "/v2/domains" },
  { icon: "crawler", name: "Crawler", path: "/v2/crawler" },
  { icon: "web", name: "Web", path: "/v2/ingest/items", around: "/v2/ingest" },
  { icon: "jobs", name: "Jobs", path: "/v2/jobs" },
  { icon: "inventory", name: "Inventory", path: "/v2/inventory" },
  { icon: "reports", name: "Reports", path: "/v2/reports" },
];

const ADMIN_PLACES: readonly Place[] = [
  { icon: "keys", name: "Keys", path: "/v2/keys" },
  { icon: "audit", name: "Audit", path: "/v2/audit" },
];

/** The rail beside every page. On phones its menu opens as a popover, which needs no script. */
export function navigation(frame: Frame, principal: Principal): Html {
  const { product, url } = frame;
  const administers = mayAct(principal, "admin");
  return html`<header class="rail">
<a class="wordmark" href="/"><img src="/assets/favicon.svg" alt="" width="28" height="28">lockstep</a>
<button class="menu-button small" type="button" popovertarget="navigation">Menu</button>
<div class="nav" id="navigation" popover>
<nav aria-label="Pages"><ul>${PLACES.map((place) => link(place, url))}</ul></nav>
${administers ? html`<nav aria-labelledby="administration"><p class="nav-title" id="administration">Administration</p><ul>${ADMIN_PLACES.map((place) => link(place, url))}</ul></nav>` : ""}
<div class="rail-end">
${principal.kind === "local" ? "" : whoIsHere(principal)}
<ul class="product-facts"><li>lockstep ${product.version}</li><li>${product.backend} backend</li><li><a href="/v2">HTTP interface</a></li></ul>
</div>
</div>
</header>`;
}

/** The page that an address belongs to. */
export function placeAround(pathname: string): { readonly name: string; readonly address: string } {
  const around = [...PLACES, ...ADMIN_PLACES].find((place) => isAround(place, pathname));
  return around ? { name: around.name, address: addressOf(around) } : { name: "the overview", address: "/" };
}

function isAround({ path, around = path }: Place, pathname: string): boolean {
  return path === "/" ? pathname === "/" : pathname === around || pathname.startsWith(`${around}/`);
}

function addressOf({ path }: Place): string {
  return path === "/" ? path : `${path}?format=ui`;
}

function link(place: Place, { pathname }: URL): Html {
  const { icon: name, name: word, path } = place;
  const here = isAround(place, pathname);
  const current = pathname === path ? html`aria-current="page"` : here ? html`aria-current="true"` : "";
  return html`<li><a href="${addressOf(place)}" ${current}>${icon(name)}${word}</a></li>`;
}

function whoIsHere({ name, role }: Principal): Html {
  return html`<div class="who"><p><strong><bdi>${name}</bdi></strong>${role}</p>
<form action="/sign-out" method="post"><button class="small">Sign out</button></form></div>`;
}
