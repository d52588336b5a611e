import { BadInputError, explain, NotFoundError } from "../contracts/errors.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { releaseNumber } from "../lib/release.ts";
import { type Command, helpText, readCall } from "./command.ts";

/** Loaded when called: `query` need not wait for the pages, nor `serve` for the sandbox. */
const COMMANDS: Readonly<Record<string, { readonly summary: string; load(): Promise<Command> }>> = {
  try: {
    summary:
      "Makes a folder or a web site searchable, and serves it: the page, and the addresses for chat and MCP clients.",
    load: async () => (await import("./try.ts")).tryCommand,
  },
  domains: {
    summary: "Lists, shows, creates, edits and deletes domains: knowledge bases with their sources.",
    load: async () => (await import("./domains.ts")).domainsCommand,
  },
  serve: {
    summary: "Runs the server: pages, endpoints and the OpenAI protocol.",
    load: async () => (await import("./serve.ts")).serveCommand,
  },
  worker: {
    summary: "Looks at registered addresses, and runs the crawls that servers with RUN_JOBS_IN=workers were asked for.",
    load: async () => (await import("./worker.ts")).workerCommand,
  },
  crawl: {
    summary: "Brings a domain in step with its sources: download, process, embed.",
    load: async () => (await import("./crawl.ts")).crawlCommand,
  },
  download: {
    summary: "Downloads what the sources of a domain have: the first step of a crawl.",
    load: async () => (await import("./crawl.ts")).downloadCommand,
  },
  process: {
    summary: "Turns downloaded lists and site pages into documents: the second step of a crawl.",
    load: async () => (await import("./crawl.ts")).processCommand,
  },
  embed: {
    summary: "Embeds the documents of a domain: the last step of a crawl.",
    load: async () => (await import("./crawl.ts")).embedCommand,
  },
  apply: {
    summary: "Carries out the plan of a dry run, as far as everything still is as planned, and nothing else.",
    load: async () => (await import("./crawl.ts")).applyCommand,
  },
  watch: {
    summary: "Keeps folders and the like of a domain in step until it is stopped.",
    load: async () => (await import("./watch.ts")).watchCommand,
  },
  add: {
    summary:
      "Registers web addresses and files; a running server or worker fetches them, and again whenever they change.",
    load: async () => (await import("./add.ts")).addCommand,
  },
  remove: {
    summary:
      "Takes registered web addresses and files out of a domain; a running server or worker takes them out of its index.",
    load: async () => (await import("./remove.ts")).removeCommand,
  },
  rebuild: {
    summary: "Has every registered web address of a domain looked at anew; a running server or worker does it.",
    load: async () => (await import("./rebuild.ts")).rebuildCommand,
  },
  items: {
    summary: "Lists what is known of web addresses and registered files, or tells everything about one.",
    load: async () => (await import("./items.ts")).itemsCommand,
  },
  "cleanup-metadata": {
    summary: "Takes entries that nobody needs any more out of files_metadata.json.",
    load: async () => (await import("./cleanup-metadata.ts")).cleanupMetadataCommand,
  },
  migrate: {
    summary: "Upgrades manifests and stores of earlier layouts, after a backup.",
    load: async () => (await import("./migrate.ts")).migrateCommand,
  },
  rename: {
    summary: "Gives a domain another id and takes everything it has along.",
    load: async () => (await import("./rename.ts")).renameCommand,
  },
  doctor: {
    summary: "Looks at everything a crawl needs, from the certificate to the vector store, and says what is missing.",
    load: async () => (await import("./doctor.ts")).doctorCommand,
  },
  verify: {
    summary: "Proves that source, mirror and index of a domain say the same, or says where not; checks certificates.",
    load: async () => (await import("./verify.ts")).verifyCommand,
  },
  erase: {
    summary: "Removes documents from everywhere, blocks them from being crawled again, and signs a receipt.",
    load: async () => (await import("./erase.ts")).eraseCommand,
  },
  holds: {
    summary: "Lists, sets and lifts holds: what is held can be neither erased nor purged.",
    load: async () => (await import("./holds.ts")).holdsCommand,
  },
  documents: {
    summary: "Lists the files of folders and the like, tells everything about one, or prints what it said.",
    load: async () => (await import("./documents.ts")).documentsCommand,
  },
  maps: {
    summary: "Writes the map files of a domain, or of one source: what is known of every item, as CSV.",
    load: async () => (await import("./maps.ts")).mapsCommand,
  },
  generations: {
    summary: "Shows what readers saw after earlier crawls, and goes back to it.",
    load: async () => (await import("./generations.ts")).generationsCommand,
  },
  upload: {
    summary: "Uploads files to a domain, lists and removes them; they are searchable when it ends.",
    load: async () => (await import("./upload.ts")).uploadCommand,
  },
  questions: {
    summary: "Lists and changes what readers of a domain ask: crawls ask it before anything new is visible.",
    load: async () => (await import("./questions.ts")).questionsCommand,
  },
  maintenance: {
    summary: "Takes away what nobody needs any more, in one domain or in all, and tells what was freed.",
    load: async () => (await import("./maintenance.ts")).maintenanceCommand,
  },
  keys: {
    summary: "Lists, makes and removes API keys. From the first one on, everybody has to bring one.",
    load: async () => (await import("./keys.ts")).keysCommand,
  },
  query: {
    summary: "Searches a domain and prints the passages with their sources.",
    load: async () => (await import("./query.ts")).queryCommand,
  },
  mcp: {
    summary: "Serves search and documents to one AI client on standard input and output (Model Context Protocol).",
    load: async () => (await import("./mcp.ts")).mcpCommand,
  },
  sandbox: {
    summary: "Runs a simulated SharePoint tenant and a web site, to try, develop and test without real ones.",
    load: async () => (await import("./sandbox.ts")).sandboxCommand,
  },
  demo: {
    summary: "Shows it all: a tenant, a web site, a folder, crawls, five questions, and the pages.",
    load: async () => (await import("./demo.ts")).demoCommand,
  },
};

// Other accounts cannot read new files, unless a setting allows it (closeStorage).
process.umask(0o077);
let outputLost = false;
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    // The reader of our output ended (`lockstep crawl … | head`): the work goes on, and further writes are ignored.
    if (isErrno(error, "EPIPE")) return;
    outputLost = true;
    process.exitCode ||= 1;
  });
}
const code = await main(process.argv.slice(2));
process.exitCode = code || (outputLost ? 1 : 0);

/** Returns 0 for success, 1 for failure, 2 for wrong usage. Prints a sentence, never a stack. */
async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    process.stdout.write(overview());
    return name === undefined ? 2 : 0;
  }
  if (name === "--version" || name === "-v") {
    process.stdout.write(`${releaseNumber()}\n`);
    return 0;
  }
  try {
    const known = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!known) throw new BadInputError(`There is no command '${name}'. Try: lockstep --help`);
    const command = await known.load();
    if (args.includes("--help") || args.includes("-h")) {
      process.stdout.write(helpText(command, known.summary));
      return 0;
    }
    return await command.run(readCall(command, args));
  } catch (error) {
    process.stderr.write(`lockstep: ${error instanceof BadInputError ? error.message : explain(error)}\n`);
    if (process.env["LOCKSTEP_DEBUG"] && error instanceof Error) process.stderr.write(`${error.stack}\n`);
    return error instanceof BadInputError || error instanceof NotFoundError ? 2 : 1;
  }
}

function overview(): string {
  const commands = Object.entries(COMMANDS);
  const width = Math.max(...commands.map(([name]) => name.length));
  return `lockstep keeps AI knowledge bases in lockstep with their sources.

Usage: lockstep <command> [options]

Commands:
${commands.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`).join("\n")}

'lockstep <command> --help' tells more. Settings come from the environment and .env; see .env.example.
`;
}
