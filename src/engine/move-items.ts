import type { ListedChange } from "../contracts/change.ts";
import { explain } from "../contracts/errors.ts";
import type { Mirrored } from "../contracts/ledger.ts";
import type { Sighting } from "../contracts/source.ts";
import type { StepCounts } from "./crawl-request.ts";
import type { PathClaims } from "./path-claims.ts";
import type { DownloadStep } from "./run-context.ts";

/** The download step while its plan is carried out. */
export interface ApplyStep extends DownloadStep {
  readonly counts: StepCounts;
  readonly claims: PathClaims;
  /**
   * Files whose items have another file now. They are removed at the end, unless another item has taken the path by then.
   */
  readonly vacated: string[];
  /** The mirror had files when the run began, which items without a row may own. */
  readonly mayAdopt: boolean;
}

interface Move {
  readonly change: ListedChange;
  readonly known: Mirrored;
  readonly to: string;
}

/**
 * Moves files to their new paths: all move out, then the ledger is flushed, then all move in, so that files may swap
 * names and a crash in between can be recovered. Returns the items whose file could not be moved: they are fetched
 * instead.
 */
export async function moveItems(moved: readonly ListedChange[], step: ApplyStep): Promise<ListedChange[]> {
  const { ledger } = step;
  const moves = planMoves(moved, step);
  const stuck = new Set<ListedChange>();
  const movedOut = await moveAllOut(moves, stuck, step);
  for (const { change, known, to } of moves) {
    if (stuck.has(change)) continue;
    ledger.put(change.itemId, { mirrored: { ...known, ...namesOf(change.sighting), file: to } });
  }
  await ledger.flush();
  for (const move of moves) if (!stuck.has(move.change)) await moveIn(move, { movedOut, stuck }, step);
  return [...stuck];
}

function planMoves(moved: readonly ListedChange[], step: ApplyStep): Move[] {
  for (const change of moved) step.claims.release(change.itemId, change.entry?.mirrored?.file ?? "");
  return moved.flatMap((change) => {
    const known = change.entry?.mirrored;
    return known ? [{ change, known, to: targetFile(change.sighting, known, step) }] : [];
  });
}

/** A moved file stays in its folder: a failed one stays in `03_failed/`. A table is shared and stays where it is. */
function targetFile(sighting: Sighting, known: Mirrored, { mirror, claims }: ApplyStep): string {
  if (sighting.form === "row" && mirror.isOriginal(known.file)) return known.file;
  return mirror.beside(known.file, claims.claim(sighting, ""));
}

async function moveAllOut(
  moves: readonly Move[],
  stuck: Set<ListedChange>,
  { mirror, job }: ApplyStep,
): Promise<Set<ListedChange>> {
  const movedOut = new Set<ListedChange>();
  for (const { change, known, to } of moves) {
    if (to === known.file) continue;
    try {
      await mirror.moveOut(change.itemId, known.file);
      movedOut.add(change);
    } catch (error) {
      job.log(`Cannot move '${known.file}', fetching it instead: ${explain(error)}`);
      stuck.add(change);
    }
  }
  return movedOut;
}

async function moveIn(
  { change, known, to }: Move,
  { movedOut, stuck }: { readonly movedOut: ReadonlySet<ListedChange>; readonly stuck: Set<ListedChange> },
  { mirror, job }: ApplyStep,
): Promise<void> {
  try {
    if (movedOut.has(change)) await mirror.moveIn(change.itemId, to);
    if (change.sighting.form === "original" && !mirror.isOriginal(to)) {
      const [from, at] = [mirror.relativePath(known.file), mirror.relativePath(to)];
      await mirror.shift(mirror.originalFile(from), mirror.originalFile(at));
    }
    job.log(`Moved '${change.sighting.path}': ${change.reason}.`);
  } catch (error) {
    job.log(`Cannot move to '${to}', fetching it instead: ${explain(error)}`);
    await mirror.dropWaiting(change.itemId);
    stuck.add(change);
  }
}

export function namesOf(sighting: Sighting): Pick<Mirrored, "listItemId" | "name" | "serverPath" | "fingerprint"> {
  const { listItemId, name, serverPath, fingerprint } = sighting;
  return { listItemId, name, serverPath, fingerprint };
}

/** Renames files with a marked name to the plain one, once that is free. */
export async function takeFreedPaths({ ledger, mirror, claims, job }: ApplyStep): Promise<void> {
  for (const { itemId, wanted } of allFree(claims)) {
    const mirrored = (await ledger.get(itemId))?.mirrored;
    if (!mirrored?.file) continue;
    const to = mirror.beside(mirrored.file, wanted);
    try {
      await mirror.moveOut(itemId, mirrored.file);
      ledger.put(itemId, { mirrored: { ...mirrored, file: to } });
      await ledger.flush();
      await mirror.moveIn(itemId, to);
      claims.transfer(itemId, mirrored.file, wanted);
    } catch (error) {
      job.log(`WARNING: '${mirrored.file}' cannot take its plain name: ${explain(error)}`);
      await mirror.dropWaiting(itemId);
    }
  }
}

function* allFree(claims: ApplyStep["claims"]): ReturnType<typeof claims.nowFree> {
  yield* claims.nowFree();
  yield* claims.stillMarked();
}
