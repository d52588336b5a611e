/*
 * What it would cost to carry out a plan. Estimates: the text of a file is known when it was read, which a plan does not do.
 */

/** How what is embedded is paid for. */
export type Pricing =
  /** It is embedded on this machine. */
  | { readonly kind: "none" }
  /** By the token, once. */
  | { readonly kind: "tokens"; readonly model: string; readonly dollarsPerMillion: number | undefined }
  /** By what a vector store holds, every day; embedding has no price of its own. */
  | { readonly kind: "storage"; readonly dollarsPerGigabyteDay: number | undefined };

export interface PriceTable {
  /** Dollars by what they are for; see docs/guides/plans.md. */
  readonly dollars: ReadonlyMap<string, number>;
  /** When they were true, and where they are from; "": not known. */
  readonly asOf: string;
}

/** The entry of the price table for a gigabyte in a vector store, for a day. The others are models. */
export const STORAGE_PRICE = "vector_store_gb_day";

/** What a plan needs. */
export interface PlanNeeds {
  readonly bytesToFetch: number;
  readonly documents: number;
  readonly tokens: number;
  /** Documents of unknown size; `tokens` has none of theirs. */
  readonly unsized: number;
}

export interface Money {
  /** null: nothing to pay, or no price is known. */
  readonly dollars: number | null;
  readonly every: "once" | "day" | "";
  /** For users, with where the price is from. */
  readonly words: string;
}

/**
 * Bytes of a file for each token of its text, by type. Of text about four; markup, packing, fonts and pictures make it
 * more. Rules of thumb for ordinary documents, and far off for others, such as scans.
 */
const BYTES_PER_TOKEN: Readonly<Record<string, number>> = {
  htm: 8,
  html: 8,
  mhtml: 12,
  xml: 8,
  eml: 8,
  msg: 40,
  rtf: 12,
  doc: 25,
  docx: 25,
  odt: 25,
  epub: 12,
  pdf: 50,
  ppt: 150,
  pptx: 150,
  odp: 150,
  xls: 12,
  xlsx: 8,
  ods: 8,
};
const OF_TEXT = 4;

/** Estimates the tokens of a file's text. */
export function estimateFileTokens(fileType: string, bytes: number): number {
  return Math.ceil(bytes / (BYTES_PER_TOKEN[fileType] ?? OF_TEXT));
}

/**
 * What a vector store holds for each token. Services cut 800 tokens with an overlap of 400, so each is in two passages: its text
 * twice, and 256 numbers for every 400 tokens.
 */
const STORED_BYTES_PER_TOKEN = 2 * OF_TEXT + (256 * 4) / 400;
const GIGABYTE = 2 ** 30;

export function estimateMoney({ tokens, documents }: PlanNeeds, pricing: Pricing, table: PriceTable): Money {
  if (pricing.kind === "none") {
    return { dollars: null, every: "", words: "none: documents are embedded on this machine" };
  }
  if (documents === 0) return { dollars: 0, every: "", words: "none: nothing is embedded" };
  const from = table.asOf === "" ? "prices as set in OPENAI_PRICES" : `prices as of ${table.asOf}; check yours`;
  if (pricing.kind === "tokens") {
    const { model, dollarsPerMillion } = pricing;
    if (dollarsPerMillion === undefined) return unknown(`OPENAI_PRICES has none for the model '${model}'`);
    const dollars = (tokens / 1_000_000) * dollarsPerMillion;
    return {
      dollars,
      every: "once",
      words: `about ${sayDollars(dollars)}, once, for embedding with '${model}' (${from})`,
    };
  }
  const { dollarsPerGigabyteDay } = pricing;
  if (dollarsPerGigabyteDay === undefined) {
    return unknown(`OPENAI_PRICES has no '${STORAGE_PRICE}' for this service`);
  }
  const dollars = ((tokens * STORED_BYTES_PER_TOKEN) / GIGABYTE) * dollarsPerGigabyteDay;
  const words = `at most about ${sayDollars(dollars)} a day for storage, less where a free amount is left; embedding has no price of its own (${from})`;
  return { dollars, every: "day", words };
}

function unknown(why: string): Money {
  return { dollars: null, every: "", words: `unknown: ${why}` };
}

/** Two significant digits below a dollar: estimates are no better. */
function sayDollars(dollars: number): string {
  if (dollars === 0) return "$0";
  if (dollars < 0.0001) return "less than $0.0001";
  return dollars < 1 ? `$${Number(dollars.toPrecision(2))}` : `$${dollars.toFixed(2)}`;
}
