import { invalidExpression } from "./odata-error.ts";

/** What a name in a filter stands for on one row; throws when there is no such field. */
type FieldReader<Row> = (name: string) => (row: Row) => Literal;

interface Operand<Row> {
  readonly read: (row: Row) => Literal;
  /** A column with an index, or a literal: a comparison of such needs not look at every row. */
  readonly known: boolean;
}

type Predicate<Row> = (row: Row) => boolean;

interface CompiledFilter<Row> {
  readonly matches: Predicate<Row>;
  /** What an index alone can tell: every match satisfies it. undefined when no index helps and every row must be seen. */
  readonly indexed: Predicate<Row> | undefined;
  /** The index tells all of it. */
  readonly covered: boolean;
}

type Comparison = (order: number) => boolean;
const COMPARISONS: Readonly<Record<string, Comparison>> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  lt: (order) => order < 0,
  le: (order) => order <= 0,
  gt: (order) => order > 0,
  ge: (order) => order >= 0,
};

const DATE_PARTS: Readonly<Record<string, (date: Date) => number>> = {
  year: (date) => date.getUTCFullYear(),
  month: (date) => date.getUTCMonth() + 1,
  day: (date) => date.getUTCDate(),
  hour: (date) => date.getUTCHours(),
  minute: (date) => date.getUTCMinutes(),
  second: (date) => date.getUTCSeconds(),
};

/** SharePoint's subset of OData: no endswith, contains, tolower or arithmetic, as on the real one. */
export function compileFilter<Row>(
  filter: string,
  fields: FieldReader<Row>,
  isIndexed: (name: string) => boolean = () => false,
): CompiledFilter<Row> {
  return new FilterParser(filter, fields, isIndexed).parse();
}

class FilterParser<Row> {
  readonly #filter: string;
  readonly #tokens: readonly FilterToken[];
  readonly #fields: FieldReader<Row>;
  readonly #isIndexed: (name: string) => boolean;
  #at = 0;

  constructor(filter: string, fields: FieldReader<Row>, isIndexed: (name: string) => boolean) {
    this.#filter = filter;
    this.#tokens = tokenizeFilter(filter);
    this.#fields = fields;
    this.#isIndexed = isIndexed;
  }

  parse(): CompiledFilter<Row> {
    const filter = this.#or();
    if (this.#at < this.#tokens.length) throw this.#invalid();
    return filter;
  }

  #or(): CompiledFilter<Row> {
    let left = this.#and();
    while (this.#takeName("or")) {
      const [first, second] = [left, this.#and()];
      const [a, b] = [first.indexed, second.indexed];
      left = {
        matches: (row) => first.matches(row) || second.matches(row),
        indexed: a && b ? (row) => a(row) || b(row) : undefined,
        covered: first.covered && second.covered,
      };
    }
    return left;
  }

  #and(): CompiledFilter<Row> {
    let left = this.#not();
    while (this.#takeName("and")) {
      const [first, second] = [left, this.#not()];
      const [a, b] = [first.indexed, second.indexed];
      left = {
        matches: (row) => first.matches(row) && second.matches(row),
        // Only what leads is looked up: an indexed column behind another condition does not help.
        indexed: a && b && first.covered ? (row) => a(row) && b(row) : a,
        covered: first.covered && second.covered,
      };
    }
    return left;
  }

  #not(): CompiledFilter<Row> {
    if (!this.#takeName("not")) return this.#term();
    const { matches } = this.#not();
    return { matches: (row) => !matches(row), indexed: undefined, covered: false };
  }

  #term(): CompiledFilter<Row> {
    if (this.#takeMark("(")) {
      const inner = this.#or();
      this.#expectMark(")");
      return inner;
    }
    return this.#textFunction() ?? this.#comparison();
  }

  #textFunction(): CompiledFilter<Row> | undefined {
    const isCall = this.#peekMark(1, "(");
    if (isCall && this.#takeName("startswith")) {
      const [text, start] = this.#twoOperands();
      const matches = (row: Row): boolean => lower(text.read(row)).startsWith(lower(start.read(row)));
      const known = text.known && start.known;
      return { matches, indexed: known ? matches : undefined, covered: known };
    }
    if (isCall && this.#takeName("substringof")) {
      const [part, text] = this.#twoOperands();
      const matches = (row: Row): boolean => lower(text.read(row)).includes(lower(part.read(row)));
      return { matches, indexed: undefined, covered: false };
    }
    return undefined;
  }

  #twoOperands(): [Operand<Row>, Operand<Row>] {
    this.#expectMark("(");
    const first = this.#operand();
    this.#expectMark(",");
    const second = this.#operand();
    this.#expectMark(")");
    return [first, second];
  }

  #comparison(): CompiledFilter<Row> {
    const left = this.#operand();
    const token = this.#tokens[this.#at++];
    const operator = token?.kind === "name" ? COMPARISONS[token.text.toLowerCase()] : undefined;
    if (!operator || token?.kind !== "name") throw this.#invalid();
    const right = this.#operand();
    const wantsOrder = !["eq", "ne"].includes(token.text.toLowerCase());
    const matches = (row: Row): boolean => {
      const [a, b] = [left.read(row), right.read(row)];
      if (a !== null && b !== null) return operator(compare(a, b));
      // An empty field is neither before nor after anything.
      return !wantsOrder && operator(a === b ? 0 : 1);
    };
    const narrows = left.known && right.known && token.text.toLowerCase() !== "ne";
    return { matches, indexed: narrows ? matches : undefined, covered: narrows };
  }

  #operand(): Operand<Row> {
    const token = this.#tokens[this.#at++];
    if (token?.kind === "literal") return { read: () => token.value, known: true };
    if (token?.kind !== "name") throw this.#invalid();
    if (!this.#takeMark("(")) return { read: this.#fields(token.text), known: this.#isIndexed(token.text) };
    const part = DATE_PARTS[token.text.toLowerCase()];
    if (!part) throw this.#invalid();
    const inner = this.#operand();
    this.#expectMark(")");
    const read = (row: Row): Literal => {
      const date = toDate(inner.read(row));
      return date ? part(date) : null;
    };
    return { read, known: false };
  }

  #takeName(text: string): boolean {
    const token = this.#tokens[this.#at];
    const found = token?.kind === "name" && token.text.toLowerCase() === text;
    if (found) this.#at++;
    return found;
  }

  #peekMark(ahead: number, text: string): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.kind === "mark" && token.text === text;
  }

  #takeMark(text: string): boolean {
    const found = this.#peekMark(0, text);
    if (found) this.#at++;
    return found;
  }

  #expectMark(text: string): void {
    if (!this.#takeMark(text)) throw this.#invalid();
  }

  #invalid(): Error {
    return invalidExpression(this.#filter);
  }
}

/** Text compares without case, as SharePoint's collation does; a date compares with a date in whatever form it comes. */
export function compare(a: Literal, b: Literal): number {
  if (a instanceof Date || b instanceof Date) return (toDate(a)?.getTime() ?? 0) - (toDate(b)?.getTime() ?? 0);
  if (typeof a === "string" && typeof b === "string") {
    const [x, y] = [a.toLowerCase(), b.toLowerCase()];
    return x < y ? -1 : x > y ? 1 : 0;
  }
  return Number(a) - Number(b);
}

function toDate(value: Literal): Date | undefined {
  const date = value instanceof Date ? value : new Date(String(value));
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function lower(value: Literal): string {
  return value === null ? "" : String(value).toLowerCase();
}

export type Literal = string | number | boolean | null | Date;

type FilterToken =
  | { readonly kind: "literal"; readonly value: Literal }
  | { readonly kind: "name"; readonly text: string }
  | { readonly kind: "mark"; readonly text: "(" | ")" | "," };

const TOKEN =
  /\s*(?:(datetime|guid)?'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?)(?![\w])|([A-Za-z_][\w]*(?:\/[A-Za-z_][\w]*)*)|([(),]))\s*/iy;

function tokenizeFilter(filter: string): FilterToken[] {
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
