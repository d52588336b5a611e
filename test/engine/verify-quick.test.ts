// The quick verification after crawls: what it finds without reading everything, how late a domain is, and that it never fails a crawl.
import assert from "node:assert/strict";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { BadInputError } from "../../src/contracts/errors.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { sourceLease } from "../../src/contracts/lease.ts";
import { checkCertificate } from "../../src/engine/verify/certificate.ts";
import { QUICK } from "../../src/engine/verify/stored-certificates.ts";
import { storageFolder } from "../../src/mirror/layout.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";
import { assertNamed, CORRUPTIONS, fillStage, pickBy, StoredDomain, verify } from "./verify-corruptions.ts";

let stage: FolderStage;
beforeEach(async () => {
  stage = await FolderStage.open();
  await fillStage(stage, pickBy(7));
  await stage.crawl();
});
afterEach(() => stage.close());

const quickOne = () => stage.app.certificates.get(FOLDERS, QUICK);
const statusNow = async () => stage.app.certificates.status(await stage.app.domains.get(FOLDERS));

async function limitAge(maxAge: string): Promise<void> {
  const domain = await stage.app.domains.get(FOLDERS);
  await stage.app.domains.update({ ...domain, maxAge }, domain);
}

test("a crawl that changed something is verified quickly, one that did not is not", async () => {
  const first = await quickOne();
  const { statement } = first.certificate;
  const [source] = statement.sources;
  assert.deepEqual([statement.verdict, statement.quick, first.isSound], ["agrees", true, true]);
  assert.ok((source?.counts.documents ?? 0) > 3);
  assert.equal(source?.counts.listed, source?.counts.files);
  assert.equal(source?.counts.empty, 1);
  assert.match(source?.based_on.source ?? "", /listing of the last crawl/);
  assert.deepEqual(await stage.app.certificates.list(FOLDERS), [], "it is none of the chain");
  await stage.crawl();
  assert.equal((await quickOne()).hash, first.hash, "nothing changed");
  await stage.write("plain.txt", "Something else is written here now, about a marmot.");
  await stage.crawl();
  assert.notEqual((await quickOne()).hash, first.hash);
});

test("it sends nothing to the source: it agrees while that is away", async () => {
  await rename(stage.root, `${stage.root}-away`);
  const { statement, log } = await verify(stage, { quick: true });
  assert.equal(statement.verdict, "agrees", log);
});

/** What needs the texts made anew, or the source asked. */
const NOT_QUICKLY: ReadonlySet<string> = new Set([
  "the ledger has another size",
  "the ledger has another time",
  "the ledger has another name",
  "the ledger lost a row",
  "a chunk has another text",
  "a chunk is missing",
  "a section is missing",
  "a section has another text",
  "a text has another title",
]);

test("where everything is sampled, it names what is corrupted except in the texts", async () => {
  for (const [at, { name, corrupt }] of CORRUPTIONS.entries()) {
    if (NOT_QUICKLY.has(name)) continue;
    const expected = await corrupt(new StoredDomain(stage, pickBy(at + 1)));
    const looked = await verify(stage, { quick: true });
    if (name === "the ledger has another address") {
      assert.deepEqual(
        looked.differences.map(({ item_id }) => item_id),
        expected.named,
        `${name}\n${looked.log}`,
      );
    } else assertNamed(looked, expected, name);
    const repaired = await verify(stage, { repair: true });
    assert.equal(repaired.statement.verdict, "agrees", `${name}\n${repaired.log}`);
  }
});

test("a crawl that leaves something wrong says so, and is ok", async () => {
  await new StoredDomain(stage, () => 0).store((db) => db.exec("UPDATE vectors SET checksum = 1"));
  await stage.write("new.md", "# New\n\nA numbat eats termites all day long.");
  const { job, log } = await stage.crawl();
  assert.equal(job.result?.ok, true);
  assert.match(log, /WARNING: quick verification found \d+ differences\. lockstep verify FOLDERS --quick lists them\./);
});

test("it waits for nobody and never fails a crawl", async () => {
  const key = join(storageFolder(stage.storage, "security"), "signing-key.pem");
  await writeFile(key, "no key");
  await stage.reopen();
  await stage.write("new.md", "# New\n\nA numbat eats termites all day long.");
  const { job, log } = await stage.crawl();
  assert.equal(job.result?.ok, true);
  assert.match(log, /WARNING: domain 'FOLDERS' could not be verified quickly: .*signing-key\.pem/);
  await rm(key);
  await stage.reopen();
  const lease = await stage.app.leases.acquire(FOLDERS, sourceLease(stage.config, "embed"), { owner: "job jb_99" });
  const { statement } = await verify(stage, { quick: true, mayWait: false });
  await lease.release();
  assert.equal(statement.verdict, "could not look");
  assert.deepEqual(statement.sources[0]?.problems, ["job jb_99 is working on the same source."]);
});

test("a domain is late when its last full verification is older than max_age, or there is none", async () => {
  assert.equal((await statusNow()).isLate, false, "without a limit no domain is late");
  await limitAge("36h");
  assert.equal((await statusNow()).isLate, true, "a quick one does not count");
  assert.equal((await verify(stage, { quick: true })).data.late, true);
  const { data } = await verify(stage);
  assert.equal(data.late, false);
  stage.later(35);
  assert.equal((await statusNow()).isLate, false);
  stage.later(2);
  const { isLate, ageMs = 0 } = await statusNow();
  assert.deepEqual([isLate, Math.round(ageMs / 3_600_000)], [true, 37]);
  const text = JSON.stringify(data.certificate);
  const { fingerprint } = data.certificate.signature;
  assert.equal(checkCertificate(text, fingerprint, new Date()).isLate, false);
  assert.equal(checkCertificate(text, fingerprint, stage.now).isLate, true, "whoever checks it knows the limit");
});

test("a certificate that was altered or damaged proves nothing", async () => {
  await limitAge("7d");
  const { data } = await verify(stage);
  const file = join(stage.storage, data.certificate_file);
  await writeFile(file, JSON.stringify(data.certificate).replace('"agrees"', '"behind"'));
  const altered = await statusNow();
  assert.deepEqual([altered.isLate, altered.latest?.isSound], [true, false]);
  assert.match(altered.problem, /was altered: its signature does not fit/);
  await writeFile(file, "{");
  const damaged = await statusNow();
  assert.deepEqual([damaged.isLate, damaged.latest], [true, undefined]);
  assert.match(damaged.problem, /cannot be read: It is neither a certificate nor a proof/);
});

test("max_age is hours or days; anything else is refused with a sentence", async () => {
  for (const maxAge of ["7", "0d", "1w", "-3h", "9999999d", "7 d"]) {
    await assert.rejects(
      limitAge(maxAge),
      (error) =>
        error instanceof BadInputError && /'max_age' must be whole hours or days, like 36h or 7d/.test(error.message),
      maxAge,
    );
  }
  await limitAge("7d");
  assert.equal((await stage.app.domains.get(FOLDERS)).maxAge, "7d");
  await limitAge("");
  assert.equal((await stage.app.domains.get(FOLDERS)).maxAge, undefined);
});

test("a domain that was deleted while it was verified does not come back", async () => {
  const { domains } = stage.app;
  const id = parseDomainId("GONE");
  const domain = { ...(await domains.get(FOLDERS)), domainId: id, vectorStoreId: "" as const, sources: [] };
  await domains.create(domain);
  const deleted = rm(join(storageFolder(stage.storage, "domains"), id), { recursive: true });
  await assert.rejects(
    deleted.then(() => verify(stage, { domainId: id })),
    /does not exist|was removed/,
  );
  assert.deepEqual((await domains.list()).broken, []);
});
