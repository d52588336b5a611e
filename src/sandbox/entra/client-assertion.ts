import { constants, createPublicKey, verify } from "node:crypto";
import type { ClientCertificate } from "../certificates.ts";
import { EntraError } from "./entra-error.ts";
import { type DecodedJwt, decodeJwt } from "./jwt.ts";

const CLOCK_SKEW_SECONDS = 300;

/**
 * Throws EntraError unless the assertion is signed by the registered certificate, made for this endpoint by this app,
 * and within its time. An assertion may be used again until it expires: clients keep one and do.
 */
export function verifyClientAssertion(
  assertion: string,
  expected: { certificate: ClientCertificate; clientId: string; audiences: readonly string[] },
): void {
  const jwt = decodeJwt(assertion);
  if (!jwt) throw new EntraError(50027);
  verifySignature(jwt, expected.certificate);
  const { aud, iss, sub, jti } = jwt.claims;
  if (typeof aud !== "string" || !expected.audiences.includes(aud.toLowerCase())) throw new EntraError(700023);
  if (iss !== expected.clientId || sub !== expected.clientId) throw new EntraError(700021);
  if (typeof jti !== "string" || jti === "") throw new EntraError(50027);
  verifyTimes(jwt.claims);
}

function verifySignature(jwt: DecodedJwt, certificate: ClientCertificate): void {
  const usesSha256 = jwt.header["alg"] === "PS256";
  if (!usesSha256 && jwt.header["alg"] !== "RS256") throw new EntraError(50027);
  const named = usesSha256 ? jwt.header["x5t#S256"] : jwt.header["x5t"];
  const registered = usesSha256 ? certificate.thumbprintSha256 : certificate.thumbprint;
  if (typeof named !== "string" || Buffer.from(named, "base64url").toString("hex").toUpperCase() !== registered) {
    throw new EntraError(700027, "not registered on application. [Reason - The key was not found.]");
  }
  const key = createPublicKey(certificate.pem.slice(certificate.pem.indexOf("-----BEGIN CERTIFICATE")));
  const options = usesSha256 ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : key;
  if (!verify("sha256", Buffer.from(jwt.signed), options, jwt.signature)) {
    throw new EntraError(
      700027,
      "not valid. [Reason - The provided signature value did not match the expected signature value.]",
    );
  }
}

function verifyTimes({ exp, nbf }: Readonly<Record<string, unknown>>): void {
  const nowSeconds = Date.now() / 1000;
  const tooLate = typeof exp !== "number" || exp + CLOCK_SKEW_SECONDS < nowSeconds;
  const tooEarly = nbf !== undefined && (typeof nbf !== "number" || nbf - CLOCK_SKEW_SECONDS > nowSeconds);
  if (tooLate || tooEarly) {
    throw new EntraError(700024, `Current time: ${new Date().toISOString()}, not before: ${nbf}, expires: ${exp}.`);
  }
}
