import type { App } from "../../app/app.ts";
import { crawlJob } from "../../app/crawl-job.ts";
import { CRAWL_MODES, CRAWL_SCOPES, crawlRequest } from "../../engine/crawl-request.ts";
import { type Endpoint, endpoint } from "../grammar/endpoint.ts";
import { optional, required, withDefault } from "../grammar/parameters.ts";
import { domainId, oneOf, sourceId, trueOrFalse } from "../grammar/values.ts";

export function crawlEndpoints(app: App): Endpoint[] {
  return [crawl(app)];
}

function crawl(app: App): Endpoint {
  return endpoint({
    path: "/v2/crawler/crawl",
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    description:
      "Brings a domain in step with its sources: download, process, embed. Runs as a job that goes on when the client hangs up; json and html answer at its end, stream tells its events as they happen.",
    changes: "The domain's files below crawler/ and its vector store. A dry run changes neither and tells the plan.",
    query: {
      domain_id: required(domainId, "The domain to crawl."),
      mode: withDefault(oneOf(CRAWL_MODES), "full", "full fetches everything again, incremental only what changed."),
      scope: withDefault(oneOf(CRAWL_SCOPES), "all", "The kind of sources to crawl."),
      source_id: optional(sourceId, "Only this source of the domain."),
      dry_run: withDefault(trueOrFalse, false, "true only tells what would be done."),
      confirm_deletes: withDefault(
        trueOrFalse,
        false,
        "true carries out removals that are held because there are too many.",
      ),
    },
    examples: [
      "?domain_id=DEMO&mode=incremental",
      "?domain_id=DEMO&mode=incremental&dry_run=true",
      "curl -N '{origin}/v2/crawler/crawl?domain_id=DEMO&mode=incremental&format=stream'",
    ],
    async job(args) {
      const request = crawlRequest(args.domain_id, {
        mode: args.mode,
        scope: args.scope,
        sourceId: args.source_id,
        confirmDeletes: args.confirm_deletes,
      });
      await app.checkCrawl(request);
      return crawlJob(app, request, { dryRun: args.dry_run });
    },
  });
}
