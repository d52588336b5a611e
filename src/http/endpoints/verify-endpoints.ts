import type { App } from "../../app/app.ts";
import { verifyJob } from "../../app/verify-job.ts";
import { type Endpoint, endpoint } from "../routing/endpoint.ts";
import { optional, required, withDefault } from "../routing/parameters.ts";
import { domainId, text, trueOrFalse } from "../routing/values.ts";

export function verifyEndpoints(app: App): Endpoint[] {
  return [verify(app)];
}

function verify(app: App): Endpoint {
  const path = "/v2/crawler/verify";
  return endpoint({
    path,
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    description:
      "Compares the sources of a domain, its mirror, ledger and index with fresh eyes: everything is listed, every file is read, its text extracted anew and compared with what is stored, and documents are searched for. Answers with a signed certificate: agrees, behind (the source moved on since the last crawl), differs (each difference, and what a crawl would do about it) or could not look. Runs as a job; crawls of the same source wait for it, and it for them.",
    changes:
      "Nothing of sources, mirror, ledger and index; keeps the certificate below domains/<domain_id>/certificates/. With repair=true, what a crawl changes.",
    query: {
      domain_id: required(domainId, "The domain to verify."),
      download: withDefault(trueOrFalse, false, "true also reads the bytes of every file at its source."),
      quick: withDefault(
        trueOrFalse,
        false,
        "true asks no source and extracts nothing: what the last crawl listed, files and documents by presence, samples. Runs by itself after crawls that changed something.",
      ),
      repair: withDefault(
        trueOrFalse,
        false,
        "true makes anew what is damaged, crawls with every file read, and verifies again.",
      ),
      prove: optional(
        text,
        "An item (its id, file id, path or name): the answer has proofs that the certificate covers it.",
      ),
    },
    examples: [
      "?domain_id=DEMO",
      "?domain_id=DEMO&download=true",
      `curl -N '{origin}${path}?domain_id=DEMO&format=stream'`,
    ],
    job: ({ domain_id, download, quick, repair, prove }) =>
      verifyJob(app, { domainId: domain_id, download, quick, prove }, { repair }),
  });
}
