import { invalidExpression } from "./odata-error.ts";

export type Literal = string | number | boolean | null | Date;

export type FilterToken =
  | { readonly kind: "literal"; readonly value: Literal }
  | { readonly kind: "name"; readonly text: string }
  | { readonly kind: "mark"; readonly text: "(" | ")" | "," };

const TOKEN =
  /\s*(?:(datetime|guid)?'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?)(?![\w])|([A-Za-z_][\w]*(?:\/[A-Za-z_][\w]*)*)|([(),]))\s*/iy;

export function tokenizeFilter(filter: string): FilterToken[] {
  const tokens: FilterToken[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < filter.length) {
    const match = TOKEN.exec(filter);
    if (!match) throw invalidExpression(filter);
    tokens.push(toToken(match, filter));
  }
  return tokens;
}

function toToken(match: RegExpExecArray, filter: string): FilterToken {
  const [, prefix, text, number, name, mark] = match;
  if (text !== undefined) return { kind: "literal", value: toLiteral(prefix, text.replaceAll("''", "'"), filter) };
  if (number !== undefined) return { kind: "literal", value: Number(number) };
  if (mark === "(" || mark === ")" || mark === ",") return { kind: "mark", text: mark };
  if (name === "true" || name === "false") return { kind: "literal", value: name === "true" };
  if (name === "null") return { kind: "literal", value: null };
  return { kind: "name", text: name ?? "" };
}

function toLiteral(prefix: string | undefined, text: string, filter: string): Literal {
  if (prefix?.toLowerCase() !== "datetime") return text;
  const date = new Date(/(Z|[+-]\d\d:?\d\d)$/.test(text) || !text.includes("T") ? text : `${text}Z`);
  if (Number.isNaN(date.getTime())) throw invalidExpression(filter);
  return date;
}
