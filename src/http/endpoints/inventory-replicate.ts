import type { App } from "../../app/app.ts";
import { BadInputError } from "../../contracts/errors.ts";
import { dryRun } from "../grammar/dry-run.ts";
import { type Endpoint, endpoint } from "../grammar/endpoint.ts";
import { required, withDefault } from "../grammar/parameters.ts";
import { trueOrFalse } from "../grammar/values.ts";
import { asJob } from "./inventory-change.ts";
import { domainsOfStores } from "./inventory-usage.ts";
import { backendIds } from "./inventory-values.ts";

export function replicateEndpoint(app: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/vector_stores/replicate",
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    description:
      "Collects the files of the source vector stores, each once, and adds to every target what it lacks, with attributes and chunking. Runs as a job that waits until the files can be searched and names every one that fails.",
    changes: "Adds files to the target vector stores; takes others out when asked to.",
    destroys: (args) => args.remove_target_files_not_in_sources,
    query: {
      source_vector_store_ids: required(backendIds, "Where the files come from."),
      target_vector_store_ids: required(backendIds, "Where they are to be."),
      remove_target_files_not_in_sources: withDefault(
        trueOrFalse,
        false,
        "true then takes files out of the targets that no source has, unless a file could not be added or the sources are empty.",
      ),
      dry_run: dryRun,
    },
    examples: [
      "?source_vector_store_ids=vs_1,vs_2&target_vector_store_ids=vs_3&dry_run=true",
      "?source_vector_store_ids=vs_1&target_vector_store_ids=vs_3,vs_4&remove_target_files_not_in_sources=true&format=stream",
    ],
    async job(args) {
      const { source_vector_store_ids: sources, target_vector_store_ids: targets } = args;
      const both = sources.find((id) => targets.includes(id));
      if (both !== undefined) throw new BadInputError(`Vector store '${both}' is both a source and a target.`);
      const request = { sources, targets, removeOthers: args.remove_target_files_not_in_sources };
      await app.inventory.stores.checkReplicate(request);
      const users = await domainsOfStores(app);
      return asJob({
        router: "inventory/vector_stores",
        action: "replicate",
        object: targets.join(","),
        dryRun: args.dry_run,
        async work(steps) {
          for (const id of targets) {
            const user = users.get(id);
            if (user !== undefined) steps.log(warning(id, user));
          }
          return app.inventory.stores.replicate(request, steps);
        },
      });
    },
  });
}

function warning(store: string, domain: string): string {
  return `WARNING: Target '${store}' belongs to domain '${domain}'. Its crawls leave files alone that were added here, and add crawled ones again that were removed.`;
}
