import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import type { App } from "../app/app.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import { type DomainId, parseDomainId } from "../contracts/ids.ts";
import { plural, sayBytes } from "../lib/text.ts";
import type { Call, Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { runJob } from "./run-job.ts";
import { plainLine, printResult } from "./terminal-text.ts";

export const uploadCommand: Command = {
  name: "upload",
  arguments: ["DOMAIN", "[FILE]…"],
  options: {
    into: { value: "folder", help: "The folder among the uploaded files to put them into." },
    list: { help: "Instead: lists what was uploaded, and how it stands." },
    remove: { value: "path", help: "Instead: deletes this uploaded file." },
    json: { help: "With --list: prints JSON." },
  },
  examples: [
    "lockstep upload DEMO handbook.pdf notes.md",
    "lockstep upload DEMO ./handbook --into policies",
    "lockstep upload DEMO --list",
    "lockstep upload DEMO --remove policies/handbook/travel.pdf",
  ],
  async run(call) {
    const domain = parseDomainId(call.positionals[0] ?? "");
    const files = call.positionals.slice(1);
    const removed = call.text("remove");
    const others = [files.length > 0, call.flag("list"), removed !== undefined].filter(Boolean);
    if (others.length !== 1) throw new BadInputError("Give files to upload, or --list, or --remove.");
    if (call.flag("list")) return await list(domain, call.flag("json"));
    return await runJob({
      async prepare(app) {
        if (removed === undefined) await uploadAll(app, domain, files, call);
        else await app.uploads.remove(domain, removed);
        return await app.uploads.bringIn(domain);
      },
      summary: () => "",
    });
  },
};

async function list(domain: DomainId, isJson: boolean): Promise<number> {
  await using app = await openApp();
  const files = await app.uploads.list(domain);
  printResult(files, isJson, () => [
    ...files.map(({ path, bytes, state, reason }) => {
      const why = reason ? `: ${plainLine(reason)}` : "";
      return `${state.padEnd(10)}  ${sayBytes(bytes).padStart(9)}  ${plainLine(path)}${why}`;
    }),
    `${plural(files.length, "file")} uploaded.`,
  ]);
  return 0;
}

/** Files that are refused are named, and do not keep out the others; if all are, nothing is done. */
async function uploadAll({ uploads }: App, domain: DomainId, named: readonly string[], call: Call): Promise<void> {
  const found = (await Promise.all(named.map(filesOf))).flat();
  const into = (call.text("into") ?? "").replace(/\/+$/, "");
  const refused: string[] = [];
  for (const [at, { file, path, bytes }] of found.entries()) {
    process.stderr.write(`[ ${at + 1} / ${found.length} ] Uploading '${plainLine(path)}'.\n`);
    try {
      await uploads.put(domain, into === "" ? path : `${into}/${path}`, createReadStream(file), bytes);
    } catch (error) {
      refused.push(explain(error));
      process.stderr.write(`${plainLine(explain(error))}\n`);
    }
  }
  if (refused.length === found.length)
    throw new BadInputError(refused.length === 1 ? (refused[0] ?? "") : "None of the files was taken.");
}

interface LocalFile {
  readonly file: string;
  /** Below the folder, whose name it begins with. */
  readonly path: string;
  readonly bytes: number;
}

async function filesOf(named: string): Promise<LocalFile[]> {
  const found = await stat(named).catch(() => undefined);
  if (!found) throw new BadInputError(`There is no file or folder '${named}'.`);
  if (found.isFile()) return [{ file: named, path: basename(named), bytes: found.size }];
  const files: LocalFile[] = [];
  for (const entry of await readdir(named, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const path = join(basename(join(named, ".")), relative(named, file))
      .split(sep)
      .join("/");
    // Hidden files are left out, as a crawl leaves them out.
    if (!entry.isFile() || path.split("/").some((part) => part.startsWith("."))) continue;
    files.push({ file, path, bytes: (await stat(file)).size });
  }
  return files;
}
