import forge from "node-forge";
import { BadInputError } from "../contracts/errors.ts";

/** The private key and all certificates of a PFX file as one PEM text. */
export function openPfx(bytes: Uint8Array, password: string, name: string): string {
  const content = decrypt(parse(bytes, name), password, name);
  const key = bagsOf(content, forge.pki.oids["pkcs8ShroudedKeyBag"])
    .concat(bagsOf(content, forge.pki.oids["keyBag"]))
    .map((bag) => bag.key)
    .find((each) => each !== undefined && each !== null);
  if (!key) throw new BadInputError(`${name} contains no RSA private key; export it with its private key.`);
  const certificates = bagsOf(content, forge.pki.oids["certBag"]).flatMap((bag) => (bag.cert ? [bag.cert] : []));
  return [forge.pki.privateKeyToPem(key), ...certificates.map((each) => forge.pki.certificateToPem(each))].join("\n");
}

function parse(bytes: Uint8Array, name: string): forge.asn1.Asn1 {
  try {
    return forge.asn1.fromDer(forge.util.createBuffer(Buffer.from(bytes).toString("binary")));
  } catch {
    throw new BadInputError(`${name} is not a PFX file, or it is damaged.`);
  }
}

function decrypt(asn1: forge.asn1.Asn1, password: string, name: string): forge.pkcs12.Pkcs12Pfx {
  try {
    return forge.pkcs12.pkcs12FromAsn1(asn1, password);
  } catch (error) {
    const text = error instanceof Error ? error.message : "";
    if (/password|MAC|decrypt/i.test(text)) {
      throw new BadInputError(`The password for ${name} is wrong: check CRAWLER_CLIENT_CERTIFICATE_PASSWORD.`);
    }
    throw new BadInputError(`${name} is not a PFX file we can read: ${text || "unknown format"}.`);
  }
}

function bagsOf(content: forge.pkcs12.Pkcs12Pfx, type: string | undefined): forge.pkcs12.Bag[] {
  return type === undefined ? [] : (content.getBags({ bagType: type })[type] ?? []);
}
