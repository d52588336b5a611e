import type { LookOutcome } from "../../contracts/source.ts";
import { asMissing, stillMissing } from "../../detect/lineage/sweep-entry.ts";
import type { LookTools } from "./take-look.ts";
import type { TakenLook } from "./tree-looks.ts";

/** `lastSeenAt` of files that never change is right to the hour. */
const NOTED_FOR_MS = 3_600_000;

/** The plan was carried out: what was lost is missing now, unless it is held, and the look is known by its name. */
export async function concludeLook(
  look: TakenLook,
  { complete, stillHeld }: LookOutcome,
  tools: LookTools,
): Promise<void> {
  if (!complete) return;
  const manifest = await tools.manifest();
  const at = tools.now();
  let missing = 0;
  // A look at some folders says nothing about the others, and what is missing could be anywhere.
  if (!look.isPartial) {
    for await (const page of manifest.withStatus("missing")) {
      const gone = page.filter(({ docId }) => !stillHeld.has(docId));
      for (const entry of gone) manifest.put(stillMissing(entry, at));
      missing += gone.length;
    }
  }
  const leaving = look.lost.filter(({ docId }) => !stillHeld.has(docId));
  const known = await manifest.find(leaving.map(({ docId }) => docId));
  for (const entry of leaving) manifest.put(asMissing(known.get(entry.docId) ?? entry, at));
  const isHeld = leaving.length < look.lost.length;
  // What is held, or could not be read, may be back next time just as it was, which only a listing tells.
  const id = isHeld || look.unreadable.length > 0 ? "" : look.mark;
  const { look: before } = manifest;
  const ageMs = at.getTime() - Date.parse(before?.at ?? "");
  const isFresh = look.isPartial || (ageMs >= 0 && ageMs < NOTED_FOR_MS);
  const isNoted = look.isQuiet && missing === 0 && isFresh && before?.id === id && before.turn === look.turn;
  if (!isNoted && look.hidden === 0) {
    const sawAll = !look.isPartial && !isHeld;
    manifest.noteLook({ root: look.root, at: sawAll ? at.toISOString() : (before?.at ?? ""), id, turn: look.turn });
  }
  await manifest.flush();
}
