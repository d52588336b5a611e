import { lstatSync, type Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { Turn } from "../../lib/turn.ts";
import { explainErrno } from "./explain-errno.ts";
import type { LocalDevices } from "./local-devices.ts";

const AT_ONCE = 16;

/** Hears of each file, in the order of the names; a text says why it could not be looked at. */
export type LookAtFiles = (
  folder: string,
  device: number,
  names: readonly string[],
  hear: (name: string, found: Stats | string) => void,
) => Promise<void>;

/** On a disk of this machine one after the other, on a share many at once. */
export function createLookAtFiles(devices: LocalDevices): LookAtFiles {
  return async (folder, device, names, hear) => {
    const isLocal = await devices.has(device, folder);
    devices.note(folder, { isLocal });
    if (!isLocal) return await lookAtOnce(folder, names, hear);
    const turn = new Turn();
    for (const name of names) {
      hear(name, lookAt(`${folder}/${name}`, name));
      if (turn.isOver()) await turn.next();
    }
  };
}

function lookAt(path: string, name: string): Stats | string {
  try {
    return lstatSync(path);
  } catch (error) {
    return whyNot(error, name);
  }
}

async function lookAtOnce(
  folder: string,
  names: readonly string[],
  hear: (name: string, found: Stats | string) => void,
): Promise<void> {
  const found = new Map<string, Stats | string>();
  await forEachConcurrent(names, AT_ONCE, async (name) => {
    found.set(name, await lstat(`${folder}/${name}`).catch((error: unknown) => whyNot(error, name)));
  });
  for (const name of names) hear(name, found.get(name) ?? "");
}

/** A name that is no UTF-8 cannot be asked for as it was read. */
function whyNot(error: unknown, name: string): string {
  const why = explainErrno(error);
  return name.includes("\ufffd") ? `its name is not valid UTF-8, or ${why}` : why;
}
