import { readFile } from "node:fs/promises";

/** The folders that a file system is mounted on, as the kernel tells it now; undefined where there is no such list. */
export async function readMountPoints(): Promise<ReadonlySet<string> | undefined> {
  const text = await readFile("/proc/self/mountinfo", "utf8").catch(() => undefined);
  return text === undefined ? undefined : mountPointsIn(text);
}

/** The fifth field of every line, in which spaces and the like are written as `\040`. */
export function mountPointsIn(mountinfo: string): ReadonlySet<string> {
  const places = mountinfo.split("\n").flatMap((line) => line.split(" ")[4] ?? []);
  return new Set(places.map((place) => place.replace(/\\([0-7]{3})/g, (_, code: string) => fromOctal(code))));
}

function fromOctal(code: string): string {
  return String.fromCharCode(Number.parseInt(code, 8));
}
