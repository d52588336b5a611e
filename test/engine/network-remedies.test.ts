// Every reason for which a server was not reached has a sentence, and a remedy that fits it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sayRemedy } from "../../src/engine/failures.ts";
import { explainNetwork } from "../../src/lib/explain-network.ts";
import { remedyForAddress } from "../../src/sources/web/site/open-web-site.ts";

const REACHABLE = /^Open the address from this machine/;
const TRUSTED = /^Its certificate is not one that this machine trusts/;
const REMEDIES: readonly (readonly [code: string, remedy: RegExp])[] = [
  ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT"].map(
    (code) => [code, REACHABLE] as const,
  ),
  ...["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "UND_ERR_SOCKET"].map(
    (code) => [code, REACHABLE] as const,
  ),
  ...["CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID", "DEPTH_ZERO_SELF_SIGNED_CERT", "CERT_REVOKED"].map(
    (code) => [code, TRUSTED] as const,
  ),
];

for (const [code, remedy] of REMEDIES) {
  test(code, () => {
    const reason = explainNetwork(code);
    assert.ok(reason);
    assert.match(sayRemedy("download", `Cannot read '/a.md': reach example.com: ${reason}`), remedy);
  });
}

test("a code of a service is no reason of the network", () => {
  assert.deepEqual(["NoSuchBucket", "53300", "constructor"].map(explainNetwork), [undefined, undefined, undefined]);
});

test("a robots.txt that cannot be read refuses nobody: its remedy is the network's", () => {
  const reason = `the robots.txt of https://a.example cannot be read, and without it nothing is requested: reach a.example: ${explainNetwork("ECONNREFUSED")}`;
  assert.match(remedyForAddress(reason) ?? sayRemedy("download", reason), REACHABLE);
  assert.match(remedyForAddress("the robots.txt of https://a.example forbids it") ?? "", /^Ask the owner of the site/);
});
