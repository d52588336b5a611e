import forge from "node-forge";

/** The same certificate and key as a password-protected PKCS#12 file, the form Windows and the portal export. */
export function makePfx(pem: string, password: string): Uint8Array {
  const key = forge.pki.privateKeyFromPem(pem.slice(pem.indexOf("-----BEGIN PRIVATE KEY")));
  const certificate = forge.pki.certificateFromPem(pem.slice(pem.indexOf("-----BEGIN CERTIFICATE")));
  const asn1 = forge.pkcs12.toPkcs12Asn1(key, [certificate], password, { algorithm: "3des" });
  return Buffer.from(forge.asn1.toDer(asn1).getBytes(), "binary");
}
