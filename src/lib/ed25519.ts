import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";

/** The 32 bytes of the key, base64. */
export function rawPublicKey(key: KeyObject): string {
  return Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url").toString("base64");
}

/** `SHA256:…` of the 32 bytes of the public key, base64 without padding, as SSH spells fingerprints. */
export function fingerprintOf(publicKey: string): string {
  const digest = createHash("sha256").update(Buffer.from(publicKey, "base64")).digest("base64");
  return `SHA256:${digest.replace(/=+$/, "")}`;
}

/** Tells whether the owner of this public key signed the content. false for an invalid key or signature. */
export function isSignedBy(publicKey: string, content: string, signature: string): boolean {
  try {
    const x = Buffer.from(publicKey, "base64").toString("base64url");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, Buffer.from(content), key, Buffer.from(signature, "base64"));
  } catch {
    return false;
  }
}
