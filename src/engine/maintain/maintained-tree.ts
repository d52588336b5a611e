import type { ItemId } from "../../contracts/ids.ts";
import { suspectRemovals } from "../../detect/removal-guard.ts";
import type { OpenTree } from "../with-tree.ts";
import type { Maintenance } from "./maintain.ts";
import type { FreedKind, FreedThing } from "./maintenance-result.ts";

/** A tree that is maintained: nobody else changes it meanwhile. */
export interface MaintainedTree extends Maintenance {
  readonly tree: OpenTree;
}

/** Is there a file, or may there be one again, that this is a document of? */
export function standsFor({ manifest }: OpenTree, docId: ItemId): boolean {
  return (manifest.find(docId)?.status ?? "deleted") !== "deleted";
}

/** As when a listing loses much at once: a manifest that was restored from a backup looks exactly like that. "" if not. */
export function heldBecause(
  missing: number,
  known: number,
  { run }: OpenTree,
  { confirmDeletes }: { readonly confirmDeletes: boolean },
): string {
  const suspect = suspectRemovals({ missing, known, listed: known - missing }, run.config.limits);
  if (!suspect || confirmDeletes) return "";
  return `that is ${missing} of ${known}, more than goes without a confirmation. If it is meant, confirm it with confirm_deletes=true (on the command line: --confirm-deletes).`;
}

export function nameOf({ run }: OpenTree): string {
  return `source '${run.config.sourceId}' of domain '${run.domainId}'`;
}

export function thing(kind: FreedKind, { run }: OpenTree, what: string, bytes: number): FreedThing {
  return { kind, domain_id: run.domainId, source_id: run.config.sourceId, what, bytes };
}
