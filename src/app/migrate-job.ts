import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import { folderSourcesOf, type MigrateRequest } from "../engine/migrate/migrate.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import type { App } from "./app.ts";

/** A migration as the job it runs in. Refuses what cannot be meant: NotFoundError, BadInputError. */
export async function migrateJob(
  app: Pick<App, "migrate" | "domains">,
  request: MigrateRequest,
  { dryRun }: { readonly dryRun: boolean },
): Promise<JobWork> {
  await check(app, request);
  return {
    start: { router: "maintenance", action: "migrate", object: request.domainId ?? "", dryRun },
    async work(job) {
      const data = await app.migrate(request, job);
      return { ok: data.problems.length === 0, error: data.problems.join(" "), data };
    },
  };
}

async function check({ domains }: Pick<App, "domains">, request: MigrateRequest): Promise<void> {
  const { domainId, sourceId, from, undo, force } = request;
  if (from !== "" && undo)
    throw new BadInputError("Either --from or --undo: an undone migration knows where it came from.");
  if (force && !undo) throw new BadInputError("--force is for --undo.");
  if (domainId === undefined) {
    if (sourceId !== undefined || from !== "" || undo) {
      throw new BadInputError("--source, --from and --undo are about one domain: name it.");
    }
    return;
  }
  const found = folderSourcesOf(await domains.get(domainId), sourceId);
  if (sourceId !== undefined && found.length === 0) {
    throw new NotFoundError(`Domain '${domainId}' has no folder source '${sourceId}'.`);
  }
  if (from !== "" && found.length !== 1) {
    throw new BadInputError(
      `--from is about one source, and domain '${domainId}' has ${found.length} folder sources: name it with --source.`,
    );
  }
}
