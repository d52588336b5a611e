import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { Signature, Signer } from "../../contracts/signer.ts";
import { parseDuration } from "../../lib/duration.ts";
import { fingerprintOf, isSignedBy } from "../../lib/ed25519.ts";
import { contentDigest } from "../../lib/hash.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { verifyInclusion } from "../../lib/merkle-tree.ts";
import { type ItemProof, LAYERS, leafOf, type SourceVerification, type Verdict } from "./verification.ts";

/** What is signed. Travels as JSON, hence the spelling; docs/formats/certificates.md describes it. */
export interface CertificateStatement {
  readonly domain_id: DomainId;
  readonly verdict: Verdict;
  readonly started_utc: string;
  readonly finished_utc: string;
  /** The generation that was looked at, the newest, and its UUID; 0 and "" where the store has none. */
  readonly generation: number;
  readonly generation_id: string;
  /** The generation that readers saw then: another one while the domain is rolled back. */
  readonly shown_generation: number;
  readonly vector_store_id: string;
  readonly download: boolean;
  /** Only what the last crawl listed, and samples. Absent in certificates of earlier releases, as is `max_age`. */
  readonly quick?: boolean;
  /** How old this certificate may become before the domain is late: `36h`, `7d`; "" for any age. */
  readonly max_age?: string;
  readonly versions: { readonly lockstep: string; readonly node: string; readonly extractor: string };
  /** What could not be looked at of the domain itself, one sentence each. */
  readonly problems: readonly string[];
  readonly sources: readonly SourceVerification[];
  /** `sha256:…` of the file of the domain's certificate before this one; "" for the first. */
  readonly previous: string;
}

export interface Certificate {
  readonly format: typeof CERTIFICATE_FORMAT;
  readonly statement: CertificateStatement;
  readonly signature: WireSignature;
}

/** A certificate, and the paths from one item to its roots. */
export interface Proof {
  readonly format: typeof PROOF_FORMAT;
  readonly proofs: readonly ItemProof[];
  readonly certificate: Certificate;
}

interface WireSignature {
  readonly algorithm: "Ed25519";
  readonly public_key: string;
  readonly fingerprint: string;
  readonly signature: string;
}

const CERTIFICATE_FORMAT = "lockstep-certificate-1";
const PROOF_FORMAT = "lockstep-proof-1";

export function signCertificate(statement: CertificateStatement, signer: Signer): Promise<Certificate> {
  return signStatement(CERTIFICATE_FORMAT, statement, signer);
}

export interface SignedStatement<Format extends string, Statement> {
  readonly format: Format;
  readonly statement: Statement;
  readonly signature: WireSignature;
}

/** Signs the format with the statement, so that none can be taken for another. */
export async function signStatement<Format extends string, Statement>(
  format: Format,
  statement: Statement,
  signer: Signer,
): Promise<SignedStatement<Format, Statement>> {
  return { format, statement, signature: toWire(await signer.sign(signedText(format, statement))) };
}

export function proofOf(certificate: Certificate, proofs: readonly ItemProof[]): Proof {
  return { format: PROOF_FORMAT, proofs, certificate };
}

/** As the file is written, and as `previous` of the next one hashes it. */
export function formatCertificate(certificate: Certificate | Proof): string {
  return `${JSON.stringify(certificate, null, 2)}\n`;
}

export function hashCertificate(text: string): string {
  return contentDigest(text);
}

function toWire({ algorithm, publicKey: public_key, fingerprint, signature }: Signature): WireSignature {
  return { algorithm, public_key, fingerprint, signature };
}

/** The same text whatever the order of the keys and the blanks in the file. */
function signedText(format: string, statement: unknown): string {
  return `${format}\n${canonicalJson(statement)}`;
}

/** Without blanks, keys by their code units. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join(",")}}`;
}

export interface CheckedCertificate {
  /** signed: by the key that was asked for. unknown signer: soundly signed, by whomever. broken: something was altered. */
  readonly outcome: "signed" | "unknown signer" | "broken";
  readonly reason: string;
  readonly fingerprint: string;
  readonly statement: CertificateStatement | undefined;
  /** What was proved, if the certificate has proofs. */
  readonly proofs: readonly ItemProof[];
  /** It is older than the `max_age` that it states itself. */
  readonly isLate: boolean;
}

/** Who signed a statement; "broken" if something was altered. `expected`: the fingerprint it should be. */
export function checkSignature(
  format: string,
  statement: unknown,
  signature: JsonObject,
  expected: string | undefined,
): Pick<CheckedCertificate, "outcome" | "reason" | "fingerprint"> {
  const publicKey = String(signature["public_key"]);
  const fingerprint = fingerprintOf(publicKey);
  const isSound =
    signature["algorithm"] === "Ed25519" &&
    isSignedBy(publicKey, signedText(format, statement), String(signature["signature"]));
  if (!isSound) {
    return { outcome: "broken", reason: "the signature does not fit: something was altered", fingerprint };
  }
  if (expected === undefined) {
    return { outcome: "unknown signer", reason: "no key was given to compare with", fingerprint };
  }
  if (expected !== fingerprint) {
    return { outcome: "unknown signer", reason: "it was signed with another key than the one given", fingerprint };
  }
  return { outcome: "signed", reason: "", fingerprint };
}

/** Checks a certificate or a proof by itself; needs no storage. BadInputError for a text that is neither. */
export function checkCertificate(
  text: string,
  expected: string | undefined,
  now: Date = new Date(),
): CheckedCertificate {
  const file = parseFile(text);
  const { statement, signature, proofs } = file;
  const checked = checkSignature(CERTIFICATE_FORMAT, statement, signature, expected);
  const told = { fingerprint: checked.fingerprint, statement, proofs, isLate: isLate(statement, now) };
  if (checked.outcome === "broken") return { ...checked, ...told };
  for (const proof of proofs) {
    if (isProved(proof, statement)) continue;
    const reason = `the proof of item '${proof.item_id}' (${proof.layer}) does not lead to the root of the certificate`;
    return { outcome: "broken", reason, ...told };
  }
  return { ...checked, ...told };
}

function isSound({ statement, signature }: CertificateFile): boolean {
  const text = signedText(CERTIFICATE_FORMAT, statement);
  return (
    signature["algorithm"] === "Ed25519" &&
    isSignedBy(String(signature["public_key"]), text, String(signature["signature"]))
  );
}

/** Returns a certificate as it was written, and whether its signature fits it. BadInputError for another text. */
export function parseCertificate(text: string): { readonly certificate: Certificate; readonly isSound: boolean } {
  const file = parseFile(text);
  const { statement, signature } = file;
  const certificate: Certificate = {
    format: CERTIFICATE_FORMAT,
    statement,
    signature: signature as unknown as WireSignature,
  };
  return { certificate, isSound: isSound(file) };
}

type Dated = Pick<CertificateStatement, "finished_utc" | "max_age">;

export function ageOf({ finished_utc }: Dated, now: Date): number {
  return Math.max(0, now.getTime() - Date.parse(finished_utc));
}

/** Clocks of two machines may differ by so much. */
const CLOCKS_DIFFER_MS = 3600_000;

/** Whether it is older than its `max_age`. One whose age or limit cannot be told is: also one from the future. */
export function isLate(statement: Dated, now: Date): boolean {
  const { max_age = "", finished_utc } = statement;
  if (max_age === "") return false;
  const isFuture = Date.parse(finished_utc) > now.getTime() + CLOCKS_DIFFER_MS;
  return isFuture || !(ageOf(statement, now) <= (parseDuration(max_age) ?? 0));
}

function isProved(proof: ItemProof, { sources }: CertificateStatement): boolean {
  const source = sources.find(({ source_id }) => source_id === proof.source_id);
  const root = source?.roots[proof.layer];
  if (!root || root.leaves !== proof.size) return false;
  const path = proof.path.map((hash) => Buffer.from(hash, "hex"));
  const leaf = leafOf(proof.source_id, proof.item_id, proof.content_hash);
  return verifyInclusion(leaf, { index: proof.index, size: proof.size, path }, Buffer.from(root.root, "hex"));
}

interface CertificateFile {
  readonly statement: CertificateStatement;
  readonly signature: JsonObject;
  readonly proofs: readonly ItemProof[];
}

const NEITHER = "It is neither a certificate nor a proof of lockstep";

function parseFile(text: string): CertificateFile {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw new BadInputError(`${NEITHER}: it is not JSON.`, { cause });
  }
  const format = isJsonObject(content) ? content["format"] : undefined;
  if (!isJsonObject(content) || (format !== CERTIFICATE_FORMAT && format !== PROOF_FORMAT)) {
    throw new BadInputError(`${NEITHER} that this release knows (${CERTIFICATE_FORMAT}, ${PROOF_FORMAT}).`);
  }
  const certificate = format === PROOF_FORMAT ? content["certificate"] : content;
  const proofs = format === PROOF_FORMAT ? parseProofs(content["proofs"]) : [];
  if (!isJsonObject(certificate) || certificate["format"] !== CERTIFICATE_FORMAT)
    throw new BadInputError(`${NEITHER}.`);
  const { statement, signature } = certificate;
  if (!isJsonObject(statement) || !isJsonObject(signature)) {
    throw new BadInputError(`${NEITHER}: it has no statement or no signature.`);
  }
  return { statement: parseStatement(statement), signature, proofs };
}

/** What is read below; everything else is only signed. */
function parseStatement(statement: JsonObject): CertificateStatement {
  const { domain_id, verdict, sources, finished_utc } = statement;
  const isSource = (one: unknown): boolean =>
    isJsonObject(one) &&
    typeof one["source_id"] === "string" &&
    isJsonObject(one["roots"]) &&
    LAYERS.every((layer) => isJsonObject((one["roots"] as JsonObject)[layer]));
  const isWhole =
    [domain_id, verdict, finished_utc].every((value) => typeof value === "string") &&
    Array.isArray(sources) &&
    sources.every(isSource);
  if (!isWhole) throw new BadInputError(`${NEITHER}: its statement lacks a field or has a wrong one.`);
  return statement as unknown as CertificateStatement;
}

function parseProofs(value: unknown): ItemProof[] {
  if (!Array.isArray(value) || value.length === 0) throw new BadInputError(`${NEITHER}: it proves nothing.`);
  return value.map((one: unknown) => {
    const isProof =
      isJsonObject(one) &&
      ["source_id", "item_id", "content_hash"].every((key) => typeof one[key] === "string") &&
      LAYERS.some((layer) => layer === one["layer"]) &&
      typeof one["index"] === "number" &&
      typeof one["size"] === "number" &&
      Array.isArray(one["path"]) &&
      one["path"].every((hash) => typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash));
    if (!isProof) throw new BadInputError(`${NEITHER}: a proof lacks a field or has a wrong one.`);
    return one as unknown as ItemProof;
  });
}
