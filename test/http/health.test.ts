// The health of a domain and the chart of its crawls are derived from its jobs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import type { JobId } from "../../src/contracts/ids.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import type { DomainStatus } from "../../src/engine/domain-status.ts";
import type { CertificateStatus, StoredCertificate } from "../../src/engine/verify/stored-certificates.ts";
import { crawlChart } from "../../src/http/pages/crawl-chart.ts";
import { healthOf, type Vitals } from "../../src/http/pages/domain-health.ts";

const CRAWL: JobRecord = {
  jobId: "jb_7" as JobId,
  endpoint: "/v2/crawler/crawl?domain_id=DEMO",
  dryRun: false,
  state: "completed",
  startedAt: "2026-01-15T10:30:00.000000Z",
  endedAt: "2026-01-15T10:31:00.000000Z",
  result: { ok: true, error: "", data: {} },
  stalled: false,
  router: "crawler",
  action: "crawl",
  object: "DEMO",
  lastModifiedAt: "2026-01-15T10:31:00.000000Z",
};
const STANDING: DomainStatus = {
  documents: 12,
  failed: 0,
  acknowledged: 0,
  empty: 0,
  rolledBackTo: null,
  error: "",
  sources: [],
};
const FINE: Vitals = {
  kinds: BUILT_IN_KINDS,
  domainId: "DEMO",
  active: undefined,
  last: CRAWL,
  standing: STANDING,
};
const LATE: CertificateStatus = {
  latest: undefined,
  quick: undefined,
  problem: "",
  ageMs: 9 * 86_400_000,
  isLate: true,
};
const DIFFERS = {
  certificate: { statement: { verdict: "differs", sources: [{ differences: [{}], differences_more: 0 }] } },
} as unknown as StoredCertificate;
const failed = (error: string, data: unknown = {}): JobRecord => ({ ...CRAWL, result: { ok: false, error, data } });

const held = {
  sources: [{ download: { held: 40 }, process: {}, embed: {} }],
  steps: ["download"],
};

const broken = { sources: [{ download: { failed: 2 } }], steps: ["download"], report_id: "r1" };

const CASES: readonly [title: string, vitals: Partial<Vitals>, word: string, tone: string, wayOut: string][] = [
  ["everything is fine", {}, "in step", "good", ""],
  ["never crawled", { last: undefined, standing: { ...STANDING, documents: 0 } }, "not crawled yet", "idle", ""],
  ["no job tells of its crawl", { last: undefined }, "crawl it again", "idle", "/v2/crawler?format=ui&domain_id=DEMO"],
  ["crawled right now", { active: { ...CRAWL, state: "running" } }, "crawling", "busy", ""],
  ["paused", { active: { ...CRAWL, state: "paused" } }, "paused", "busy", ""],
  ["stalled", { active: { ...CRAWL, state: "running", stalled: true } }, "stalled", "warn", "/v2/jobs/get?job_id=jb_7"],
  ["rolled back", { standing: { ...STANDING, rolledBackTo: 0 } }, "rolled back", "warn", "/v2/domains/generations"],
  ["cancelled", { last: { ...CRAWL, state: "cancelled" } }, "cancelled", "warn", "/v2/jobs/get?job_id=jb_7"],
  ["failed", { last: failed("No such site.") }, "needs attention", "bad", "/v2/jobs/get?job_id=jb_7"],
  [
    "items failed",
    { last: failed("2 items failed.", broken) },
    "needs attention",
    "bad",
    "/v2/documents/failed?domain_id=",
  ],
  ["removals held", { last: failed("Held.", held) }, "removals held", "warn", "&dry_run=true&confirm_deletes=true"],
  ["files failed", { standing: { ...STANDING, failed: 2 } }, "files failed", "warn", "/v2/documents/failed?domain_id="],
  ["verified too long ago", { certificates: LATE, maxAge: "7d" }, "late", "warn", "/v2/domains/certificates"],
  [
    "never verified",
    { certificates: { ...LATE, ageMs: undefined }, maxAge: "7d" },
    "late",
    "warn",
    "/v2/domains/certificates",
  ],
  [
    "verified, and it differs",
    { certificates: { ...LATE, latest: DIFFERS } },
    "differs",
    "bad",
    "/v2/domains/certificates",
  ],
  [
    "a crawl left it different",
    { certificates: { ...LATE, quick: DIFFERS } },
    "differs",
    "bad",
    "/v2/domains/certificates",
  ],
  [
    "a certificate was altered",
    { certificates: { ...LATE, problem: "It was altered." } },
    "certificate damaged",
    "warn",
    "/v2/domains/certificates",
  ],
  ["verified in time", { certificates: { ...LATE, isLate: false }, maxAge: "7d" }, "in step", "good", ""],
  ["verified right now", { active: { ...CRAWL, action: "verify", state: "running" } }, "verifying", "busy", ""],
  ["nobody can say", { standing: undefined }, "unknown", "warn", ""],
  ["the index cannot be asked", { standing: { ...STANDING, error: "It is damaged." } }, "unknown", "warn", ""],
];

for (const [title, vitals, word, tone, wayOut] of CASES) {
  test(`health: ${title}`, () => {
    const health = healthOf({ ...FINE, ...vitals });
    assert.deepEqual([health.word, health.tone], [word, tone]);
    assert.ok((health.wayOut?.href ?? "").includes(wayOut));
    assert.equal(health.wayOut === undefined, wayOut === "");
    if (tone === "warn" || tone === "bad") assert.match(health.reason, /\.$/, "the reason is a sentence");
  });
}

test("a chart has a bar for each crawl, failures below the line, and says the rates", async () => {
  const crawl = (added: number, failures: number, unchanged: number): JobRecord => ({
    ...CRAWL,
    result: {
      ok: true,
      error: "",
      data: {
        steps: ["download"],
        sources: [{ download: { added, failed: failures, unchanged }, process: {}, embed: {} }],
      },
    },
  });
  const svg = String(
    await crawlChart("De<mo", [crawl(0, 1, 999), crawl(0, 0, 1000), crawl(1000, 0, 0)], BUILT_IN_KINDS),
  );
  assert.equal(svg.match(/class="changes"/g)?.length, 1);
  assert.equal(svg.match(/class="still"/g)?.length, 2);
  assert.equal(svg.match(/class="failures"/g)?.length, 1);
  assert.match(svg, /aria-label="De&lt;mo: Over the last 3 crawls 33 % of the items changed, under 0\.1 % failed\."/);
  assert.equal(crawlChart("Demo", [], BUILT_IN_KINDS), "");
  assert.equal(
    crawlChart("Demo", [{ ...CRAWL, result: null }], BUILT_IN_KINDS),
    "",
    "a crawl without a result has no bar",
  );
});
