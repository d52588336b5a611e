// A bucket in a domain.json is read and written, and mistakes are refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DomainId, parseDomainId } from "../../src/contracts/ids.ts";
import type { S3SourceConfig } from "../../src/sources/s3/s3-source-codec.ts";
import { mergeDomain, parseDomain } from "../kinds.ts";

const DEMO: DomainId = parseDomainId("DEMO");
const BUCKET = { source_id: "reports", bucket: "contoso-reports" };

function parsed(fields: object): S3SourceConfig {
  const { sources } = parseDomain({ s3_sources: [{ ...BUCKET, ...fields }] }, DEMO);
  return sources[0] as S3SourceConfig;
}

test("a bucket alone is one of AWS, and is written down as short as it was", () => {
  const source = parsed({});
  const { bucket, prefix, endpoint, region, credential, maxFileBytes, hidden } = source;
  assert.deepEqual(
    { bucket, prefix, endpoint, region, credential, maxFileBytes, hidden },
    {
      bucket: "contoso-reports",
      prefix: "",
      endpoint: "",
      region: "us-east-1",
      credential: "",
      maxFileBytes: 100 * 1024 * 1024,
      hidden: false,
    },
  );
  assert.equal(source.kind.describePlace(source), "https://contoso-reports.s3.us-east-1.amazonaws.com");
  assert.deepEqual(mergeDomain(parseDomain({ s3_sources: [BUCKET] }, DEMO), undefined)["s3_sources"], [BUCKET]);
});

test("all that is said of it is read, and written down again", () => {
  const all = {
    ...BUCKET,
    prefix: "2026/",
    endpoint: "https://minio.contoso.com/s3",
    region: "eu-central-1",
    include: ["*.pdf"],
    exclude: ["drafts/**"],
    credential: "REPORTS_KEY",
    hidden: true,
    max_file_mb: 5,
  };
  assert.deepEqual(mergeDomain(parseDomain({ s3_sources: [all] }, DEMO), undefined)["s3_sources"], [all]);
  assert.equal(parsed({ endpoint: " http://127.0.0.1:9000/ " }).endpoint, "http://127.0.0.1:9000");
});

test("what cannot be meant is refused with what would be right, and never repeated", () => {
  const wrong: readonly [object, RegExp][] = [
    [{ bucket: "" }, /s3_sources\[0\]\.bucket must be the name of a bucket, like "contoso-reports"/],
    [{ bucket: "s3://hunter2/x" }, /what comes after the bucket into 'prefix'/],
    [{ bucket: "Hunter2" }, /3 to 63 small letters/],
    [{ endpoint: "hunter2" }, /endpoint must be the address of the service, like "https:\/\/minio\.contoso\.com"/],
    [{ endpoint: "http://hunter2.com" }, /must begin with https/],
    [{ endpoint: "https://a:hunter2@contoso.com" }, /must not hold a user name or password/],
    [{ endpoint: "https://contoso.com/?X-Amz-Signature=hunter2" }, /give that variable's name as 'credential'/],
    [{ endpoint: "https://contoso-reports.hunter2.com" }, /must be the address without the bucket/],
    [{ endpoint: "https://hunter2.com/contoso-reports" }, /must be the address without the bucket/],
    [{ region: "hunter2.example.com" }, /region must be the name of a region, like "eu-central-1"/],
    [{ prefix: "a\nhunter2" }, /prefix must be what the names of the objects begin with/],
    [{ credential: "KEY:hunter2" }, /credential must be the name of an environment variable.*like REPORTS_KEY/],
    [{ credential: "AKIAHUNTER2IOSFODNN7" }, /the key \(ACCESS_KEY:SECRET\) itself belongs into that variable/],
  ];
  for (const [fields, sentence] of wrong) {
    assert.throws(
      () => parsed(fields),
      (error) => error instanceof Error && sentence.test(error.message) && !/hunter2/i.test(error.message),
      JSON.stringify(fields),
    );
  }
  assert.throws(() => parseDomain({ s3_sources: [BUCKET, { ...BUCKET, source_id: "again" }] }, DEMO), /twice/);
});
