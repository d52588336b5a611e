import type { App } from "../../app/app.ts";
import { maintenanceJob } from "../../app/jobs.ts";
import { type Endpoint, endpoint } from "../routing/endpoint.ts";
import { dryRun, optional, withDefault } from "../routing/parameters.ts";
import { domainId, trueOrFalse } from "../routing/values.ts";

export function maintenanceEndpoints(app: App): Endpoint[] {
  return [maintenance(app)];
}

function maintenance(app: App): Endpoint {
  return endpoint({
    path: "/v2/maintenance",
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    description:
      "Takes away what nobody needs any more: files that were missing for too long, with their versions and vectors, what killed runs left, texts that no kept generation shows, old jobs and reports. Runs as a job beside crawls, and waits for those that work on the same source; json and html answer at its end with what was freed.",
    changes:
      "Manifests, knowledge bases and vector stores. Search loses only documents of folders and the like that no manifest entry stands for, which no crawl would know. Without domain_id also old jobs, reports and temporary files. A dry run changes none and tells the same.",
    destroys: () => true,
    role: "admin",
    query: {
      domain_id: optional(domainId, "Only this domain; without it, all of them and what belongs to none."),
      dry_run: dryRun,
      unreferenced: withDefault(
        trueOrFalse,
        false,
        "true also deletes uploads of ours at OpenAI or Azure that no vector store holds.",
      ),
      confirm_deletes: withDefault(
        trueOrFalse,
        false,
        "true carries out removals that are held because there are too many.",
      ),
    },
    examples: ["?dry_run=true", "?domain_id=DEMO", "curl -N '{origin}/v2/maintenance?dry_run=true&format=stream'"],
    job: ({ domain_id, dry_run, unreferenced, confirm_deletes }) =>
      maintenanceJob(app, { domainId: domain_id, unreferenced, confirmDeletes: confirm_deletes }, { dryRun: dry_run }),
  });
}
