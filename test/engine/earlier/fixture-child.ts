import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import type { CrawlRequest } from "../../../src/engine/crawl-request.ts";

/** The moment in which a process kills itself. */
export interface KillPoint {
  /** A line of the job's log, or what is asked of the file system; either before it is carried out, a write when half of it is. */
  readonly before: "log" | "rename" | "rm" | "write";
  /** A regular expression for the line, or for the path: of a rename, where it goes. */
  readonly matching: string;
  /** Which of those that match; the first by default. */
  readonly nth?: number;
}

export interface ChildTask {
  readonly settings: Readonly<Record<string, string>>;
  readonly nowMs: number;
  readonly kill?: KillPoint;
  readonly domainId: string;
  readonly create?: Readonly<Record<string, unknown>>;
  readonly renameTo?: string;
  readonly crawl?: Partial<CrawlRequest>;
  /** What is done with single addresses before the crawl. */
  readonly addresses?: { readonly add?: readonly string[]; readonly remove?: readonly string[] };
}

/** Written into leases and jobs, instead of the name of the machine that made the fixtures. */
export const HOST = "earlier-host";

export type ChildAnswer = { readonly error: string; readonly log: string };

/** Does one thing with a storage folder, as another machine, until it is done or the moment has come. */
async function carryOut(task: ChildTask): Promise<ChildAnswer> {
  const strike = armed(task.kill);
  os.hostname = () => HOST;
  watchFiles(strike);
  syncBuiltinESMExports();
  const { compose } = await import("../../../src/app/compose.ts");
  const { readConfig } = await import("../../../src/app/config.ts");
  const { crawlJob } = await import("../../../src/app/jobs.ts");
  const { renameJob } = await import("../../../src/app/jobs.ts");
  const { crawlRequest } = await import("../../../src/engine/crawl-request.ts");
  const { parseDomainId } = await import("../../../src/contracts/ids.ts");
  const { parseDomain } = await import("../../../src/domains/domain-codec.ts");
  const now = (): Date => new Date(task.nowMs);
  const app = await compose(readConfig(task.settings), {
    ...{ now, searchesHere: true, web: { now, restMs: 1 } },
  });
  const domainId = parseDomainId(task.domainId);
  if (task.create) await app.domains.create(parseDomain(task.create, domainId, app.domains.kinds));
  for (const url of task.addresses?.add ?? []) {
    const request = { url, title: "", domainId, force: false, includeImages: false };
    if (url.startsWith("/")) await app.ingest.addFile({ source: url, domainId, force: false });
    else await app.ingest.add(request);
  }
  for (const url of task.addresses?.remove ?? [])
    await app.ingest.remove(await app.ingest.idOf(url, domainId), domainId);
  const { signal } = new AbortController();
  let isAtWork = task.addresses !== undefined;
  while (isAtWork) isAtWork = await app.ingest.workOne(`${HOST}:1`, signal);
  const { start, work } = task.renameTo
    ? await renameJob(app, { from: domainId, to: parseDomainId(task.renameTo) }, { dryRun: false })
    : crawlJob(app, crawlRequest(domainId, task.crawl ?? {}), { dryRun: false });
  const lines: string[] = [];
  const running = await app.runner.start({ ...start, endpoint: "fixture" }, (job) =>
    work({
      ...{ jobId: job.jobId, dryRun: job.dryRun, signal: job.signal, checkpoint: () => job.checkpoint() },
      log(line) {
        lines.push(line);
        void strike("log", line);
        job.log(line);
      },
    }),
  );
  const { result } = await running.done;
  await app.close();
  return { error: result?.error ?? "", log: lines.join("\n") };
}

/** `half` is done when it is the moment to. */
type Strike = (before: KillPoint["before"], what: string, half?: () => unknown) => Promise<void> | undefined;

function armed(kill: KillPoint | undefined): Strike {
  const matching = kill && new RegExp(kill.matching);
  let left = kill?.nth ?? 1;
  return (before, what, half) => {
    if (before !== kill?.before || !matching?.test(what)) return undefined;
    left -= 1;
    if (left !== 0) return undefined;
    const done = half?.();
    if (done instanceof Promise) return done.then(() => void process.kill(process.pid, "SIGKILL"));
    process.kill(process.pid, "SIGKILL");
    return undefined;
  };
}

/** Modules that imported these functions by name get the watched ones. */
function watchFiles(strike: Strike): void {
  const { promises, renameSync, openSync, writeSync } = fs;
  const { rename, rm, open } = promises;
  promises.rename = async (from, to) => {
    void strike("rename", String(to));
    await rename(from, to);
  };
  fs.renameSync = (from, to) => {
    void strike("rename", String(to));
    renameSync(from, to);
  };
  promises.rm = async (path, options) => {
    void strike("rm", String(path));
    await rm(path, options);
  };
  promises.open = async (path, ...rest) => {
    const file = await open(path, ...rest);
    const writeFile = file.writeFile.bind(file);
    file.writeFile = async (content) => {
      const bytes = allOf(content as Content);
      await strike("write", String(path), () => writeFile(bytes.subarray(0, bytes.length / 2)));
      await writeFile(bytes);
    };
    return file;
  };
  const paths = new Map<number, string>();
  fs.openSync = (path, ...rest) => {
    const fd = openSync(path, ...rest);
    paths.set(fd, String(path));
    return fd;
  };
  const writing = (fd: number, content: string | NodeJS.ArrayBufferView, ...rest: number[]): number => {
    if (typeof content !== "string") {
      const bytes = new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
      const [offset = 0, length = bytes.length - offset] = rest;
      void strike("write", paths.get(fd) ?? "", () =>
        writeSync(fd, bytes, offset, Math.floor(length / 2), rest[2] ?? null),
      );
    }
    return writeSync(fd, content as Uint8Array, ...rest);
  };
  fs.writeSync = writing as typeof writeSync;
}

type Content = string | Uint8Array | Iterable<Uint8Array>;

function allOf(content: Content): Buffer {
  if (typeof content === "string") return Buffer.from(content);
  return content instanceof Uint8Array ? Buffer.from(content) : Buffer.concat([...content]);
}

if (import.meta.main) {
  process.stdout.write(JSON.stringify(await carryOut(JSON.parse(process.argv[2] ?? "{}") as ChildTask)));
}
