import { createHash } from "node:crypto";
import type { IndexedRef } from "../contracts/search-index.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import type { StepCounts } from "./crawl-request.ts";
import type { EmbedWork } from "./embed.ts";
import { noCounts } from "./tally.ts";

/**
 * The memory of a run that compared every item and found nothing to do for the index. As long as neither the map files
 * nor what the index holds have changed since, comparing again would find the same, and is left out.
 */
interface Settled {
  readonly state: string;
  readonly counts: StepCounts;
}

/** What the index holds of the source, in one short text. Listed in another order it is another text, which costs a comparison. */
export async function digestHoldings(pages: AsyncIterable<readonly IndexedRef[]>): Promise<string> {
  const hash = createHash("sha256");
  for await (const refs of pages) {
    let text = "";
    for (const { itemId, fileId, sha256, path = "", url = "" } of refs) {
      text += `${itemId} ${fileId} ${sha256} ${path} ${url}\n`;
    }
    hash.update(text);
  }
  return hash.digest("base64");
}

/** The counts of the comparison that need not be made again; undefined when it must. */
export async function recallSettled(work: EmbedWork, holdings: string): Promise<StepCounts | undefined> {
  const state = stateOf(work, holdings);
  const isOpen = work.request.mode === "full" || work.request.retryFailed || work.job.dryRun || !work.tools.isOwn;
  // Without a look before this step, nobody has seen whether the files are there.
  if (!state || isOpen || !work.look || work.look.touched.size > 0) return undefined;
  const bytes = await readFileIfExists(work.tools.mirror.privatePath("settled.json"));
  const settled = bytes && parse(bytes.toString("utf8"));
  return settled?.state === state ? { ...noCounts(), ...settled.counts } : undefined;
}

export async function rememberSettled(work: EmbedWork, holdings: string, counts: StepCounts): Promise<void> {
  const state = stateOf({ ...work, tools: { ...work.tools, maps: (await work.tools.ledger()).version() } }, holdings);
  if (!state || !work.look?.sawAll || !work.tools.isOwn || work.job.dryRun) return;
  const settled: Settled = { state, counts };
  await writeFileAtomic(work.tools.mirror.privatePath("settled.json"), JSON.stringify(settled));
}

/** Changes when the comparison would come to other conclusions than that of an earlier release. */
const COMPARISON = 3;

/** "" when the ledger has changes that are in no file yet. */
function stateOf({ tools }: EmbedWork, holdings: string): string {
  return tools.maps && `${COMPARISON} ${tools.store} ${tools.reader} ${tools.maps} ${holdings}`;
}

function parse(text: string): Settled | undefined {
  try {
    return JSON.parse(text) as Settled;
  } catch {
    return undefined;
  }
}
