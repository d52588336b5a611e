import type { App } from "../../app/app.ts";
import type { PlacedFinding } from "../../engine/doctor.ts";
import { type Endpoint, endpoint } from "../grammar/endpoint.ts";
import { required } from "../grammar/parameters.ts";
import { domainId } from "../grammar/values.ts";
import { checkPage } from "../pages/check-page.ts";
import { checkSource } from "./check-source.ts";
import { formatFinding, sayProblems } from "./finding-row.ts";

export function doctorEndpoints(app: App): Endpoint[] {
  return [checkDomain(app), checkSource(app)];
}

function checkDomain(app: App): Endpoint {
  return endpoint({
    path: "/v2/domains/check",
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Tests the connection: looks at everything a crawl of the domain needs, from the certificate to the vector store, and says what is missing and who can do it.",
    changes: null,
    query: { domain_id: required(domainId, "The domain.") },
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&format=html"],
    async run({ domain_id }, { signal }) {
      const findings: PlacedFinding[] = [];
      for await (const finding of app.examine(domain_id, signal)) findings.push(finding);
      const error = sayProblems(findings);
      return { ok: error === "", error, data: { domain_id, findings: findings.map(formatFinding) } };
    },
    html: ({ data }, _args, frame) => checkPage(data.domain_id, data.findings, frame),
  });
}
