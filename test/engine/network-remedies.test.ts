// Every reason for which a server was not reached has a sentence, and a remedy that fits it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sayRemedy } from "../../src/engine/failures.ts";
import { explainNetwork } from "../../src/lib/explain-network.ts";

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
