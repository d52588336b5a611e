import type { LookOutcome } from "../../contracts/source.ts";
import { asMissing, stillMissing } from "../../detect/lineage/sweep-entry.ts";
import { writeLook } from "./look-memory.ts";
import type { LookTools } from "./take-look.ts";
import type { TakenLook } from "./tree-looks.ts";

/** `lastSeenAt` of files that never change is right to the hour: to note it, the manifest has to be opened. */
const NOTED_FOR_MS = 3_600_000;

export interface ConcludeTools extends LookTools {
  readonly policy: string;
  /** The name of this look. */
  readonly mark: string;
}

/** The plan was carried out: what was lost is missing now, unless it is held, and what was seen is remembered for the next look. */
export async function concludeLook(look: TakenLook, outcome: LookOutcome, tools: ConcludeTools): Promise<void> {
  if (!outcome.complete) return;
  const { before, isQuiet, isSame } = look;
  const ageMs = tools.now().getTime() - Date.parse(before?.notedAt ?? "");
  const isFresh = ageMs >= 0 && ageMs < NOTED_FOR_MS;
  const needsManifest = !isQuiet || !isFresh || before?.missing !== 0;
  const noted = needsManifest ? await note(look, outcome, tools) : { missing: 0, notedAt: before?.notedAt ?? "" };
  if (look.unreadable.length > 0 || (isSame && !needsManifest && look.turn === look.before?.turn)) return;
  // What is held may be back next time just as it was, which only a look at everything tells.
  if (look.lost.some(({ docId }) => outcome.stillHeld.has(docId))) return;
  await writeLook(tools.folder, {
    id: idOf(look, tools),
    policy: tools.policy,
    root: look.root,
    ...noted,
    folders: look.folders,
    ...(look.turn !== undefined && { turn: look.turn }),
  });
}

/** Where nothing was written, the manifest says what it said. */
function idOf({ isQuiet, before }: TakenLook, { mark }: ConcludeTools): string {
  return (isQuiet && before?.id) || mark;
}

async function note(
  look: TakenLook,
  { stillHeld }: LookOutcome,
  tools: ConcludeTools,
): Promise<{ readonly missing: number; readonly notedAt: string }> {
  const manifest = await tools.manifest();
  const at = tools.now();
  // A look at some folders says nothing about the others, and what is missing could be anywhere.
  if (!look.isPartial) {
    for await (const page of manifest.withStatus("missing")) {
      for (const entry of page) if (!stillHeld.has(entry.docId)) manifest.put(stillMissing(entry, at));
    }
  }
  const leaving = look.lost.filter(({ docId }) => !stillHeld.has(docId));
  const known = await manifest.find(leaving.map(({ docId }) => docId));
  for (const entry of leaving) manifest.put(asMissing(known.get(entry.docId) ?? entry, at));
  const sawAll = !look.isPartial && !look.lost.some(({ docId }) => stillHeld.has(docId));
  const seen = sawAll
    ? { lookAt: at.toISOString(), notedAt: at.toISOString() }
    : { lookAt: manifest.look?.at ?? "", notedAt: look.before?.notedAt ?? "" };
  if (look.hidden === 0) manifest.noteLook({ root: look.root, at: seen.lookAt, id: idOf(look, tools) });
  await manifest.flush();
  return { missing: (await manifest.count()).missing, notedAt: seen.notedAt };
}
