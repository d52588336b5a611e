import { randomBytes } from "node:crypto";
import type { ItemId } from "../../contracts/ids.ts";
import type { ManifestEntry } from "../../contracts/manifest.ts";
import { asSeen } from "../../detect/lineage/seen-entry.ts";
import {
  type LineageAnswer,
  type LineageQuestion,
  type Traced,
  traceLineage,
} from "../../detect/lineage/trace-lineage.ts";
import type { TreeTools } from "./open-tree-source.ts";
import { pairEdited } from "./pair-edited.ts";

export interface Recognized {
  /** What the manifest is to say of the files that were read. */
  readonly entries: readonly ManifestEntry[];
  readonly lost: readonly ManifestEntry[];
}

/** Which document is each of the files? */
export async function recognizeFiles(
  question: LineageQuestion,
  tools: Pick<TreeTools, "tree" | "keptText" | "textOf" | "log" | "now">,
  signal: AbortSignal,
): Promise<Recognized> {
  const { traced, lost } = await followEdits(question, tools, signal);
  const now = tools.now();
  return { entries: traced.map((one) => asSeen(one, now, newDocId)), lost };
}

/** By their texts: what was renamed and edited at once, and what is back at its path, edited. */
async function followEdits(
  question: LineageQuestion,
  tools: Pick<TreeTools, "tree" | "keptText" | "textOf" | "log">,
  signal: AbortSignal,
): Promise<LineageAnswer> {
  const { traced, lost } = traceLineage(question);
  const found = traced.filter(({ kind }) => kind === "found").map(({ read }) => read);
  const paths = new Set(found.map(({ file }) => file.path));
  const placed = new Set(traced.flatMap((one) => ("entry" in one ? one.entry.docId : [])));
  const back = question.absent.filter(
    ({ status, path, docId }) => status === "missing" && paths.has(path) && !placed.has(docId),
  );
  const pairs = await pairEdited(found, [...lost, ...back], tools, signal);
  if (pairs.size === 0) return { traced, lost };
  const kept = new Set([...pairs.values()].map(({ entry }) => entry.docId));
  return {
    traced: traced.map((one): Traced => {
      const pair = pairs.get(one.read);
      if (!pair) return one;
      return { kind: pair.entry.status === "missing" ? "restored" : "moved-and-edited", read: one.read, ...pair };
    }),
    lost: lost.filter(({ docId }) => !kept.has(docId)),
  };
}

/** Those that are born together are neighbours in every index that has them. */
function newDocId(): ItemId {
  const bornAt = Date.now().toString(16).padStart(12, "0");
  return `doc_${bornAt}${randomBytes(10).toString("hex")}` as ItemId;
}
