import { spawn } from "node:child_process";
import { once } from "node:events";
import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { App } from "../app/app.ts";
import { crawlJob } from "../app/jobs.ts";
import type { Domain } from "../contracts/domain.ts";
import { BadInputError, ConflictError, explain } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import { parseDomainInput } from "../domains/domain-input.ts";
import { crawlRequest, STEPS } from "../engine/crawl-request.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { plainText, plural } from "../lib/text.ts";
import { audited } from "./audited.ts";
import type { Command } from "./command.ts";
import { followJob, showJob } from "./job-view.ts";
import { exitCodeOf, openApp, type StopSignal, untilStopped } from "./open-app.ts";
import { runServer } from "./serve.ts";

export const tryCommand: Command = {
  name: "try",
  arguments: ["FOLDER|URL"],
  options: {
    domain: { value: "id", help: "The domain; otherwise it is named after the folder or host." },
    port: { value: "number", help: "Instead of PORT; 0 takes a free one." },
    once: { help: "Ends after the crawl instead of serving the pages." },
    "no-open": { help: "Does not open the page in a browser." },
  },
  examples: ["lockstep try ~/notes", "lockstep try https://docs.example.com/guide/", "lockstep try . --port 0 --once"],
  async run(call) {
    const place = await readPlace(call.positionals[0] ?? "");
    const port = call.text("port");
    const app = await openApp(port ? { PORT: port } : {});
    const domain = await makeDomain(app, place, call.text("domain")).catch(async (error: unknown) => {
      await app.close();
      throw error;
    });
    let stoppedBy: StopSignal | undefined;
    const stopped = untilStopped().then((signal) => {
      stoppedBy = signal;
      return app.runner.stop("Stopped by a signal.");
    });
    let failed = false;
    let isListening = false;
    const code = await runServer(app, {
      waitMs: 0,
      stopped,
      async onListening({ url }) {
        isListening = true;
        failed = (await crawlNow(app, domain.domainId)) === 0;
        if (failed || call.flag("once")) return "end";
        showAddresses(url, domain.domainId);
        if (!call.flag("no-open")) openPage(pageOf(url, domain.domainId));
        return "serve";
      },
    }).catch((error: unknown) => {
      const { domainId } = domain;
      if (!isListening)
        process.stderr.write(`Beside a server that runs already, 'lockstep crawl ${domainId}' brings it in.\n`);
      throw error;
    });
    if (!failed) return code;
    return stoppedBy ? exitCodeOf(stoppedBy) : 1;
  },
};

/** What the domain's one source is made of. */
interface Place {
  readonly name: string;
  readonly source: Readonly<Record<string, unknown>>;
}

async function readPlace(text: string): Promise<Place> {
  if (text.trim() === "") throw new BadInputError("Name a folder or a web address: lockstep try FOLDER|URL");
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    const url = URL.parse(text);
    if (!url?.protocol.startsWith("http"))
      throw new BadInputError(
        `'${plainText(text)}' is no web address. One looks like https://docs.example.com/guide/.`,
      );
    return { name: url.hostname, source: { web_sources: [{ source_id: "site", start_urls: [url.href] }] } };
  }
  const path = resolve(text.replace(/^~(?=$|[/\\])/, homedir()));
  try {
    const root = await realpath(path);
    if (!(await stat(root)).isDirectory()) {
      throw new BadInputError(
        `'${plainText(text)}' is a file. Name the folder that it is in, or register it with 'lockstep add'.`,
      );
    }
    return { name: basename(root) || "root", source: { folder_sources: [{ source_id: "files", root }] } };
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) {
      const web = /^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:[:/]|$)/i.test(text)
        ? ` A web site begins with its scheme: https://${plainText(text)}`
        : "";
      throw new BadInputError(`There is no folder '${plainText(path)}'.${web}`);
    }
    if (!isErrno(error, "EACCES", "ELOOP", "ENAMETOOLONG")) throw error;
    throw new BadInputError(`read folder '${plainText(path)}': ${explain(error)}`);
  }
}

/** Returns the domain that has just this source, or makes it. */
async function makeDomain(app: App, { name, source }: Place, wanted: string | undefined): Promise<Domain> {
  const { domains } = app;
  const { domains: known, broken } = await domains.list();
  const taken = new Set<string>([...known, ...broken].map(({ domainId }) => domainId.toLowerCase()));
  const inputFor = (id: string): Domain => parseDomainInput({ domain_id: id, name, ...source }, domains.kinds);
  const first = wanted ?? idFrom(name);
  const { sources } = inputFor(first);
  const same = known.find(
    (domain) => isDeepStrictEqual(domain.sources, sources) && (!wanted || domain.domainId === wanted),
  );
  if (same) return same;
  if (wanted && taken.has(wanted.toLowerCase())) {
    throw new BadInputError(`Domain '${wanted}' exists and has other sources. Leave --domain out, or name another.`);
  }
  let id = first;
  for (let number = 2; taken.has(id.toLowerCase()); number++) id = `${first}_${number}`;
  await app.checkPlaces(sources);
  try {
    return await audited(app.audit, () => domains.create(inputFor(id)));
  } catch (error) {
    // The same command was started twice, and the other one was first: its domain is there, or in a moment.
    for (let left = error instanceof ConflictError ? 40 : 0; ; left--) {
      const made = (await domains.list()).domains.find(({ domainId }) => domainId === id);
      if (made && isDeepStrictEqual(made.sources, sources)) return made;
      if (left <= 0) throw error;
      await setTimeout(50);
    }
  }
}

/** `all` is every domain; and an id needs a letter or digit. */
function idFrom(name: string): string {
  const id = name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, 40);
  return id === "" || id === "ALL" ? "MY_FILES" : id;
}

/** Crawls, showing the job; returns how many documents can be found then, 0 if it was cancelled. */
async function crawlNow(app: App, domainId: DomainId): Promise<number> {
  const request = crawlRequest(domainId, { steps: STEPS, mode: "incremental" });
  await app.checkCrawl(request);
  const { start, work } = crawlJob(app, request, { dryRun: false });
  const job = await app.runner.start({ ...start, endpoint: `lockstep try (${domainId})` }, work);
  await showJob(followJob(app, job.jobId));
  const { result, state } = await job.done;
  if (!result?.ok) process.stderr.write(`lockstep: ${result?.error ?? "the crawl did not end"}\n`);
  if (state === "cancelled") {
    process.stdout.write("\nThe same command goes on from here.\n");
    return 0;
  }
  const { documents } = await app.standing(await app.domains.get(domainId));
  const found = documents ?? 0;
  process.stdout.write(
    found > 0
      ? `\n${plural(found, "document")} can be found in domain ${domainId}.\n`
      : `\nNothing can be found in domain ${domainId}: the log above says what its source has, and what was left out or failed.\n`,
  );
  return found;
}

function pageOf(url: string, domainId: DomainId): string {
  return `${url}/v2/search?format=ui&domain_id=${domainId}`;
}

function showAddresses(url: string, domainId: DomainId): void {
  const mcp = JSON.stringify({ mcpServers: { lockstep: { type: "http", url: `${url}/mcp` } } });
  process.stdout.write(`
  Ask on the page       ${pageOf(url, domainId)}
  OpenAI clients        base URL ${url}/openai/v1, model lockstep/${domainId}
  MCP clients           ${mcp}
  On the command line   lockstep query ${domainId} "your question"

Crawl again after a change: lockstep crawl ${domainId}. Ctrl+C ends the server.
`);
}

/** Only on a terminal of a desktop; that the page is printed is enough everywhere else. */
function openPage(address: string): void {
  if (!process.stdout.isTTY) return;
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open"]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", ""]
        : process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"]
          ? ["xdg-open"]
          : [];
  if (!command) return;
  const child = spawn(command, [...args, address], { stdio: "ignore", detached: true });
  once(child, "spawn").then(
    () => child.unref(),
    () => undefined,
  );
}
