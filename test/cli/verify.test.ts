// `lockstep verify` ends with a code that says what it found, and checks certificates without any storage.
import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { formatCertificate } from "../../src/engine/verify/certificate.ts";
import { storeCertificate } from "../../src/engine/verify/stored-certificates.ts";
import { toUtcMicros } from "../../src/lib/time.ts";
import { storageFolder } from "../../src/mirror/layout.ts";
import { openSigner } from "../../src/security/signing-key.ts";
import { FolderStage } from "../engine/folder-stage.ts";
import type { Called } from "./call-here.ts";
import { startCommands } from "./start-commands.ts";

describe("lockstep verify", () => {
  let stage: FolderStage;
  let elsewhere: string;
  before(async () => {
    stage = await FolderStage.open();
    elsewhere = await mkdtemp(join(tmpdir(), "lockstep-elsewhere-"));
    await stage.write("ibex.md", "# Ibex\n\nAn ibex climbs the steep walls of the valley every day.");
    await stage.write("vole.md", "# Vole\n\nA vole digs its tunnels below the meadow near the river.");
    await stage.crawl();
  });
  const [commands, checks] = [startCommands(() => stage.storage), startCommands(() => elsewhere)];
  after(async () => {
    await Promise.all([commands.end(), checks.end()]);
    await stage.close();
    await rm(elsewhere, { recursive: true });
  });

  const run = (...args: string[]): Promise<Called> => commands.call(["verify", ...args], stage.settings);
  const check = (...args: string[]): Promise<Called> => checks.call(["verify", "--check", ...args]);

  it("prints a certificate that anybody can check, and a proof of one item", async () => {
    const { code, out } = await run("FOLDERS", "--json");
    assert.equal(code, 0);
    const { signature } = JSON.parse(out);
    await writeFile(join(elsewhere, "certificate.json"), out);
    const known = await check("certificate.json", "--key", signature.fingerprint);
    assert.equal(known.code, 0, known.err);
    assert.match(known.out, /^Valid, signed by SHA256:.*\nDomain FOLDERS at \S+: agrees\.\n$/);
    const unknown = await check("certificate.json");
    assert.equal(unknown.code, 3);
    assert.match(unknown.out, /^Signer unknown: /);
    await writeFile(join(elsewhere, "altered.json"), out.replace('"agrees"', '"behind"'));
    assert.equal((await check("altered.json", "--key", signature.fingerprint)).code, 1);
    const proof = await run("FOLDERS", "--prove", "vole.md");
    assert.equal(proof.code, 0, proof.err);
    await writeFile(join(elsewhere, "proof.json"), proof.out);
    const proved = await check("proof.json", "--key", signature.fingerprint);
    assert.equal(proved.code, 0);
    assert.match(proved.out, /Proved: item 'doc_\w+' of source 'docs' in the index, [0-9a-f]{64}\./);
  });

  it("refuses what cannot be with a sentence", async () => {
    await writeFile(join(elsewhere, "text.txt"), "no certificate");
    const cases: [args: string[], words: RegExp][] = [
      [[], /Name the domain to verify/],
      [["NOBODY"], /Domain 'NOBODY' does not exist/],
      [["FOLDERS", "--key", "SHA256:x"], /--key belongs to --check/],
      [["FOLDERS", "--prove", "nobody.md"], /has an item 'nobody\.md'/],
      [["FOLDERS", "--quick", "--download"], /A quick verification looks at samples only/],
      [["FOLDERS", "--check", "x.json"], /--check takes a file/],
      [["--check", join(elsewhere, "text.txt")], /neither a certificate nor a proof/],
      [["--check", "missing.json"], /There is no file .missing\.json./],
    ];
    for (const [args, words] of cases) {
      const { code, err } = await run(...args);
      assert.equal(code, 2, `${args.join(" ")}: ${err}`);
      assert.match(err, words);
    }
  });

  it("ends with 0 behind the source, 2 when that is away, 1 for damage, and 0 after repairing", async () => {
    await stage.write("new.md", "A numbat eats termites all day long.");
    const behind = await run("FOLDERS");
    assert.equal(behind.code, 0);
    assert.match(behind.out, /^FOLDERS: behind$/m);
    await rename(stage.root, `${stage.root}-away`);
    const away = await run("FOLDERS");
    assert.equal(away.code, 2);
    assert.match(away.err, /could not be looked at: source 'docs': the source cannot be listed/);
    await rename(`${stage.root}-away`, stage.root);
    await writeFile(join(stage.folder, "02_embedded", "ibex.md"), "damaged");
    const damaged = await run("FOLDERS");
    assert.equal(damaged.code, 1);
    assert.match(damaged.out, /^DIFFERS \(mirror\) 'ibex\.md': its bytes are not those that were downloaded/m);
    const repaired = await run("FOLDERS", "--repair");
    assert.equal(repaired.code, 0, repaired.out);
    assert.match(repaired.out, /^FOLDERS: agrees$/m);
  });

  it("ends with 4 while its last full verification is older than the domain allows, and so does the doctor", async () => {
    const domain = await stage.app.domains.get(parseDomainId("FOLDERS"));
    await stage.app.domains.update({ ...domain, maxAge: "1h" }, domain);
    const { domainsFolder, security } = {
      domainsFolder: storageFolder(stage.storage, "domains"),
      security: storageFolder(stage.storage, "security"),
    };
    const fresh = await run("FOLDERS", "--quick");
    assert.equal(fresh.code, 0, "there is a certificate of a moment ago");
    assert.match(fresh.out, /^FOLDERS: agrees \(quick\)$/m);
    const [id = ""] = await stage.app.certificates.list(domain.domainId);
    const { statement } = (await stage.app.certificates.get(domain.domainId, id)).certificate;
    // As if no verification had been made since, and signed by the same key.
    await rm(join(domainsFolder, "FOLDERS", "certificates"), { recursive: true });
    const old = await storeCertificate({ domainsFolder, signer: openSigner(security) }, domain.domainId, () => ({
      ...statement,
      quick: false,
      max_age: "1h",
      finished_utc: toUtcMicros(new Date(Date.now() - 3 * 3_600_000)),
    }));
    const late = await run("FOLDERS", "--quick");
    assert.equal(late.code, 4);
    assert.match(late.out, /^Late: its last full verification is older than 1h \(max_age\), or there is none\.$/m);
    const doctor = await commands.call(["doctor", "FOLDERS"], stage.settings);
    assert.equal(doctor.code, 4, doctor.out);
    assert.match(
      doctor.out,
      /^! Verification: Verified 3 hours ago; at most 1h \(max_age\) are allowed\.\n {4}Verify it: lockstep verify FOLDERS$/m,
    );
    await writeFile(join(elsewhere, "old.json"), formatCertificate(old.certificate));
    const checked = await check("old.json", "--key", old.certificate.signature.fingerprint);
    assert.equal(checked.code, 4);
    assert.match(checked.out, /^Valid, signed by .*\n.*\nLate: it may be 1h old, and is older\.$/m);
    assert.equal((await check("old.json")).code, 3, "who signed it counts more");
    await writeFile(join(stage.folder, "02_embedded", "vole.md"), "another");
    assert.equal((await run("FOLDERS", "--quick")).code, 1, "and so does a difference");
    const whole = await run("FOLDERS", "--repair");
    assert.equal(whole.code, 0, whole.out);
    assert.equal((await commands.call(["doctor", "FOLDERS"], stage.settings)).code, 0);
  });
});
