import type { FileId } from "../../contracts/ids.ts";
import { type Attachment, attachFiles } from "./attach-files.ts";
import { awaitFiles, type Ending } from "./await-files.ts";
import { Refusal } from "./refusal.ts";
import { detachFile, type Store } from "./store-files.ts";

const MANY = 20;

export type Embedded =
  | { readonly status: "completed" }
  /** permanent: the same bytes will fail again. */
  | { readonly status: "failed"; readonly reason: string; readonly permanent: boolean };

/** Attaches the files and waits until a search can find them, or the service said why not. An outcome for every file. */
export async function embedFiles(
  store: Store,
  files: readonly Attachment[],
  signal: AbortSignal,
): Promise<ReadonlyMap<FileId, Embedded>> {
  const outcomes = await embedOnce(store, files, signal);
  const again = files.filter(({ fileId }) => isPassing(outcomes.get(fileId)));
  if (again.length === 0) return readAll(outcomes);
  for (const { fileId } of again) await detachFile(store, fileId, signal);
  return readAll(new Map([...outcomes, ...(await embedOnce(store, again, signal))]));
}

type Outcome = Ending | { readonly refused: string; readonly permanent: boolean };

async function embedOnce(store: Store, files: readonly Attachment[], signal: AbortSignal) {
  const { batchId, refused } = await attachFiles(store, files, signal);
  const outcomes = new Map<FileId, Outcome>();
  for (const [fileId, refusal] of refused) {
    outcomes.set(fileId, { refused: refusal.message, permanent: refusal.concernsFile });
  }
  const attached = files.map(({ fileId }) => fileId).filter((fileId) => !refused.has(fileId));
  const endings = await awaitFiles(store, attached, batchId, signal);
  refuseStandstill(store, [...endings.values()]);
  for (const [fileId, ending] of endings) outcomes.set(fileId, ending);
  return outcomes;
}

/** When not one of many got done, it is the service that stands still, and the next slice would wait as long for nothing. */
function refuseStandstill({ storeId }: Store, endings: readonly Ending[]): void {
  const [first] = endings;
  if (!first || endings.length < MANY || endings.some((ending) => "file" in ending)) return;
  const why = "unfinished" in first ? first.unfinished : "";
  const message = `attach to vector store ${storeId}: not one of ${endings.length} files was taken in (${why}); run again later`;
  throw new Refusal(message, { status: undefined, concernsAll: true });
}

/** An internal error of the service has been seen to pass at the next try; what it says about the file does not. */
function isPassing(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && "file" in outcome && outcome.file.error?.code === "server_error";
}

function readAll(outcomes: ReadonlyMap<FileId, Outcome>): ReadonlyMap<FileId, Embedded> {
  return new Map([...outcomes].map(([fileId, outcome]) => [fileId, read(outcome)]));
}

function read(outcome: Outcome): Embedded {
  if ("refused" in outcome) return { status: "failed", reason: outcome.refused, permanent: outcome.permanent };
  if ("unfinished" in outcome) return { status: "failed", reason: outcome.unfinished, permanent: false };
  const { status, error } = outcome.file;
  if (status === "completed") return { status };
  const permanent = error?.code === "unsupported_file" || error?.code === "invalid_file";
  return { status: "failed", reason: error ? `${error.code}: ${error.message}` : status, permanent };
}
