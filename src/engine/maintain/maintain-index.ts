import type { ItemId } from "../../contracts/ids.ts";
import type { Index } from "../../contracts/search-index.ts";
import { plural } from "../../lib/plural.ts";
import { slices } from "../purge-missing.ts";
import { withLedger } from "../with-ledger.ts";
import { type MaintainedTree, nameOf, orphansOf, thing, whyHeld } from "./maintained-tree.ts";

/**
 * Documents of a tree that no manifest entry stands for: readers see them although a crawl would not know them, or they are kept in case a
 * file returns that nobody could recognise.
 */
export async function sweepIndex(index: Index, work: MaintainedTree): Promise<void> {
  const { tree, request, tally } = work;
  if (tree.run.sharesId) {
    return tally.leave(
      `What the index holds of ${nameOf(tree)} was left alone: a source that was taken out had the same id, and is not gone yet. A crawl of the whole domain removes it.`,
    );
  }
  const visible = await visibleOrphans(index, work);
  const hidden = await hiddenOrphans(index, work);
  const orphans = [...visible.items, ...hidden.items];
  const held = whyHeld(orphans.length, visible.known + hidden.known, tree, request);
  if (held) {
    return tally.problem(`${plural(orphans.length, "document")} in the index of ${nameOf(tree)} stayed: ${held}`);
  }
  if (!work.job.dryRun) {
    if (visible.items.length > 0) await removeVisible(index, visible.items, work);
    for (const some of slices(orphans)) await index.forget?.(tree.run.config.sourceId, some);
  }
  for (const docId of orphans) tally.add(thing("index_documents", tree, docId, 0));
}

interface Orphans {
  readonly items: readonly ItemId[];
  readonly known: number;
}

/** What has a file in the mirror is the next crawl's to judge. */
async function visibleOrphans(index: Index, { tree, job }: MaintainedTree): Promise<Orphans> {
  const items: ItemId[] = [];
  let known = 0;
  for await (const refs of index.holdings(tree.run.config.sourceId)) {
    await job.checkpoint();
    known += refs.length;
    const candidates = await orphansOf(
      refs.map(({ itemId }) => itemId),
      tree,
    );
    const entries = await tree.ledger.getMany(candidates);
    items.push(...candidates.filter((_, at) => !entries[at]?.mirrored));
  }
  return { items, known };
}

async function hiddenOrphans(index: Index, { tree, job }: MaintainedTree): Promise<Orphans> {
  const items: ItemId[] = [];
  let known = 0;
  for await (const page of index.hidden?.(tree.run.config.sourceId) ?? []) {
    await job.checkpoint();
    known += page.length;
    items.push(...(await orphansOf(page, tree)));
  }
  return { items, known };
}

/**
 * As a crawl would: in one commit, under the lease of the embed step, and out of the map file. It counts as part of the last crawl, so
 * that it pushes none of the generations out that are kept.
 */
async function removeVisible(index: Index, items: readonly ItemId[], work: MaintainedTree): Promise<void> {
  const { tree, request, parts } = work;
  await withLedger(tree.run, { step: "embed" }, parts, work.job, async ({ ledger, job }) => {
    const [newest] = (await index.generations?.kept()) ?? [];
    const draft = await index.draft(tree.run.config.sourceId, newest?.crawl);
    try {
      for (const itemId of items) await draft.remove(itemId);
      await draft.commit(job.signal, { allowEmpty: request.confirmDeletes });
    } catch (error) {
      await draft.discard();
      throw error;
    }
    for (const itemId of items) ledger.put(itemId, { indexed: null });
    await ledger.flush();
  });
}
