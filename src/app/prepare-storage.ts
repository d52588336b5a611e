import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import { isErrno } from "../lib/atomic-file.ts";

/** Makes the storage folder and sees that it can be used, so that nothing later fails half-way for want of it. */
export async function prepareStorage(path: string): Promise<void> {
  try {
    await makeFolder(path);
    if (!(await stat(path)).isDirectory()) throw new BadInputError(`${path} is not a folder`);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : "it is not a folder";
    throw new BadInputError(
      `PERSISTENT_STORAGE_PATH cannot be used: ${path} (${reason}). Name a folder that lockstep may write to.`,
      { cause: error },
    );
  }
}

/** Step by step, because Node's own way of making parents never ends where a file system answers ENOENT to a mkdir. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (isErrno(error, "EEXIST")) return;
    if (!isErrno(error, "ENOENT") || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path);
  }
}
