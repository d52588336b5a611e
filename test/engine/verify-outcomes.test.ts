// What verify says of a domain, its certificates, their proofs, and what it does while others work or a source is away.
import assert from "node:assert/strict";
import { readdir, readFile, rename, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { verifyJob } from "../../src/app/verify-job.ts";
import { NotFoundError } from "../../src/contracts/errors.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { sourceLease } from "../../src/contracts/lease.ts";
import { checkCertificate, formatCertificate, hashCertificate, isLate } from "../../src/engine/verify/certificate.ts";
import { checksumOf, packVector } from "../../src/index/embedding/vectors.ts";
import { killChild } from "./folder-killer.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";
import { StoredDomain, type Verified, verify } from "./verify-corruptions.ts";

let stage: FolderStage;
beforeEach(async () => {
  stage = await FolderStage.open();
  await stage.write("ibex.md", "# Ibex\n\nAn ibex climbs the steep walls of the valley every day.");
  await stage.write("deep/vole.md", "# Vole\n\nA vole digs its tunnels below the meadow near the river.");
  await stage.write("okapi.txt", "The okapi hides between the trees of a dark and humid forest.");
  await stage.crawl();
});
afterEach(() => stage.close());

const behindOf = ({ statement }: Verified): string[] =>
  statement.sources.flatMap(({ behind }) => behind.map(({ path, detail }) => `${path}: ${detail}`)).sort();
const problemsOf = ({ statement }: Verified): string[] => [
  ...statement.problems,
  ...statement.sources.flatMap(({ problems }) => problems),
];

test("what agrees is certified: everything is counted, and the roots of mirror and index are one", async () => {
  const { statement, job, log } = await verify(stage, { download: true });
  assert.equal(statement.verdict, "agrees", log);
  assert.equal(job.result?.ok, true);
  const [source] = statement.sources;
  assert.deepEqual(source?.counts, {
    listed: 3,
    unwanted: 0,
    files: 3,
    documents: 3,
    passages: 3,
    vectors: 3,
    empty: 0,
    unreadable: 0,
    searched: 3,
    searched_removed: 0,
  });
  assert.equal(source?.roots.mirror.leaves, 3);
  assert.deepEqual(source?.roots.index, source?.roots.mirror);
  assert.deepEqual(source?.roots.source, source?.roots.mirror, "the bytes of the source are those of the mirror");
  assert.match(log, /\[ 3 \/ 3 \] Verifying/);
});

test("the last certificate is the latest one, also when the clock was set back; one from the future is late", async () => {
  await verify(stage);
  const folder = join(stage.storage, "domains", FOLDERS, "certificates");
  const [first = ""] = await stage.app.certificates.list(FOLDERS);
  const future = first.replace(/^\d{4}/, "2099");
  await rename(join(folder, `${first}.json`), join(folder, `${future}.json`));
  const ids: string[] = [];
  for (let count = 0; count < 11; count += 1) {
    const { data } = await verify(stage);
    ids.push(data.certificate_file.slice(-"000001.json".length));
    const domain = await stage.app.domains.get(FOLDERS);
    const { latest } = await stage.app.certificates.status({ ...domain, maxAge: "1d" });
    assert.equal(latest?.hash, data.certificate_hash);
    const before = (await stage.app.certificates.list(FOLDERS))[1] ?? "";
    assert.equal(data.certificate.statement.previous, (await stage.app.certificates.get(FOLDERS, before)).hash);
  }
  assert.deepEqual([ids[0], ids.at(-1)], ["000001.json", "000011.json"]);
  const now = new Date("2026-11-19T12:00:00Z");
  const at = (finished_utc: string): boolean => isLate({ finished_utc, max_age: "1d" }, now);
  assert.deepEqual(
    [at("2026-11-19T12:10:00Z"), at("2026-11-21T12:00:00Z"), at("2026-11-17T12:00:00Z")],
    [false, true, true],
  );
});

test("certificates follow each other, and none can be altered", async () => {
  const first = await verify(stage);
  const second = await verify(stage);
  assert.equal(first.statement.previous, "");
  assert.equal(second.statement.previous, first.data.certificate_hash);
  const text = await readFile(join(stage.storage, second.data.certificate_file), "utf8");
  assert.equal(hashCertificate(text), second.data.certificate_hash);
  const { fingerprint } = second.data.certificate.signature;
  assert.equal(checkCertificate(text, fingerprint).outcome, "signed");
  assert.equal(checkCertificate(text, undefined).outcome, "unknown signer");
  assert.equal(checkCertificate(text, first.data.certificate_hash).outcome, "unknown signer");
  assert.equal(
    checkCertificate(JSON.stringify(JSON.parse(text)), fingerprint).outcome,
    "signed",
    "blanks do not count",
  );
  for (const [from, to] of [
    ['"agrees"', '"behind"'],
    ['"leaves": 3', '"leaves": 4'],
    [second.statement.previous, first.data.certificate_hash.replace(/.$/, "x")],
  ] as const) {
    assert.ok(text.includes(from));
    assert.equal(checkCertificate(text.replace(from, to), fingerprint).outcome, "broken", from);
  }
  for (const wrong of [
    "",
    "{}",
    "[]",
    "null",
    '{"format":"lockstep-certificate-1"}',
    '{"format":"lockstep-proof-1","proofs":[]}',
  ]) {
    assert.throws(() => checkCertificate(wrong, fingerprint), /neither a certificate nor a proof/);
  }
});

test("a proof leads from one item to the roots, and from no other", async () => {
  const { data } = await verify(stage, { prove: "deep/vole.md" });
  const proof = data.proof ?? assert.fail("no proof");
  assert.deepEqual(
    proof.proofs.map(({ layer }) => layer),
    ["source", "mirror", "index"],
  );
  const { fingerprint } = data.certificate.signature;
  assert.equal(checkCertificate(formatCertificate(proof), fingerprint).outcome, "signed");
  const [first, ...rest] = proof.proofs;
  const index = ((first?.index ?? 0) + 1) % 3;
  for (const change of [{ item_id: "another" }, { content_hash: "0".repeat(64) }, { index }, { layer: "mirror" }]) {
    const altered = { ...proof, proofs: [{ ...first, ...change }, ...rest] };
    assert.equal(checkCertificate(JSON.stringify(altered), fingerprint).outcome, "broken", JSON.stringify(change));
  }
  const request = { domainId: FOLDERS, download: false, prove: "nobody.md" };
  const { start, work } = await verifyJob(stage.app, request, { repair: false });
  const job = await (await stage.app.runner.start({ ...start, endpoint: "test" }, work)).done;
  assert.match(job.result?.error ?? "", /No source of domain 'FOLDERS' has an item 'nobody.md'/);
});

test("a source that moved on is named, and no alarm; after a crawl all agrees", async () => {
  await stage.write("new.md", "A numbat eats termites all day long.");
  await stage.write("okapi.txt", "The okapi was seen at the edge of the forest.");
  await stage.remove("ibex.md");
  await stage.rename("deep/vole.md", "moved.md");
  const held = await stage.holdings();
  const verified = await verify(stage);
  assert.equal(verified.statement.verdict, "behind", verified.log);
  assert.equal(verified.job.result?.ok, true);
  assert.deepEqual(verified.differences, []);
  assert.deepEqual(
    behindOf(verified).map((line) => line.split(":")[0]),
    ["deep/vole.md", "ibex.md", "new.md", "okapi.txt"],
  );
  assert.deepEqual(await stage.holdings(), held, "nothing was changed");
  await stage.crawl();
  const after = await verify(stage);
  assert.equal(after.statement.verdict, "agrees", after.log);
  assert.equal(after.statement.sources[0]?.counts.searched_removed, 1, "the ibex is not found by its own words");
});

test("documents whose removal is held are behind, and keep their address in a full crawl", async () => {
  const urls = async (): Promise<unknown> => (await stage.holdings()).map(({ url }) => url).sort();
  const before = await urls();
  const okapi = await readFile(stage.at("okapi.txt"));
  for (const path of await readdir(stage.root)) await stage.remove(path);
  await stage.tryCrawl();
  for (const quick of [false, true]) {
    const { statement, differences } = await verify(stage, { quick });
    assert.deepEqual([statement.verdict, differences], ["behind", []]);
  }
  await stage.tryCrawl({ mode: "full" });
  assert.deepEqual(await urls(), before);
  await stage.write("okapi.txt", okapi);
  const back = await verify(stage);
  assert.deepEqual(
    [back.differences, behindOf(back).filter((one) => one.startsWith("okapi.txt: back"))],
    [[], ["okapi.txt: back at the source"]],
  );
});

test("a file that was only touched is behind, and then agrees", async () => {
  await utimes(stage.at("ibex.md"), new Date(), new Date(Date.now() - 86_400_000));
  const verified = await verify(stage);
  assert.deepEqual(behindOf(verified), ["ibex.md: changed at the source: modified time"]);
  assert.deepEqual(verified.differences, []);
  await stage.crawl();
  const after = await verify(stage);
  assert.equal(after.statement.verdict, "agrees", after.log);
});

test("bytes that changed under the same size and time are found by reading them", async () => {
  const { atime, mtime, size } = await stat(stage.at("okapi.txt"));
  const text = (await readFile(stage.at("okapi.txt"), "utf8")).replace("dark", "wide");
  await writeFile(stage.at("okapi.txt"), text);
  await utimes(stage.at("okapi.txt"), atime, mtime);
  assert.equal((await stat(stage.at("okapi.txt"))).size, size);
  const { statement, differences, log } = await verify(stage, { download: true });
  // The file system tells another time of its own (ctime), which is a stamp of the source.
  const told = [
    ...differences.map(({ layer }) => layer),
    ...statement.sources.flatMap(({ behind }) => behind.map(() => "behind")),
  ];
  assert.equal(told.length, 1, log);
  assert.notEqual(statement.verdict, "agrees");
});

test("a source that is away is said, and what is stored is still compared", async () => {
  await rename(stage.root, `${stage.root}-away`);
  const away = await verify(stage);
  assert.equal(away.statement.verdict, "could not look", away.log);
  assert.equal(away.job.result?.ok, false);
  assert.match(problemsOf(away).join(), /cannot be listed/);
  assert.equal(away.statement.sources[0]?.counts.documents, 3);
  assert.deepEqual(behindOf(away), [], "nothing is taken for gone");
  await writeFile(join(stage.folder, "02_embedded", "ibex.md"), "damaged");
  const damaged = await verify(stage);
  assert.equal(damaged.statement.verdict, "differs", "what is known to be wrong is said first");
  await rename(`${stage.root}-away`, stage.root);
});

test("a domain that was never crawled could not be looked at; of one that is rolled back, the newest is", async () => {
  const { vectorStoreId: _, ...texts } = await stage.app.domains.get(FOLDERS);
  const never = parseDomainId("NEVER");
  await stage.app.domains.create({ ...texts, domainId: never, vectorStoreId: "", sources: [] });
  const empty = await verify(stage, { domainId: never });
  assert.equal(empty.statement.verdict, "could not look");
  assert.match(problemsOf(empty).join(), /has no vector store yet/);
  await stage.write("ibex.md", "The ibex sleeps.");
  await stage.crawl();
  await stage.app.rollback(FOLDERS, 1, { dryRun: false });
  const rolledBack = await verify(stage);
  assert.equal(rolledBack.statement.verdict, "agrees", rolledBack.log);
  const { generation, generation_id, shown_generation } = rolledBack.statement;
  assert.deepEqual([generation, shown_generation], [2, 1]);
  assert.equal(generation_id, (await stage.app.generations(FOLDERS)).newestId);
  assert.match(rolledBack.log, /Readers are shown generation 1; what was looked at is the newest, generation 2\./);
});

test("an unknown domain is refused before there is a job", async () => {
  const request = { domainId: parseDomainId("NOBODY"), download: false };
  await assert.rejects(verifyJob(stage.app, request, { repair: false }), NotFoundError);
});

test("verify waits for whoever works on the source, and can be cancelled while it does", async () => {
  const hold = (): ReturnType<typeof stage.app.leases.acquire> =>
    stage.app.leases.acquire(FOLDERS, sourceLease(stage.config, "embed"), { owner: "job jb_99" });
  const start = async () => {
    const { start: facts, work } = await verifyJob(
      stage.app,
      { domainId: FOLDERS, download: false },
      { repair: false },
    );
    const waits = Promise.withResolvers<void>();
    const running = await stage.app.runner.start({ ...facts, endpoint: "test" }, (job) =>
      work({
        ...job,
        signal: job.signal,
        checkpoint: () => job.checkpoint(),
        log: (line) => {
          job.log(line);
          if (line.startsWith("Waiting for job jb_99")) waits.resolve();
        },
      }),
    );
    await waits.promise;
    return running;
  };
  const certificates = () => stage.app.certificates.list(FOLDERS);

  let lease = await hold();
  const cancelled = await start();
  await stage.app.jobs.control(cancelled.jobId, "cancel");
  assert.equal((await cancelled.done).state, "cancelled");
  assert.deepEqual(await certificates(), []);
  await lease.release();

  lease = await hold();
  const waiting = await start();
  await lease.release();
  const { state, result } = await waiting.done;
  assert.deepEqual([state, result?.ok], ["completed", true]);
  assert.equal((await certificates()).length, 1);
});

test("two at once follow each other, and their certificates, too", async () => {
  const [one, other] = await Promise.all([verify(stage), verify(stage)]);
  assert.deepEqual([one.statement.verdict, other.statement.verdict], ["agrees", "agrees"], other.log);
  const [first, second] = [one, other].sort((a, b) =>
    a.statement.previous === "" ? -1 : b.statement.previous === "" ? 1 : 0,
  );
  assert.equal(first?.statement.previous, "");
  assert.equal(second?.statement.previous, first?.data.certificate_hash);
});

test("a verify that is killed changes nothing and leaves no certificate, and the next one does not wait", async () => {
  const held = await stage.holdings();
  await stage.app.close();
  const tell = [];
  for (const lines of [1, 2, 4, 6]) tell.push(await killChild(stage, "verify", { lines, ms: lines }));
  await stage.reopen();
  const killed = tell.filter((words) => words.startsWith("killed")).length;
  assert.ok(killed > 0, tell.join("\n"));
  const certificates = await stage.app.certificates.list(FOLDERS);
  assert.ok(
    certificates.length <= tell.length - killed + 1,
    "at most the last moment of one was after its certificate",
  );
  for (const id of certificates) assert.equal((await stage.app.certificates.get(FOLDERS, id)).isSound, true);
  const after = await verify(stage);
  assert.equal(after.statement.verdict, "agrees", after.log);
  assert.doesNotMatch(after.log, /Waiting for/);
  assert.deepEqual(await stage.holdings(), held);
});

test("documents of a source that the domain does not have differ", async () => {
  const stored = new StoredDomain(stage, () => 0);
  await stored.changeStore(
    "UPDATE documents SET source_id = 'gone' WHERE id = (SELECT id FROM documents_active WHERE name = ?)",
    "okapi.txt",
  );
  const { differences, log } = await verify(stage);
  assert.deepEqual(
    differences.map(({ layer, part, detail }) => [layer, part, detail]),
    [
      ["index", "document", "it is not in the index"],
      ["index", "document", "the index has 1 document of a source that the domain does not have"],
    ],
    log,
  );
});

test("a document that search does not find any more differs, and is repaired", async () => {
  const stored = new StoredDomain(stage, () => 0);
  await stored.store((db) => {
    const row = db
      .prepare("SELECT c.id, v.space_id FROM chunks c JOIN vectors v ON v.chunk_id = c.id WHERE c.text LIKE '%okapi%'")
      .get();
    const { id, space_id } = row as { id: number; space_id: number };
    const { dimensions } = db.prepare("SELECT dimensions FROM spaces WHERE id = ?").get(space_id) as {
      dimensions: number;
    };
    const packed = packVector(new Float32Array(dimensions));
    db.prepare("UPDATE vectors SET vector = ?, checksum = ? WHERE chunk_id = ?").run(
      packed,
      checksumOf(space_id, id, packed),
      id,
    );
    db.prepare("DELETE FROM chunks_text WHERE rowid = ?").run(id);
    db.exec("UPDATE state SET visible_revision = visible_revision + 1, dropped_chunks = dropped_chunks + 1000000000");
  });
  const { differences, log } = await verify(stage);
  assert.deepEqual(
    differences.map(({ layer, path }) => [layer, path]),
    [["search", "okapi.txt"]],
    log,
  );
  const repaired = await verify(stage, { repair: true });
  assert.equal(repaired.statement.verdict, "agrees", repaired.log);
  assert.match(repaired.log, /Repaired: 1 difference before, 0 now\./);
});

test("vectors of earlier releases have no checksum, which the certificate says", async () => {
  await new StoredDomain(stage, () => 0).store((db) => db.exec("UPDATE vectors SET checksum = NULL"));
  const { statement } = await verify(stage);
  assert.equal(statement.verdict, "agrees");
  assert.match(statement.sources[0]?.based_on.index ?? "", /3 vectors without a checksum/);
});
