import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { Signer } from "../../contracts/signer.ts";
import { isJsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { type CheckedCertificate, checkSignature, type SignedStatement, signStatement } from "../verify/certificate.ts";

const RECEIPT_FORMAT = "lockstep-erasure-1";

/** What is signed: ids and hashes, never names or content. Travels as JSON; docs/formats/erasures.md describes it. */
export interface ReceiptStatement {
  readonly erasure_id: string;
  readonly domain_id: DomainId;
  readonly started_utc: string;
  readonly finished_utc: string;
  readonly reason: string;
  readonly by: string;
  readonly items: readonly {
    readonly source_type: string;
    readonly source_id: string;
    readonly item: string;
    readonly content_hashes: readonly string[];
  }[];
  /** Documents with the same content that were not erased. */
  readonly copies_left: readonly { readonly domain_id: string; readonly source_id: string; readonly item: string }[];
  readonly places: readonly ErasedInPlace[];
  /** How many documents each kept generation lost. */
  readonly generations: readonly { readonly store: string; readonly number: number; readonly documents: number }[];
  /** What could not be removed. */
  readonly left: readonly string[];
  /** Where it may still be, beyond what lockstep keeps. */
  readonly may_still_be: readonly string[];
  readonly versions: { readonly lockstep: string; readonly node: string };
}

export interface ErasedInPlace {
  readonly place: string;
  /** How many files, rows or documents were removed or rewritten; 0: it was looked for and not there. */
  readonly removed: number;
}

export type Receipt = SignedStatement<typeof RECEIPT_FORMAT, ReceiptStatement>;

export function signReceipt(statement: ReceiptStatement, signer: Signer): Promise<Receipt> {
  return signStatement(RECEIPT_FORMAT, statement, signer);
}

export function formatReceipt(receipt: Receipt): string {
  return `${JSON.stringify(receipt, null, 2)}\n`;
}

export interface CheckedReceipt extends Pick<CheckedCertificate, "outcome" | "reason" | "fingerprint"> {
  readonly statement: ReceiptStatement;
}

/** Checks a receipt by itself; needs no storage. undefined: it is no receipt. */
export function checkReceipt(text: string, expected: string | undefined): CheckedReceipt | undefined {
  const file = parseJsonObject(text);
  if (file?.["format"] !== RECEIPT_FORMAT) return undefined;
  const { statement, signature } = file;
  if (!isJsonObject(statement) || !isJsonObject(signature) || !Array.isArray(statement["items"])) {
    throw new BadInputError("It is no receipt of lockstep: it has no statement or no signature.");
  }
  return {
    ...checkSignature(RECEIPT_FORMAT, statement, signature, expected),
    statement: statement as unknown as ReceiptStatement,
  };
}
