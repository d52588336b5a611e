import { BadInputError } from "../contracts/errors.ts";
import type { SourceVerification, VerifyRequest } from "../engine/verify/verification.ts";
import type { VerifyResult } from "../engine/verify/verify-domain.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import { plural } from "../lib/text.ts";
import type { App } from "./app.ts";

/** Verify as the job it runs in; it is ok when index and source agree, or only the source moved on. NotFoundError when there is no such domain. */
export async function verifyJob(
  app: Pick<App, "verify" | "domains">,
  request: VerifyRequest,
  options: { readonly repair: boolean },
): Promise<JobWork> {
  await app.domains.get(request.domainId);
  if (request.quick && (request.download || options.repair || request.prove !== undefined)) {
    throw new BadInputError("A quick verification looks at samples only: leave out download, repair and prove.");
  }
  return {
    start: { router: "crawler", action: "verify", object: request.domainId, dryRun: false },
    async work(job) {
      const data = await app.verify(request, options, job);
      const error = sayVerdict(data);
      return { ok: error === "", error, data };
    },
  };
}

/** "" where there is nothing to worry about. */
function sayVerdict({ certificate: { statement } }: VerifyResult): string {
  const { verdict, domain_id, sources, problems } = statement;
  if (verdict === "agrees" || verdict === "behind") return "";
  if (verdict === "differs") return `Domain '${domain_id}' differs: ${sources.flatMap(sayDifferences).join("; ")}.`;
  const told = [
    ...problems,
    // What is the matter with the domain is so with each of its sources.
    ...sources.flatMap(({ source_id, problems: own }) =>
      own.filter((one) => !problems.includes(one)).map((one) => `source '${source_id}': ${one}`),
    ),
  ];
  return `Domain '${domain_id}' could not be looked at: ${told.map((one) => one.replace(/\.$/, "")).join("; ")}.`;
}

function sayDifferences({ source_id, differences, differences_more }: SourceVerification): string[] {
  const count = differences.length + differences_more;
  return count === 0 ? [] : [`source '${source_id}' has ${plural(count, "difference")}`];
}
