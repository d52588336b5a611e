import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { text as readAll } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import type { App } from "../app/app.ts";
import type { Domain } from "../contracts/domain.ts";
import { BadInputError, ConflictError, explain } from "../contracts/errors.ts";
import { type DomainId, parseDomainId } from "../contracts/ids.ts";
import { formatDomain } from "../domains/domain-codec.ts";
import { parseDomainInput } from "../domains/domain-input.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { type JsonObject, parseJsonObject } from "../lib/json-object.ts";
import { plainText, plural } from "../lib/text.ts";
import { audited } from "./audited.ts";
import type { Call, Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { runJob } from "./run-job.ts";

const FIELDS: Readonly<Record<string, string>> = {
  name: "name",
  description: "description",
  schedule: "schedule",
  "max-age": "max_age",
  "vector-store": "vector_store_id",
};

export const domainsCommand: Command = {
  name: "domains",
  arguments: ["[list|show|create|edit|delete]", "[DOMAIN]"],
  options: {
    name: { value: "name", help: "With create and edit: what people call it." },
    description: { value: "text", help: "With create and edit: what it holds." },
    schedule: {
      value: "cron",
      help: "With create and edit: when it is crawled unattended, five fields in UTC; '' is never.",
    },
    "max-age": { value: "age", help: "With create and edit: how old its last certificate may be, like 36h or 7d." },
    "vector-store": { value: "id", help: "With create and edit: an existing vector store to fill." },
    folder: { value: "path", help: "With create and edit: a folder to add as a source." },
    web: { value: "url", help: "With create and edit: a web site to add as a source." },
    from: {
      value: "file",
      help: "With create and edit: a JSON file with the fields of domain.json, all kinds of sources; - reads standard input.",
    },
    "with-vector-store": { help: "With delete: also deletes its vector store." },
    yes: { help: "With delete: does not ask." },
    "dry-run": { help: "Shows what would be done and changes nothing." },
    json: { help: "With list and show: as JSON." },
  },
  examples: [
    "lockstep domains",
    "lockstep domains create NOTES --name Notes --folder ~/notes",
    "lockstep domains edit NOTES --web https://docs.example.com/guide/ --schedule '0 2 * * *'",
    "lockstep domains create HR --from hr.json",
    "lockstep domains delete NOTES --with-vector-store",
  ],
  async run(call) {
    const [action = "list", id] = call.positionals;
    const act = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (!act)
      throw new BadInputError(
        `There is no 'domains ${plainText(action)}'. Accepted: ${Object.keys(ACTIONS).join(", ")}.`,
      );
    if (action === "list") {
      if (id !== undefined)
        throw new BadInputError("'domains list' takes no domain. To see one: lockstep domains show DOMAIN");
      return await withApp((app) => list(app, call));
    }
    if (id === undefined) throw new BadInputError(`Say which domain: lockstep domains ${action} DOMAIN`);
    return await act(parseDomainId(id), call);
  },
};

type Act = (id: DomainId, call: Call) => Promise<number>;

const ACTIONS: Readonly<Record<string, Act>> = {
  list: async (_, call) => await withApp((app) => list(app, call)),
  show: async (id, call) =>
    await withApp(async (app) => {
      return say(
        JSON.stringify(formatDomain(await app.domains.get(id), app.domains.kinds), null, call.flag("json") ? 0 : 2),
      );
    }),
  create: async (id, call) =>
    await withApp(async (app) => {
      const domain = parseDomainInput(
        { ...(await readFields(call, [])), domain_id: id, ...nameFor(id, call) },
        app.domains.kinds,
      );
      if ((await app.domains.list()).domains.some(({ domainId }) => domainId === id)) {
        throw new ConflictError(`Domain '${id}' already exists. To change it: lockstep domains edit ${id}`);
      }
      await app.checkPlaces(domain.sources);
      if (call.flag("dry-run"))
        return say(`Would create domain ${id} with ${plural(domain.sources.length, "source")}.`);
      await audited(app.audit, () => app.domains.create(domain));
      return say(`Created domain ${id} with ${plural(domain.sources.length, "source")}. Next: lockstep crawl ${id}`);
    }),
  edit: async (id, call) =>
    await withApp(async (app) => {
      const before = await app.domains.get(id);
      const fields = await readFields(
        call,
        before.sources.map(({ sourceId }) => sourceId),
        arraysOf(before, app),
      );
      if (Object.keys(fields).length === 0)
        throw new BadInputError("Say what to change, for example --name or --folder.");
      const domain = parseDomainInput(fields, app.domains.kinds, before);
      await app.checkPlaces(
        domain.sources.filter((one) => !before.sources.some((other) => isDeepStrictEqual(other, one))),
      );
      if (call.flag("dry-run")) return say(`Would change domain ${id}: ${Object.keys(fields).join(", ")}.`);
      await audited(app.audit, () => app.domains.update(domain, before));
      return say(`Changed domain ${id}: ${Object.keys(fields).join(", ")}.`);
    }),
  delete: remove,
};

async function remove(id: DomainId, call: Call): Promise<number> {
  const dryRun = call.flag("dry-run");
  const wanted = { withVectorStore: call.flag("with-vector-store") };
  if (!dryRun && !call.flag("yes")) {
    const asked = await withApp(async (app) => {
      const { vectorStoreId } = await app.domains.get(id);
      if (vectorStoreId && !wanted.withVectorStore) {
        wanted.withVectorStore = await confirm(`Delete its vector store '${vectorStoreId}', too?`);
      }
      for (const change of (await app.planDeletion(id, wanted)).changes) say(`Would delete: ${change}`);
      return (await confirm(`Delete domain ${id}?`)) ? 0 : 1;
    });
    if (asked !== 0) {
      say("Nothing was deleted.");
      return asked;
    }
  }
  return await runJob({
    async prepare(app) {
      const deletion = await app.planDeletion(id, wanted);
      return {
        start: { router: "domains", action: "delete", object: id, dryRun },
        async work(job) {
          for (const change of dryRun ? deletion.changes : []) job.log(`Would delete: ${change}`);
          if (!dryRun) await deletion.apply((line) => job.log(line), job.jobId);
          return { ok: true, error: "", data: {} };
        },
      };
    },
    summary: () => (dryRun ? "Dry run: nothing was deleted.\n" : ""),
  });
}

/** No terminal, no answer: then it takes --yes. */
async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new BadInputError(
      `${question} There is no terminal to answer on: add --yes (and --with-vector-store, if it is to go, too).`,
    );
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}

async function list(app: App, call: Call): Promise<number> {
  const { domains, broken } = await app.domains.list();
  if (call.flag("json")) say(JSON.stringify(domains.map((domain) => formatDomain(domain, app.domains.kinds))));
  else if (domains.length + broken.length === 0)
    say("There are no domains. Make one: lockstep try FOLDER, or lockstep domains create DOMAIN --folder PATH");
  else for (const domain of domains) say(lineOf(domain));
  for (const { domainId, reason } of broken)
    process.stderr.write(`lockstep: domain '${domainId}' cannot be read: ${reason}\n`);
  return broken.length > 0 ? 1 : 0;
}

function lineOf({ domainId, name, sources, schedule }: Domain): string {
  const places = sources.map((source) => `${source.sourceId} (${source.kind.describePlace(source)})`);
  const line = `${domainId.padEnd(20)} ${name}: ${places.join(", ") || "no sources"}${schedule ? `; crawled at ${schedule}` : ""}`;
  return plainText(line);
}

function nameFor(id: DomainId, call: Call): JsonObject {
  return call.text("name") === undefined && call.text("from") === undefined ? { name: id } : {};
}

/** The fields that the call names, in the words of domain.json. `--folder` and `--web` add to the sources that are there. */
async function readFields(call: Call, sourceIds: readonly string[], arrays: JsonObject = {}): Promise<JsonObject> {
  const fields: Record<string, unknown> = {};
  const from = call.text("from");
  if (from !== undefined) Object.assign(fields, await readJson(from));
  for (const [option, field] of Object.entries(FIELDS)) {
    const value = call.text(option);
    if (value !== undefined) fields[field] = value;
  }
  const add = (type: string, base: string, source: JsonObject): void => {
    const taken = new Set(sourceIds);
    let id = base;
    for (let number = 2; taken.has(id); number++) id = `${base}${number}`;
    const earlier = fields[type] ?? arrays[type] ?? [];
    fields[type] = [...(Array.isArray(earlier) ? earlier : []), { source_id: id, ...source }];
  };
  const folder = call.text("folder");
  const web = call.text("web");
  // `~` stays: the crawl knows whose it is.
  if (folder) add("folder_sources", "files", { root: /^~(?=$|[/\\])/.test(folder) ? folder : resolve(folder) });
  else if (folder !== undefined) throw new BadInputError("--folder is empty. Name a folder, like /srv/handbook.");
  if (web !== undefined && !/^https?:$/.test(URL.parse(web)?.protocol ?? ""))
    throw new BadInputError(`--web takes an address like https://docs.example.com/; '${plainText(web)}' is none.`);
  if (web !== undefined) add("web_sources", "site", { start_urls: [web] });
  return fields as JsonObject;
}

function arraysOf(domain: Domain, app: App): JsonObject {
  return formatDomain(domain, app.domains.kinds);
}

async function readJson(path: string): Promise<JsonObject> {
  const content = await (path === "-" ? readAll(process.stdin) : readFile(path, "utf8")).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) throw new BadInputError(`There is no file '${plainText(path)}'.`);
    throw new BadInputError(`read '${plainText(path)}': ${explain(error)}`);
  });
  const json = parseJsonObject(content);
  if (!json) throw new BadInputError(`'${plainText(path)}' is no JSON object with the fields of a domain.`);
  return json;
}

async function withApp(work: (app: App) => Promise<number>): Promise<number> {
  await using app = await openApp();
  return await work(app);
}

/** Prints the line; 0 is the exit code of a command that has nothing more to do. */
function say(line: string): 0 {
  process.stdout.write(`${line}\n`);
  return 0;
}
