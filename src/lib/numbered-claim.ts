import { randomBytes } from "node:crypto";
import { link, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "./atomic-file.ts";

/** A claim is the file `<number>` in its folder; `<number>.free` is one that was given back. */
export interface Claim {
  readonly number: number;
  readonly free: boolean;
}

/** The highest claim of the folder, whether given back or not; undefined when there is none, or no folder. Numbers only grow, so this one decides. */
export async function highestClaim(folder: string): Promise<Claim | undefined> {
  const claims = (await readClaims(folder)) ?? [];
  return claims.reduce<Claim | undefined>(
    (top, claim) => (!top || claim.number >= top.number ? claim : top),
    undefined,
  );
}

/**
 * Takes a number that nobody ever had, among all processes that see the folder, and sweeps claims that are more than
 * `kept` below it. False: somebody was faster; look again.
 *
 * Creating the file exclusively is not enough, because used numbers are swept: a slow process could create one anew.
 * So it looks once more afterwards and gives up when the number may have been swept. The highest never is.
 */
export async function claimNumber(
  folder: string,
  number: number,
  { content, kept }: { readonly content: string; readonly kept: number },
): Promise<boolean> {
  const path = join(folder, String(number));
  const created = await createFile(path, content).catch(async (error: unknown) => {
    if (!isErrno(error, "ENOENT")) throw error;
    await mkdir(folder, { recursive: true });
    return await createFile(path, content);
  });
  if (!created) return false;
  const claims = await readClaims(folder);
  // Removed meanwhile, and the claim with it.
  if (!claims) return false;
  if (claims.some((claim) => claim.number > number + kept || (claim.number === number && claim.free))) {
    await rm(path, { force: true });
    return false;
  }
  for (const claim of claims) {
    if (claim.number >= number - kept) continue;
    await rm(join(folder, `${claim.number}${claim.free ? ".free" : ""}`), { force: true });
  }
  return true;
}

/**
 * Exclusively, and whole: a claim without its content could not be told from one that is just being written, and
 * whoever waits would have to wait until it is stale. False: it exists.
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

/** undefined: there is no folder. */
async function readClaims(folder: string): Promise<Claim[] | undefined> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (!isErrno(error, "ENOENT")) throw error;
    return undefined;
  });
  if (!names) return undefined;
  const claims: Claim[] = [];
  for (const name of names) {
    const match = /^(\d{1,15})(\.free)?$/.exec(name);
    if (match) claims.push({ number: Number(match[1]), free: match[2] !== undefined });
  }
  return claims;
}
