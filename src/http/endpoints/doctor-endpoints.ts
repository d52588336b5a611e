import type { App } from "../../app/app.ts";
import type { PlacedFinding } from "../../engine/doctor.ts";
import { type Endpoint, endpoint } from "../grammar/endpoint.ts";
import { required } from "../grammar/parameters.ts";
import { domainId } from "../grammar/values.ts";
import { checkPage } from "../pages/check-page.ts";

export function doctorEndpoints(app: App): Endpoint[] {
  return [
    endpoint({
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
        const problems = findings.filter(({ outcome }) => outcome === "problem").length;
        const error =
          problems === 0 ? "" : problems === 1 ? "1 problem was found." : `${problems} problems were found.`;
        return { ok: problems === 0, error, data: { domain_id, findings: findings.map(formatFinding) } };
      },
      html: ({ data }) => checkPage(data.domain_id, data.findings),
    }),
  ];
}

/** As it goes over the wire. */
export interface FindingRow {
  readonly source_id: string;
  readonly subject: string;
  readonly outcome: PlacedFinding["outcome"];
  readonly detail: string;
  readonly remedy: string;
}

function formatFinding({ sourceId, subject, outcome, detail, remedy }: PlacedFinding): FindingRow {
  return { source_id: sourceId, subject, outcome, detail, remedy };
}
