import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { ChangesSince, Completeness, Listed, Listing, Sighting, Source } from "../contracts/source.ts";
import { startEarly } from "../lib/start-early.ts";
import type { LastLook } from "./last-look.ts";

export type Page = readonly Listed[];

export type Heard = Pick<ChangesSince, "touched" | "gone">;

/** A look at the source on its way. */
export interface Looking {
  /** `feed`: put together from what changed and what we remember. `listing`: everything was asked for. */
  readonly by: "feed" | "listing";
  /** The feed says that nothing happened at the source since the last look. */
  readonly nothingNew: boolean;
  readonly pages: AsyncIterator<Page, Completeness>;
  /** Where the next look by the feed begins; "" when there is no feed. */
  readonly mark: string;
  /** All that the feed heard of, when it was asked. */
  readonly heard?: Heard;
}

/** The feed is believed for so many runs and so long; then everything is listed again. */
const RUNS_BY_FEED = 9;
const DAYS_BY_FEED = 7;

/** The cheap way where it can be trusted, otherwise the listing, which is the truth. */
export async function lookAtSource(
  source: Source,
  last: LastLook | undefined,
  ledger: () => Promise<Ledger>,
  job: Pick<JobContext, "signal" | "log">,
): Promise<Looking> {
  const { signal } = job;
  const mayAsk = last !== undefined && mayGoByFeed(source, last);
  const changes = mayAsk ? await askFeed(source, last.mark, ledger, signal) : undefined;
  if (mayAsk && !changes) job.log("What changed since the last look cannot be told for sure: listing everything.");
  if (changes) {
    const nothingNew = changes.touched.length + changes.gone.length === 0;
    return { by: "feed", nothingNew, pages: replay(changes, last, ledger), mark: changes.mark, heard: changes };
  }
  // Taken before the first page is asked for: what happens while we list is heard of next time.
  const mark = await askMark(source, signal);
  return { by: "listing", nothingNew: false, pages: startEarly(source.list(signal)), mark };
}

export function mayGoByFeed({ feed }: Source, { mark, listedAt, runsByFeed }: LastLook): boolean {
  const days = (Date.now() - Date.parse(listedAt)) / 86_400_000;
  return feed !== undefined && mark !== "" && runsByFeed < RUNS_BY_FEED && days >= 0 && days < DAYS_BY_FEED;
}

/** Whatever keeps the feed from answering, the listing meets it too, and says it better. */
async function askFeed(
  source: Source,
  mark: string,
  ledger: () => Promise<Ledger>,
  signal: AbortSignal,
): Promise<ChangesSince | undefined> {
  const isKnown = async (item: Sighting["itemId"]): Promise<boolean> =>
    (await (await ledger()).get(item)) !== undefined;
  return await source.feed?.since(mark, isKnown, signal).catch(() => undefined);
}

async function askMark(source: Source, signal: AbortSignal): Promise<string> {
  return (await source.feed?.mark(signal).catch(() => "")) ?? "";
}

const WITHHELD = "as at the last listing, it is not to be taken";

/** The listing as it would be: what was touched as it is now, what was not as it was. */
async function* replay(changes: ChangesSince, last: LastLook | undefined, ledger: () => Promise<Ledger>): Listing {
  const withheld = new Set(last?.withheld);
  const heardOf = new Set([...changes.gone, ...changes.touched.map(({ itemId }) => itemId)]);
  for await (const entries of (await ledger()).entries()) {
    const page: Sighting[] = [];
    for (const { itemId, seen, mirrored } of entries) {
      if (!seen || heardOf.has(itemId)) continue;
      const { size, modifiedAt } = seen;
      const { etag = "", contentVersion = "" } = mirrored?.fingerprint ?? {};
      const sighting = changes.recall({ itemId, ...seen, fingerprint: { size, modifiedAt, etag, contentVersion } });
      page.push(withheld.has(itemId) ? { ...sighting, withheld: WITHHELD } : sighting);
    }
    yield page;
  }
  yield changes.touched;
  return "complete";
}
