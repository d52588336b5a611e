// Trouble with a library makes the listing partial, and passing faults are overcome.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RemoteError } from "../../src/contracts/errors.ts";
import { makeCertificate } from "../../src/sandbox/certificates.ts";
import type { FaultEffect } from "../../src/sandbox/faults.ts";
import { openSharePointLibrary } from "../../src/sources/sharepoint/open-sharepoint-library.ts";
import { paths, useSandbox } from "./sandbox-world.ts";
import { clientCertificateOf, listAll, QUICK, sourceConfig } from "./scripted-tenant.ts";

describe("a library of SharePoint in trouble", () => {
  const world = useSandbox();

  it("is partial when a later page fails for good, with what came before", async () => {
    for (let i = 0; i < 5; i += 1) world.add(`file-${i}.txt`);
    world.strike({ url: "skiptoken", times: "always" }, { status: 500 });
    const waits: string[] = [];
    const listed = await listAll(world.open({ pageSize: 2, waits }));
    assert.equal(listed.completeness, "partial");
    assert.deepEqual(paths(listed.sightings), ["file-0.txt", "file-1.txt"]);
    assert.equal(listed.unreadable.length, 1);
    assert.equal(listed.unreadable[0]?.path, "");
    assert.match(listed.unreadable[0]?.reason ?? "", /incomplete after 2 rows: SharePoint answered 500/);
    const tries = world.sandbox.state.log.entries().filter((entry) => entry.url.includes("skiptoken"));
    assert.equal(tries.length, QUICK.retry.attempts);
  });

  it("throws when the first page fails for good, or the sign-in's rights do not reach", async () => {
    world.add("a.txt");
    world.strike({ url: "/items", times: "always" }, { status: 500 });
    await assert.rejects(listAll(world.open()), (error: Error) => {
      assert.ok(error instanceof RemoteError);
      assert.match(error.message, /^list '\/Shared Documents' of http:\/\/127.*\/sites\/demo: SharePoint answered 500/);
      return true;
    });
    world.sandbox.state.reset();
    world.sandbox.state.settings.roles = ["Sites.Selected"];
    await assert.rejects(listAll(world.open()), /answered 403 .*Grant the app read access to this site/);
  });

  it("gets over faults that pass: page instead of data, cut answers, resets, gateways", async () => {
    for (let i = 0; i < 3; i += 1) world.add(`file-${i}.txt`);
    const faults: FaultEffect[] = [
      { status: 200, body: "<html>One moment</html>" },
      { truncateAfterBytes: 40, ending: "clean" },
      { truncateAfterBytes: 40 },
      { connection: "reset" },
      { connection: "drop" },
      { status: 502 },
      { status: 504, body: "<html>" },
      { status: 408 },
    ];
    for (const fault of faults) {
      world.sandbox.state.faults.clear();
      world.strike({ url: "skiptoken" }, fault);
      const waits: string[] = [];
      const listed = await listAll(world.open({ pageSize: 2, waits }));
      assert.equal(listed.completeness, "complete", JSON.stringify(fault));
      assert.equal(listed.sightings.length, 3);
      assert.equal(waits.length, 1);
    }
  });

  it("is partial when a web page comes instead of data for ever", async () => {
    for (let i = 0; i < 3; i += 1) world.add(`file-${i}.txt`);
    world.strike({ url: "skiptoken", times: "always" }, { status: 200, body: "<html>One moment</html>" });
    const listed = await listAll(world.open({ pageSize: 2 }));
    assert.equal(listed.completeness, "partial");
    assert.match(listed.unreadable[0]?.reason ?? "", /web page instead of data/);
  });

  it("does not ask again where that cannot help", async () => {
    const body =
      '{"odata.error":{"code":"-2147024860, Microsoft.SharePoint.SPQueryThrottledException","message":{"value":"zu viele"}}}';
    world.strike({ url: "/items", times: "always" }, { status: 500, body });
    await assert.rejects(listAll(world.open({ filter: "Title eq 'x'" })), /zu viele.*indexed column/);
    const asked = world.sandbox.state.log.entries().filter((entry) => entry.url.includes("/items"));
    assert.equal(asked.length, 2, "the listing, and how far windows of ids would have to go");
  });

  it("carries on when its token is revoked in the middle", async () => {
    for (let i = 0; i < 4; i += 1) world.add(`file-${i}.txt`);
    world.strike({ url: "skiptoken" }, { run: [{ operation: "revoke-tokens" }] });
    const listed = await listAll(world.open({ pageSize: 2 }));
    assert.equal(listed.completeness, "complete");
    assert.equal(listed.sightings.length, 4);
    const log = world.sandbox.state.log.entries();
    assert.equal(log.filter((entry) => entry.status === 401).length, 1);
    assert.equal(log.filter((entry) => entry.url.includes("/token")).length, 2);
  });

  it("gives up when no token is good enough", async () => {
    world.strike(
      { url: "_api", times: "always" },
      { status: 401, body: '{"error_description":"Unsupported app only token."}' },
    );
    await assert.rejects(listAll(world.open()), /answered 401 \(Unsupported app only token.\).*certificate/);
    assert.equal(world.sandbox.state.log.entries().filter((entry) => entry.status === 401).length, 2);
  });

  it("says what the sign-in said about a certificate that is not registered", async () => {
    const certificate = clientCertificateOf((await makeCertificate("somebody else")).pem);
    const source = openSharePointLibrary(sourceConfig(world.sandbox.siteUrl), world.connect({ certificate }));
    await assert.rejects(listAll(source), (error: Error) => {
      assert.ok(error instanceof RemoteError);
      assert.match(error.message, /sign in to tenant .* AADSTS700027.*Upload this certificate/);
      assert.ok(!/[\r\n]/.test(error.message));
      return true;
    });
    const stranger = openSharePointLibrary(
      sourceConfig(world.sandbox.siteUrl),
      world.connect({ clientId: crypto.randomUUID() }),
    );
    await assert.rejects(listAll(stranger), /AADSTS700016.*Check CRAWLER_CLIENT_ID/);
  });
});
