import type { ItemId } from "../../../contracts/ids.ts";
import type { Departed, Listed, Listing, Sighting } from "../../../contracts/source.ts";

/**
 * Lists Markdown at the end: an `llms.txt` names it early, and the page whose text it is may come long after. What turned out to
 * be another page's by then is not listed at all.
 */
export async function* markdownLast(listing: Listing): Listing {
  const held = new Map<ItemId, Sighting>();
  try {
    for (;;) {
      const { done, value } = await listing.next();
      if (done) {
        if (held.size > 0) yield [...held.values()];
        return value;
      }
      const rest = value.filter((each) => !isMarkdown(each));
      for (const each of value) if (isMarkdown(each)) held.set(each.itemId, each);
      for (const { itemId } of rest.filter(isDeparted)) held.delete(itemId);
      yield rest;
    }
  } finally {
    // Whoever stops listening stops the crawl, too.
    await listing.return("partial");
  }
}

function isMarkdown(each: Listed): each is Sighting {
  return each.kind === "sighting" && /\.(md|markdown)$/i.test(new URL(each.url).pathname);
}

function isDeparted(each: Listed): each is Departed {
  return each.kind === "departed";
}
