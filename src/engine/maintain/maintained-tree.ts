import type { ItemId } from "../../contracts/ids.ts";
import { heldBecause } from "../../plan/removal-guard.ts";
import type { OpenTree } from "../purge-missing.ts";
import type { Maintenance } from "./maintain.ts";
import type { FreedKind, FreedThing } from "./maintenance-result.ts";

/** A tree that is maintained: nobody else changes it meanwhile. */
export interface MaintainedTree extends Maintenance {
  readonly tree: OpenTree;
}

/** Those of which there is no file, nor may be one again. */
export async function orphansOf(docIds: readonly ItemId[], { ledger }: OpenTree): Promise<readonly ItemId[]> {
  const known = await ledger.manifest.find(docIds);
  return docIds.filter((docId) => (known.get(docId)?.status ?? "deleted") === "deleted");
}

/** As when a listing loses much at once: a manifest that was restored from a backup looks exactly like that. "" if not. */
export function whyHeld(
  missing: number,
  known: number,
  { run }: OpenTree,
  { confirmDeletes }: { readonly confirmDeletes: boolean },
): string {
  const loss = { missing, known, listed: known - missing };
  if (!heldBecause(loss, { limits: run.config.limits, confirmDeletes })) return "";
  return `that is ${missing} of ${known}, more than goes without a confirmation. If it is meant, confirm it with confirm_deletes=true (on the command line: --confirm-deletes).`;
}

export function nameOf({ run }: OpenTree): string {
  return `source '${run.config.sourceId}' of domain '${run.domainId}'`;
}

export function thing(kind: FreedKind, { run }: OpenTree, what: string, bytes: number): FreedThing {
  return { kind, domain_id: run.domainId, source_id: run.config.sourceId, what, bytes };
}
