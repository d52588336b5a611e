import { RemoteError } from "../../contracts/errors.ts";
import type { FileId } from "../../contracts/ids.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import type { Connection } from "./connection.ts";
import { listUploads } from "./list-uploads.ts";
import { Refusal } from "./refusal.ts";
import { findUpload } from "./upload.ts";

const AT_ONCE = 4;

/**
 * Which of the attached files have lost their upload, as when somebody deletes files and the service leaves their rows.
 * The list of uploads only points to them: each is asked for by id, and a list that lacks one that exists is not worth
 * going by. Where uploads cannot be listed, nothing is said to be lost.
 */
export async function findGhosts(connection: Connection, attached: readonly FileId[]): Promise<ReadonlySet<FileId>> {
  const ghosts = new Set<FileId>();
  if (attached.length === 0) return ghosts;
  const listed = await listOrNothing(connection);
  let isListSound = listed !== undefined;
  const unlisted = attached.filter((fileId) => !listed?.has(fileId));
  await forEachConcurrent(unlisted, AT_ONCE, async (fileId) => {
    if (!isListSound) return;
    if (await findUpload(connection, fileId)) isListSound = false;
    else ghosts.add(fileId);
  });
  return ghosts;
}

async function listOrNothing(connection: Connection): Promise<ReadonlySet<FileId> | undefined> {
  try {
    return new Set((await listUploads(connection)).map(({ fileId }) => fileId));
  } catch (error) {
    const passes =
      error instanceof RemoteError && !(error instanceof Refusal && error.concernsAll && error.status !== 403);
    if (passes) return undefined;
    throw error;
  }
}
