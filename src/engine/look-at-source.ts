import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger, ListingNote } from "../contracts/ledger.ts";
import type { ChangesSince, Completeness, Listed, Listing, Sighting, Source } from "../contracts/source.ts";
import { startEarly } from "../lib/start-early.ts";

export type Page = readonly Listed[];

export type Heard = Pick<ChangesSince, "touched" | "gone" | "recall">;

/** A look at the source on its way. `mark` is where the next look by the feed begins; "" when there is no feed. */
export type Looking =
  /** The source told what changed since the last look. */
  | { readonly by: "feed"; readonly heard: Heard; readonly mark: string }
  /** Everything was asked for. */
  | { readonly by: "listing"; readonly pages: AsyncIterator<Page, Completeness>; readonly mark: string };

/** The feed is believed for so many runs and so long; then everything is listed again. */
const RUNS_BY_FEED = 9;
const DAYS_BY_FEED = 7;

/** The cheap way where it can be trusted, otherwise the listing, which is the truth. */
export async function lookAtSource(
  source: Source,
  last: ListingNote | undefined,
  ledger: Ledger,
  job: Pick<JobContext, "signal" | "log">,
): Promise<Looking> {
  const { signal } = job;
  const mayAsk = last !== undefined && mayGoByFeed(source, last);
  const changes = mayAsk ? await askFeed(source, last.mark, ledger, signal) : undefined;
  if (changes) return { by: "feed", heard: changes, mark: changes.mark };
  return mayAsk ? await listInDoubt(source, job) : await startListing(source, signal);
}

/** What the feed told is not enough. */
export async function listInDoubt(source: Source, job: Pick<JobContext, "signal" | "log">): Promise<Looking> {
  job.log("What changed since the last look cannot be told for sure: listing everything.");
  return await startListing(source, job.signal);
}

async function startListing(source: Source, signal: AbortSignal): Promise<Looking> {
  // Taken before the first page is asked for: what happens while we list is heard of next time.
  const mark = await askMark(source, signal);
  return { by: "listing", pages: startEarly(source.list(signal)), mark };
}

function mayGoByFeed({ feed }: Source, { mark, listedAt, runsByFeed }: ListingNote): boolean {
  const days = (Date.now() - Date.parse(listedAt)) / 86_400_000;
  return feed !== undefined && mark !== "" && runsByFeed < RUNS_BY_FEED && days >= 0 && days < DAYS_BY_FEED;
}

/** Whatever keeps the feed from answering, the listing meets it too, and says it better. */
async function askFeed(
  source: Source,
  mark: string,
  ledger: Ledger,
  signal: AbortSignal,
): Promise<ChangesSince | undefined> {
  const isKnown = async (item: ItemId): Promise<boolean> => (await ledger.get(item)) !== undefined;
  return await source.feed?.since(mark, isKnown, signal).catch(() => undefined);
}

async function askMark(source: Source, signal: AbortSignal): Promise<string> {
  return (await source.feed?.mark(signal).catch(() => "")) ?? "";
}

const WITHHELD = "as at the last listing, it is not to be taken";
const PAGE = 1000;

/** What a listing would say of these: what was touched as it is now, what was not as it was. */
export async function* recallListing({ touched, recall }: Heard, suspects: readonly ItemId[], ledger: Ledger): Listing {
  for (let from = 0; from < suspects.length; from += PAGE) {
    const page: Sighting[] = [];
    for (const entry of await ledger.getMany(suspects.slice(from, from + PAGE))) {
      if (!entry?.seen) continue;
      const { itemId, seen, mirrored } = entry;
      const { size, modifiedAt } = seen;
      const { etag = "", contentVersion = "" } = mirrored?.fingerprint ?? {};
      const sighting = recall({ itemId, ...seen, fingerprint: { size, modifiedAt, etag, contentVersion } });
      page.push(seen.withheld ? { ...sighting, withheld: WITHHELD } : sighting);
    }
    yield page;
  }
  yield touched;
  return "complete";
}
