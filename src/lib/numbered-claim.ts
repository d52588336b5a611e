import { randomBytes } from "node:crypto";
import { link, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing, isErrno } from "./atomic-file.ts";

/** A claim is the file `<number>` in its folder; `<number>.free` is a released one. */
export interface Claim {
  readonly number: number;
  readonly free: boolean;
}

/** Returns the highest claim of the folder, released or not; undefined if there is none. Numbers only grow, so this one decides. */
export async function highestClaim(folder: string): Promise<Claim | undefined> {
  const claims = (await readClaims(folder)) ?? [];
  return claims.reduce<Claim | undefined>(
    (top, claim) => (!top || claim.number >= top.number ? claim : top),
    undefined,
  );
}

/**
 * Takes a number that no process ever had, among all processes that see the folder, and deletes claims more than `retain` below it. Returns
 * false if another process was faster: look again. Creating the file exclusively is not enough, because used numbers are deleted: a slow
 * process could create one anew. So it lists once more afterwards and gives up if the number may have been deleted. The highest never is.
 */
export async function claimNumber(
  folder: string,
  number: number,
  { content, retain }: { readonly content: string; readonly retain: number },
): Promise<boolean> {
  const path = join(folder, String(number));
  const created = await createFile(path, content).catch(async (error: unknown) => {
    if (!isErrno(error, "ENOENT")) throw error;
    await mkdir(folder, { recursive: true });
    return await createFile(path, content);
  });
  if (!created) return false;
  const claims = await readClaims(folder);
  // The folder was removed meanwhile, and the claim with it.
  if (!claims) return false;
  if (claims.some((claim) => claim.number > number + retain || (claim.number === number && claim.free))) {
    await rm(path, { force: true });
    return false;
  }
  for (const claim of claims) {
    if (claim.number >= number - retain) continue;
    await rm(join(folder, `${claim.number}${claim.free ? ".free" : ""}`), { force: true });
  }
  return true;
}

/**
 * Creates the file exclusively and with its whole content: an empty claim could not be told from one that is being written, and waiting
 * processes would wait until it is stale. Returns false if it exists.
 */
async function createFile(path: string, content: string): Promise<boolean> {
  const draft = `${path}-${process.pid}-${randomBytes(4).toString("hex")}`;
  await writeFile(draft, content, { flag: "wx" });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    if (isErrno(error, "EPERM", "ENOTSUP", "ENOSYS", "EMLINK")) return await createBare(path, content);
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** For file systems without links. */
async function createBare(path: string, content: string): Promise<boolean> {
  try {
    await writeFile(path, content, { flag: "wx" });
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  }
}

/** Returns undefined if there is no folder. */
async function readClaims(folder: string): Promise<Claim[] | undefined> {
  const names = await readdir(folder).catch(ifMissing(undefined));
  if (!names) return undefined;
  const claims: Claim[] = [];
  for (const name of names) {
    const match = /^(\d{1,15})(\.free)?$/.exec(name);
    if (match) claims.push({ number: Number(match[1]), free: match[2] !== undefined });
  }
  return claims;
}
