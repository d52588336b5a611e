import { maintenanceJob } from "../app/jobs.ts";
import { parseDomainId } from "../contracts/ids.ts";
import { FREED, type MaintenanceResult } from "../engine/maintain/maintenance-result.ts";
import { sayBytes } from "../lib/text.ts";
import type { Command } from "./command.ts";
import { runJob } from "./run-job.ts";

export const maintenanceCommand: Command = {
  name: "maintenance",
  arguments: ["[DOMAIN]"],
  options: {
    "dry-run": { help: "Shows what would be removed and changes nothing." },
    unreferenced: { help: "Also deletes uploads of ours at OpenAI or Azure that no vector store holds." },
    "confirm-deletes": { help: "Carries out removals that are held because there are too many." },
  },
  examples: ["lockstep maintenance --dry-run", "lockstep maintenance DEMO", "lockstep maintenance --unreferenced"],
  async run(call) {
    const [domainId] = call.positionals.map(parseDomainId);
    const [unreferenced, confirmDeletes] = [call.flag("unreferenced"), call.flag("confirm-deletes")];
    const dryRun = call.flag("dry-run");
    return await runJob({
      prepare: (app) => maintenanceJob(app, { domainId, unreferenced, confirmDeletes }, { dryRun }),
      summary: (data) => tableOf(data as MaintenanceResult | undefined),
    });
  },
};

/** Right-aligned counts and sizes, then their kind. */
function tableOf(result: MaintenanceResult | undefined): string {
  if (!result || result.freed.length === 0) return "";
  const rows = result.freed.map(({ kind, count, bytes }) => [
    String(count),
    bytes > 0 ? sayBytes(bytes) : "",
    FREED[kind],
  ]);
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map(([count = "", size = "", what]) => {
    return `  ${count.padStart(widths[0] ?? 0)}  ${size.padStart(widths[1] ?? 0)}  ${what}`;
  });
  return `${result.dry_run ? "Would be freed" : "Freed"}:\n${lines.join("\n")}\n`;
}
