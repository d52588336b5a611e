import { html } from "hono/html";
import type { Listing, PageFacts } from "../routing/listing.ts";
import type { Frame, Html } from "./layout.ts";

/** Rows of a table on a page if the request gives no limit. */
export const PAGE_ROWS = 50;

export interface Column<T> {
  /** The column's name in `sort`; absent if the table cannot be sorted by it. */
  readonly sort?: string;
  readonly title: string;
  readonly cell: (row: T) => Html | string | number;
  /** Numbers are aligned at the end. */
  readonly align?: "end";
}

export interface PagedTable<T> {
  /** Unique on the page. */
  readonly id: string;
  /** For screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly listing: Listing;
  readonly page: PageFacts | undefined;
  /** Shown instead of a table without rows. */
  readonly empty: Html | string;
  readonly frame: Frame;
  /** On phones rows become cards, unless there are too many columns. */
  readonly onPhones?: "table";
  /** Further filters, as selects with a name and a label; a change reloads the table. */
  readonly filters?: Html;
  /** The parameters of `filters`, so that the form does not send them twice. */
  readonly filterParameters?: readonly string[];
}

/**
 * A table that sorts, filters and pages by reloading its own address: it never holds more rows than it shows. Works with links and a form;
 * with table.js only the table is replaced.
 */
export function pagedTable<T>(table: PagedTable<T>): Html {
  const { id, caption, columns, rows } = table;
  return html`<div class="paged-table ${table.onPhones === "table" ? "cards-not" : ""}" id="${id}" data-table>
<div class="table-tools">${filterForm(table)}</div>
${
  rows.length === 0
    ? html`<p class="table-empty">${table.listing.filter === "" ? table.empty : html`Nothing matches <strong><bdi>${table.listing.filter}</bdi></strong>.`}</p>`
    : html`<div class="scroll-x" tabindex="0" role="group" aria-label="${caption}"><table>
<caption class="visually-hidden">${caption}</caption>
<thead><tr>${columns.map((column) => heading(column, table))}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${columns.map((column) => html`<td class="${column.align ?? ""}" data-label="${column.title}"><div>${column.cell(row)}</div></td>`)}</tr>`)}</tbody>
</table></div>`
}
${pager(table)}
</div>`;
}

function heading<T>({ sort, title, align }: Column<T>, { id, listing, frame }: PagedTable<T>): Html {
  if (sort === undefined) return html`<th scope="col" class="${align ?? ""}">${title}</th>`;
  const now = listing.sort === sort ? "ascending" : listing.sort === `-${sort}` ? "descending" : "none";
  const next = now === "ascending" ? `-${sort}` : sort;
  return html`<th scope="col" class="${align ?? ""}" aria-sort="${now}"><a id="${id}-by-${sort}" href="${addressWith(frame, { sort: next, offset: "" })}">${title}</a></th>`;
}

function filterForm<T>({ id, listing, frame, caption, filters, filterParameters = [] }: PagedTable<T>): Html {
  const sent = ["filter", "offset", ...filterParameters];
  const others = [...frame.url.searchParams].filter(([name]) => !sent.includes(name));
  return html`<form class="filter" action="${frame.url.pathname}" method="get" role="search" aria-label="Filter ${caption}">
${others.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<label class="visually-hidden" for="${id}-filter">Filter</label><input id="${id}-filter" type="search" name="filter" value="${listing.filter}" placeholder="Filter" autocomplete="off">
${filters ?? ""}
<button>Filter</button>
</form>`;
}

/** Links to the pages before and after; "" if this is all. */
export function pager<T>({
  id,
  page,
  rows,
  frame,
  caption,
}: Pick<PagedTable<T>, "id" | "page" | "rows" | "frame" | "caption">): Html | "" {
  if (!page || (page.offset === 0 && !page.more)) return "";
  const { offset, limit, total, more } = page;
  const before = offset > 0 ? addressWith(frame, { offset: String(Math.max(0, offset - limit)) }) : undefined;
  const after = more ? addressWith(frame, { offset: String(offset + limit) }) : undefined;
  const of = total === undefined ? "" : ` of ${total}`;
  const shown = rows.length === 0 ? "nothing here" : `${offset + 1}–${offset + rows.length}${of}`;
  return html`<nav class="pager" aria-label="Pages of ${caption}">
<span data-part="range">${shown}</span>
<span class="pager-links">
${before ? html`<a class="button small" id="${id}-before" href="${before}" rel="prev">Previous</a>` : ""}
${after ? html`<a class="button small" id="${id}-after" href="${after}" rel="next">Next</a>` : ""}
</span>
</nav>`;
}

/** Returns this page's address with changed parameters; "" removes one. */
export function addressWith({ url }: Frame, changes: Readonly<Record<string, string>>): string {
  const params = new URLSearchParams(url.searchParams);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") params.delete(name);
    else params.set(name, value);
  }
  return `${url.pathname}?${params}`;
}
