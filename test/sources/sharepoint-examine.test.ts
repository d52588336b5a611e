// The examination of a library explains each problem and who can repair it.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Finding } from "../../src/contracts/finding.ts";
import type { Source } from "../../src/contracts/source.ts";
import { openSharePointLibrary } from "../../src/sources/sharepoint/open-sharepoint-library.ts";
import { useSandbox } from "./sandbox-world.ts";
import { sourceConfig } from "./scripted-tenant.ts";
import { useScriptedTenant } from "./scripted-world.ts";

async function examine(source: Source): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of source.diagnose(new AbortController().signal)) findings.push(finding);
  return findings;
}

/** `Sign-in ok, Clock ok, …` with the subject's first word. */
function outline(findings: readonly Finding[]): string {
  return findings.map(({ subject, outcome }) => `${subject.split(" ")[0]} ${outcome}`).join(", ");
}

function theProblem(findings: readonly Finding[]): Finding {
  const [only, ...more] = findings.filter(({ outcome }) => outcome === "problem");
  assert.ok(only && more.length === 0, JSON.stringify(findings));
  assert.notEqual(only.remedy, "", "every problem comes with a way out");
  return only;
}

describe("examining a library of SharePoint", () => {
  const world = useSandbox();

  it("finds everything in order, step by step", async () => {
    for (const name of ["a.txt", "b.txt"]) world.add(name);
    const findings = await examine(world.open({ filter: "startswith(FileLeafRef,'a')" }));
    assert.equal(outline(findings), "Sign-in ok, Clock ok, Permission ok, Site ok, Library ok, Filter ok");
    assert.ok(findings.every(({ remedy }) => remedy === ""));
    assert.match(findings[4]?.detail ?? "", /'Documents' holds 2 items/);
    assert.match(findings[5]?.detail ?? "", /matches 1 rows/);
  });

  const refusals: [code: number, remedy: RegExp][] = [
    [700027, /Upload this certificate.*owner of the registration/],
    [700016, /CRAWLER_CLIENT_ID and CRAWLER_TENANT_ID/],
    [90002, /Check CRAWLER_TENANT_ID/],
    [700024, /clock of this machine/],
    [500011, /host name in 'site_url'/],
    [1002012, /'site_url'/],
    [7000215, /no client secret/],
    [7000222, /Renew the credential/],
    [90033, /try again/],
    [90055, /try again/],
  ];
  for (const [code, remedy] of refusals) {
    it(`explains AADSTS${code} and leaves the rest unchecked`, async () => {
      world.sandbox.state.settings.signInError = code;
      const findings = await examine(world.open());
      const rest = "Clock ok, Permission not checked, Site not checked, Library not checked";
      assert.equal(outline(findings), `Sign-in problem, ${rest}`);
      assert.match(theProblem(findings).remedy, remedy);
    });
  }

  it("tells a permission on Graph from one on SharePoint, and none from both", async () => {
    const { settings } = world.sandbox.state;
    settings.roles = [];
    const onGraph = theProblem(await examine(world.open()));
    assert.match(onGraph.detail, /Sites\.Read\.All on Microsoft Graph only/);
    assert.match(onGraph.remedy, /SharePoint \(not Microsoft Graph\).*admin consent.*Administrator/);
    settings.graphRoles = [];
    assert.match(theProblem(await examine(world.open())).detail, /no permission on SharePoint/);
    settings.roles = ["TermStore.Read.All"];
    assert.match(theProblem(await examine(world.open())).detail, /it has TermStore\.Read\.All/);
  });

  it("gives the very words that grant a site, and is content once they were said", async () => {
    const { settings } = world.sandbox.state;
    settings.roles = ["Sites.Selected"];
    for (const status of [403, 401] as const) {
      settings.missingPermissionStatus = status;
      const findings = await examine(world.open());
      assert.equal(outline(findings), "Sign-in ok, Clock ok, Permission ok, Site problem, Library not checked");
      const { remedy } = theProblem(findings);
      assert.match(remedy, /Administrator/);
      assert.match(remedy, /^GET https:\/\/graph\.microsoft\.com\/v1\.0\/sites\/127\.0\.0\.1:\d+:\/sites\/demo$/m);
      assert.match(remedy, /^POST https:\/\/graph\.microsoft\.com\/v1\.0\/sites\/\{id\}\/permissions \{/m);
      assert.match(remedy, new RegExp(`"id":"${world.sandbox.clientId}"`));
      assert.match(remedy, /^Grant-PnPEntraIDAppSitePermission .*-Permissions Read$/m);
    }
    world.act("grant-site", { site: "/sites/demo" });
    assert.ok((await examine(world.open())).every(({ outcome }) => outcome === "ok"));
  });

  it("names what is not there, with what may have been meant", async () => {
    for (const urlPart of ["/Shared Documnts", "/Documents", "/shareddocuments/Reports"]) {
      assert.match(theProblem(await examine(world.open({ urlPart }))).detail, /did you mean '\/Shared Documents'/);
    }
    assert.match(theProblem(await examine(world.open({ urlPart: "/Shared Documents/X" }))).detail, /has no folder/);
    const nowhere = sourceConfig(`${world.sandbox.url}/sites/nowhere`);
    assert.match(theProblem(await examine(openSharePointLibrary(nowhere, world.connect()))).remedy, /Check 'site_url'/);
  });

  it("tries the filter, and says when it will be slow", async () => {
    for (let i = 0; i < 12; i += 1) world.add(`file-${i}.txt`);
    const broken = theProblem(await examine(world.open({ filter: "Nope eq 1" })));
    assert.match(`${broken.subject} ${broken.detail}`, /^Filter "Nope eq 1" .*'Nope' does not exist/);
    const nothing = await examine(world.open({ filter: "startswith(FileLeafRef,'x')" }));
    assert.match(nothing.at(-1)?.detail ?? "", /nothing matches/);
    world.sandbox.state.settings.listViewThreshold = 10;
    const slow = (await examine(world.open({ filter: "startswith(FileLeafRef,'f')" }))).at(-1);
    assert.deepEqual([slow?.outcome, /windows of ids.*index/.test(slow?.detail ?? "")], ["ok", true]);
  });

  it("says when nobody answers at the sign-in address", async () => {
    const connection = world.connect({ tokenEndpoint: "http://127.0.0.1:9/token" });
    const findings = await examine(openSharePointLibrary(sourceConfig(world.sandbox.siteUrl), connection));
    assert.match(outline(findings), /^Sign-in problem, Clock not checked/);
    assert.match(theProblem(findings).remedy, /network, HTTPS_PROXY/);
  });
});

describe("the clock and the token, examined", () => {
  const scripted = useScriptedTenant();

  it("a clock that is far off is a problem, and no reason to stop; a token that tells nothing is none", async () => {
    const source = await scripted.open((_request, response) => {
      response.setHeader("date", new Date(Date.now() + 600_000).toUTCString());
      return false;
    });
    const findings = await examine(source);
    assert.equal(outline(findings), "Sign-in ok, Clock problem, Permission not checked, Site ok, Library ok");
    assert.match(theProblem(findings).detail, /(599|600|601) seconds slow/);
  });
});
