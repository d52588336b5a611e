import { readFile } from "node:fs/promises";
import { verifyJob } from "../app/verify-job.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import { parseDomainId } from "../contracts/ids.ts";
import type { JobRecord } from "../contracts/job.ts";
import { type CheckedReceipt, checkReceipt } from "../engine/erase/receipt.ts";
import { type CheckedCertificate, checkCertificate, formatCertificate } from "../engine/verify/certificate.ts";
import type { SourceVerification, Verdict } from "../engine/verify/verification.ts";
import type { VerifyResult } from "../engine/verify/verify-domain.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { plural } from "../lib/text.ts";
import { type Call, type Command, LATE_EXIT_CODE } from "./command.ts";
import { runJob } from "./run-job.ts";
import { plainLine } from "./terminal-text.ts";

const EXIT_CODES: Readonly<Record<Verdict, number>> = { agrees: 0, behind: 0, differs: 1, "could not look": 2 };
const CHECK_EXIT_CODES: Readonly<Record<CheckedCertificate["outcome"], number>> = {
  signed: 0,
  broken: 1,
  "unknown signer": 3,
};

export const verifyCommand: Command = {
  name: "verify",
  arguments: ["[DOMAIN]"],
  options: {
    quick: {
      help: "Asks no source and extracts nothing: what the last crawl listed, files and documents by presence, samples.",
    },
    download: { help: "Also reads the bytes of every file at its source." },
    repair: { help: "Makes anew what is damaged, crawls with every file read, and verifies again." },
    prove: { value: "item", help: "Prints the certificate with proofs for this item (its id, file id, path or name)." },
    json: { help: "Prints the certificate as JSON; the log goes to standard error." },
    check: {
      value: "file",
      help: "Checks a certificate, a proof or the receipt of an erasing instead; needs no storage.",
    },
    key: { value: "fingerprint", help: "With --check: who must have signed it (SHA256:…)." },
  },
  examples: [
    "lockstep verify DEMO",
    "lockstep verify DEMO --quick",
    "lockstep verify DEMO --download --json > certificate.json",
    "lockstep verify DEMO --prove handbook/travel.docx > proof.json",
    "lockstep verify --check certificate.json --key SHA256:…",
  ],
  async run(call) {
    const file = call.text("check");
    if (file !== undefined) return await check(file, call);
    const [name] = call.positionals;
    if (name === undefined)
      throw new BadInputError("Name the domain to verify, or the file: --check certificate.json.");
    if (call.text("key") !== undefined)
      throw new BadInputError("--key belongs to --check: lockstep verify --check FILE --key …");
    return await verify(name, call);
  },
};

async function verify(name: string, call: Call): Promise<number> {
  const prove = call.text("prove");
  const isJson = call.flag("json") || prove !== undefined;
  const request = { domainId: parseDomainId(name), download: call.flag("download"), quick: call.flag("quick"), prove };
  return await runJob({
    prepare: (app) => verifyJob(app, request, { repair: call.flag("repair") }),
    isJson,
    summary: (data) => (isJson ? jsonOf(data) : sumUp(data)),
    exitCode: exitCodeOf,
  });
}

/** Without a verdict nothing could be looked at. */
function exitCodeOf({ result }: JobRecord): number {
  const { certificate, late = false } = (result?.data ?? {}) as Partial<VerifyResult>;
  const code = EXIT_CODES[certificate?.statement.verdict ?? "could not look"];
  return code === 0 && late ? LATE_EXIT_CODE : code;
}

function jsonOf(data: unknown): string {
  const { certificate, proof } = (data ?? {}) as Partial<VerifyResult>;
  const shown = proof ?? certificate;
  return shown ? formatCertificate(shown) : "";
}

function sumUp(data: unknown): string {
  const { certificate, certificate_file = "", certificate_hash = "", late } = (data ?? {}) as Partial<VerifyResult>;
  if (!certificate) return "";
  const { statement, signature } = certificate;
  const lines = statement.sources.map(sumUpSource);
  lines.push(`${statement.domain_id}: ${statement.verdict}${statement.quick ? " (quick)" : ""}`);
  if (late)
    lines.push(`Late: its last full verification is older than ${statement.max_age} (max_age), or there is none.`);
  lines.push(`Certificate ${certificate_file}`, `  ${certificate_hash}, signed by ${signature.fingerprint}`);
  return `${lines.join("\n")}\n`;
}

/** `docs: agrees; 120 listed, 118 files, 118 documents, 640 passages, 118 searched`. */
function sumUpSource({
  source_id,
  verdict,
  counts,
  differences,
  differences_more,
  behind,
  behind_more,
}: SourceVerification) {
  const { listed, files, documents, passages, empty, unreadable, searched } = counts;
  const parts = [`${listed} listed`, plural(files, "file"), plural(documents, "document"), plural(passages, "passage")];
  if (empty > 0) parts.push(`${empty} without text`);
  if (unreadable > 0) parts.push(`${unreadable} unreadable`);
  parts.push(`${searched} searched`);
  const news = behind.length + behind_more;
  if (news > 0) parts.push(`${news} behind`);
  const wrong = differences.length + differences_more;
  if (wrong > 0) parts.push(plural(wrong, "difference"));
  return `${source_id}: ${verdict}; ${parts.join(", ")}`;
}

async function check(file: string, call: Call): Promise<number> {
  const others = ["download", "quick", "repair"].filter((name) => call.flag(name));
  if (call.positionals.length > 0 || others.length > 0 || call.text("prove") !== undefined) {
    throw new BadInputError("--check takes a file and perhaps --key, and nothing else.");
  }
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new BadInputError(
      isErrno(error, "ENOENT") ? `There is no file '${file}'.` : `read '${file}': ${explain(error)}`,
    );
  });
  const receipt = checkReceipt(text, call.text("key"));
  if (receipt) {
    process.stdout.write(call.flag("json") ? `${JSON.stringify(receipt, null, 2)}\n` : sayReceipt(receipt));
    return CHECK_EXIT_CODES[receipt.outcome];
  }
  const checked = checkCertificate(text, call.text("key"));
  process.stdout.write(call.flag("json") ? `${JSON.stringify(checked, null, 2)}\n` : sayChecked(checked));
  return checked.outcome === "signed" && checked.isLate ? LATE_EXIT_CODE : CHECK_EXIT_CODES[checked.outcome];
}

function sayReceipt({ outcome, reason, fingerprint, statement }: CheckedReceipt): string {
  if (outcome === "broken") return `Not valid: ${reason}.\n`;
  const { domain_id, finished_utc, items, places, left, may_still_be } = statement;
  const removed = places.filter((place) => place.removed > 0).map((place) => `${place.place} (${place.removed})`);
  const lines = [
    outcome === "signed"
      ? `Valid, signed by ${fingerprint}.`
      : `Signer unknown: ${reason}. It says of itself ${fingerprint}.`,
    `Domain ${domain_id} at ${finished_utc}: ${plural(items.length, "document")} erased.`,
    ...items.map(({ source_id, item }) => `Erased: item '${item}' of source '${source_id}'.`),
    `Removed from: ${removed.join(", ") || "nowhere, nothing was found"}.`,
    ...left.map((sentence) => `Left: ${sentence}`),
    ...may_still_be.map((sentence) => `May still be: ${sentence}`),
  ];
  return lines.map((line) => `${plainLine(line)}\n`).join("");
}

function sayChecked({ outcome, reason, fingerprint, statement, proofs, isLate }: CheckedCertificate): string {
  if (outcome === "broken") return `Not valid: ${reason}.\n`;
  const lines = [
    outcome === "signed"
      ? `Valid, signed by ${fingerprint}.`
      : `Signer unknown: ${reason}. It says of itself ${fingerprint}.`,
    `Domain ${statement?.domain_id} at ${statement?.finished_utc}: ${statement?.verdict}${statement?.quick ? " (quick)" : ""}.`,
  ];
  if (isLate) lines.push(`Late: it may be ${statement?.max_age} old, and is older.`);
  for (const { item_id, source_id, layer, content_hash } of proofs) {
    lines.push(`Proved: item '${item_id}' of source '${source_id}' in the ${layer}, ${content_hash}.`);
  }
  // The content of the file is not trusted.
  return lines.map((line) => `${plainLine(line)}\n`).join("");
}
