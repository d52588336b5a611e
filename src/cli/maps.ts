import { createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { BadInputError, explain } from "../contracts/errors.ts";
import { parseDomainId, parseSourceId } from "../contracts/ids.ts";
import type { MapFile } from "../engine/map-files.ts";
import { pathExists } from "../lib/file-system.ts";
import type { Command } from "./command.ts";
import { openApp } from "./open-app.ts";

export const mapsCommand: Command = {
  name: "maps",
  arguments: ["DOMAIN", "[SOURCE]"],
  options: {
    to: { value: "folder", help: "Where to; made when it is not there.", default: "." },
    overwrite: { help: "Replaces map files that are there already." },
  },
  examples: ["lockstep maps DEMO --to maps", "lockstep maps DEMO docs --to maps --overwrite"],
  async run(call) {
    const [domain = "", source] = call.positionals;
    const domainId = parseDomainId(domain);
    const sourceId = source === undefined ? undefined : parseSourceId(source);
    const folder = call.text("to") ?? ".";
    await using app = await openApp();
    const files = await app.mapFiles(domainId, sourceId);
    await makeFolder(folder);
    if (!call.flag("overwrite")) await refuseExisting(folder, files);
    for (const file of files) process.stdout.write(`${await writeMap(folder, file)}\n`);
    return 0;
  },
};

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw new BadInputError(`--to '${folder}' must be a folder that can be written to: ${explain(error)}`, {
      cause: error,
    });
  }
}

async function refuseExisting(folder: string, files: readonly MapFile[]): Promise<void> {
  for (const path of files.map(({ name }) => join(folder, name))) {
    if (!(await pathExists(path))) continue;
    throw new BadInputError(`'${path}' exists. Name another folder with --to, or replace it with --overwrite.`);
  }
}

/** Writes the whole file or nothing: to a temporary file, which is then renamed. */
async function writeMap(folder: string, { name, content }: MapFile): Promise<string> {
  const path = join(folder, name);
  const unfinished = `${path}.${process.pid}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await pipeline(content(), createWriteStream(unfinished));
    await rename(unfinished, path);
    return path;
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw new Error(`write '${path}'`, { cause: error });
  }
}
