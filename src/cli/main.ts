import { BadInputError, explain, NotFoundError } from "../contracts/errors.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { type Command, helpText, readCall } from "./command.ts";

/** Loaded when called: `query` need not wait for the pages, nor `serve` for the sandbox. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serveCommand,
  worker: async () => (await import("./worker.ts")).workerCommand,
  crawl: async () => (await import("./crawl.ts")).crawlCommand,
  download: async () => (await import("./crawl.ts")).downloadCommand,
  process: async () => (await import("./crawl.ts")).processCommand,
  embed: async () => (await import("./crawl.ts")).embedCommand,
  watch: async () => (await import("./watch.ts")).watchCommand,
  add: async () => (await import("./add.ts")).addCommand,
  remove: async () => (await import("./remove.ts")).removeCommand,
  rebuild: async () => (await import("./rebuild.ts")).rebuildCommand,
  items: async () => (await import("./items.ts")).itemsCommand,
  "cleanup-metadata": async () => (await import("./cleanup-metadata.ts")).cleanupMetadataCommand,
  migrate: async () => (await import("./migrate.ts")).migrateCommand,
  rename: async () => (await import("./rename.ts")).renameCommand,
  doctor: async () => (await import("./doctor.ts")).doctorCommand,
  documents: async () => (await import("./documents.ts")).documentsCommand,
  maps: async () => (await import("./maps.ts")).mapsCommand,
  generations: async () => (await import("./generations.ts")).generationsCommand,
  maintenance: async () => (await import("./maintenance.ts")).maintenanceCommand,
  keys: async () => (await import("./keys.ts")).keysCommand,
  query: async () => (await import("./query.ts")).queryCommand,
  sandbox: async () => (await import("./sandbox.ts")).sandboxCommand,
  demo: async () => (await import("./demo.ts")).demoCommand,
};

// Nothing is made that other accounts can read, unless a setting says so (closeStorage).
process.umask(0o077);
let outputLost = false;
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    // Whoever read our output has seen enough (`lockstep crawl … | head`): the work goes on, and so do writes to nobody.
    if (isErrno(error, "EPIPE")) return;
    outputLost = true;
    process.exitCode ||= 1;
  });
}
const code = await main(process.argv.slice(2));
process.exitCode = code || (outputLost ? 1 : 0);

/** 0 done, 1 it did not work out, 2 called wrongly. Whatever happens, people read a sentence, not a stack. */
async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    process.stdout.write(await overview());
    return name === undefined ? 2 : 0;
  }
  try {
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!load) throw new BadInputError(`There is no command '${name}'. Try: lockstep --help`);
    const command = await load();
    if (args.includes("--help") || args.includes("-h")) {
      process.stdout.write(helpText(command));
      return 0;
    }
    return await command.run(readCall(command, args));
  } catch (error) {
    process.stderr.write(`lockstep: ${error instanceof BadInputError ? error.message : explain(error)}\n`);
    if (process.env["LOCKSTEP_DEBUG"] && error instanceof Error) process.stderr.write(`${error.stack}\n`);
    return error instanceof BadInputError || error instanceof NotFoundError ? 2 : 1;
  }
}

async function overview(): Promise<string> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()));
  const width = Math.max(...commands.map(({ name }) => name.length));
  return `lockstep keeps AI knowledge bases in lockstep with their sources.

Usage: lockstep <command> [options]

Commands:
${commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join("\n")}

'lockstep <command> --help' tells more. Settings come from the environment and .env; see .env.example.
`;
}
