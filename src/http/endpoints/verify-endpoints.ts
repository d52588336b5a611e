import type { App } from "../../app/app.ts";
import { verifyJob } from "../../app/verify-job.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { formatCertificate } from "../../engine/verify/certificate.ts";
import { isCertificateId, type StoredCertificate } from "../../engine/verify/stored-certificates.ts";
import { oneChunk } from "../../lib/text.ts";
import { certificatePage, certificatesPage } from "../pages/certificate-pages.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { type Endpoint, endpoint, ok, type RawAnswer } from "../routing/endpoint.ts";
import { MAX_LIMIT } from "../routing/listing.ts";
import { type Arguments, optional, required, withDefault } from "../routing/parameters.ts";
import { domainId, jobId, text, trueOrFalse, type Value, wholeNumber } from "../routing/values.ts";
import {
  type CertificateJson,
  type CertificateStatusJson,
  toCertificateJson,
  toStatusJson,
} from "./certificate-codec.ts";

/** Proves that source, mirror and index say the same, and shows what was proved. */
export function verifyEndpoints(app: App): Endpoint[] {
  return [verify(app), list(app), get(app)];
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

const PATH = "/v2/domains/certificates";

const listQuery = {
  domain_id: required(domainId, "The domain."),
  limit: withDefault(wholeNumber({ from: 1, to: MAX_LIMIT }), PAGE_ROWS, "At most this many."),
  offset: withDefault(wholeNumber({ from: 0, to: 999_999_999 }), 0, "Leaves out this many first."),
  job_id: optional(jobId, "A verification to follow; only for the page."),
};

export type CertificatesQuery = Arguments<typeof listQuery>;

export interface CertificatesJson extends CertificateStatusJson {
  /** Certificates of full verifications, newest first. Unreadable ones are left out. */
  readonly certificates: readonly CertificateJson[];
  readonly total: number;
}

function list(app: App): Endpoint {
  return endpoint({
    path: PATH,
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Tells what was proved of a domain: its last certificate and how old that may be, the last quick verification, and its earlier certificates, newest first. The page draws the last one, lists the differences, and starts a verification.",
    changes: null,
    query: listQuery,
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&limit=10", "?domain_id=DEMO&format=html"],
    async run({ domain_id, limit, offset }) {
      const domain = await app.domains.get(domain_id);
      const [status, ids] = await Promise.all([app.certificates.status(domain), app.certificates.list(domain_id)]);
      const certificates: CertificateJson[] = [];
      for (const id of ids.slice(offset, offset + limit)) {
        const kept = await readable(app, domain_id, id);
        if (kept) certificates.push(toCertificateJson(kept));
      }
      const data: CertificatesJson = { ...toStatusJson(domain, status), certificates, total: ids.length };
      return ok(data);
    },
    html: ({ data }, args, frame) => certificatesPage(app, data, args, frame),
  });
}

/** undefined for one that was damaged or removed meanwhile. */
async function readable(app: App, domain: DomainId, id: string): Promise<StoredCertificate | undefined> {
  return app.certificates.get(domain, id).catch((error: unknown) => {
    if (error instanceof BadInputError) return undefined;
    throw error;
  });
}

const certificateId: Value<string> = {
  accepts: "the id of a certificate, as 2026-01-15T10-30-00-000000Z, latest or quick",
  schema: { type: "string" },
  read: (raw) => (typeof raw === "string" && (raw === LATEST || isCertificateId(raw)) ? raw : undefined),
};
const LATEST = "latest";

const getQuery = {
  domain_id: required(domainId, "The domain."),
  certificate: withDefault(certificateId, LATEST, "Its id; quick for the last quick verification."),
};

function get(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/get`,
    methods: ["GET"],
    formats: ["json", "html", "raw"],
    description:
      "Returns one certificate of a domain. raw: its file, for lockstep verify --check; html: drawn, with every difference.",
    changes: null,
    query: getQuery,
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&certificate=quick", "?domain_id=DEMO&format=raw"],
    async run(args) {
      const kept = await find(app, args);
      return ok({ ...toCertificateJson(kept), file: kept.certificate });
    },
    html: async (_answer, args, frame) => certificatePage(await find(app, args), args.domain_id, frame),
    async raw(args): Promise<RawAnswer> {
      const { id, certificate } = await find(app, args);
      const bytes = Buffer.from(formatCertificate(certificate));
      const fileName = `${args.domain_id}-${id}.json`;
      return {
        content: oneChunk(bytes),
        bytes: bytes.byteLength,
        mediaType: "application/json; charset=utf-8",
        fileName,
      };
    },
  });
}

async function find(app: App, { domain_id, certificate }: Arguments<typeof getQuery>): Promise<StoredCertificate> {
  await app.domains.get(domain_id);
  const id = certificate === LATEST ? (await app.certificates.list(domain_id))[0] : certificate;
  return app.certificates.get(domain_id, id ?? LATEST);
}
