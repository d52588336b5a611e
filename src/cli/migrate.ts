import { resolve } from "node:path";
import { migrateJob } from "../app/jobs.ts";
import { parseDomainId, parseSourceId } from "../contracts/ids.ts";
import type { MigratedSourceResult, MigrateResult } from "../engine/migrate/migrate.ts";
import type { Command } from "./command.ts";
import { runJob } from "./run-job.ts";

export const migrateCommand: Command = {
  name: "migrate",
  arguments: ["[DOMAIN]"],
  options: {
    source: { value: "ID", help: "Only this folder source of the domain." },
    from: { value: "FOLDER", help: "The store of an earlier project that becomes that of the source." },
    "dry-run": { help: "Shows what would be done and changes nothing." },
    undo: { help: "Puts back what was there before the last migration." },
    force: { help: "Undoes also what crawls have written since; it is kept beside the backup." },
  },
  examples: [
    "lockstep migrate --dry-run",
    "lockstep migrate HANDBOOK --source docs --from /srv/kts/.kts",
    "lockstep migrate HANDBOOK --undo",
  ],
  async run(call) {
    const [domainId] = call.positionals.map(parseDomainId);
    const [source, from] = [call.text("source"), call.text("from")];
    const request = {
      domainId,
      sourceId: source === undefined ? undefined : parseSourceId(source),
      from: from === undefined ? "" : resolve(from),
      undo: call.flag("undo"),
      force: call.flag("force"),
    };
    return await runJob({
      prepare: (app) => migrateJob(app, request, { dryRun: call.flag("dry-run") }),
      summary: (data) => tableOf(data as MigrateResult | undefined),
    });
  },
};

const COLUMNS: Readonly<Record<string, (source: MigratedSourceResult, dryRun: boolean) => string | number>> = {
  DOMAIN: (source) => source.domain_id,
  SOURCE: (source) => source.source_id,
  OUTCOME: (source, dryRun) =>
    `${dryRun && source.outcome !== "nothing_to_do" ? "would be " : ""}${source.outcome.replaceAll("_", " ")}`,
  FILES: (source) => source.files,
  "NEW IDS": (source) => source.new_ids,
  "LEFT OUT": (source) => source.left_out,
  DOCUMENTS: (source) => source.documents,
  VERSIONS: (source) => source.versions,
};

function tableOf(result: MigrateResult | undefined): string {
  if (!result || result.sources.length === 0) return "";
  const names = Object.keys(COLUMNS);
  const rows = result.sources.map((source) =>
    Object.values(COLUMNS).map((cell) => String(cell(source, result.dry_run))),
  );
  const widths = names.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const lines = [names, ...rows].map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return `${result.dry_run ? "Dry run: nothing was changed.\n" : ""}${lines.join("\n")}\n`;
}
