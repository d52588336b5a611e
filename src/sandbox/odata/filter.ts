import { type FilterToken, type Literal, tokenizeFilter } from "./filter-tokens.ts";
import { invalidExpression } from "./odata-error.ts";

/** What a name in a filter stands for on one row; throws when there is no such field. */
export type FieldReader<Row> = (name: string) => (row: Row) => Literal;
type Operand<Row> = (row: Row) => Literal;
type Predicate<Row> = (row: Row) => boolean;

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
export function compileFilter<Row>(filter: string, fields: FieldReader<Row>): Predicate<Row> {
  return new FilterParser(filter, fields).parse();
}

class FilterParser<Row> {
  readonly #filter: string;
  readonly #tokens: readonly FilterToken[];
  readonly #fields: FieldReader<Row>;
  #at = 0;

  constructor(filter: string, fields: FieldReader<Row>) {
    this.#filter = filter;
    this.#tokens = tokenizeFilter(filter);
    this.#fields = fields;
  }

  parse(): Predicate<Row> {
    const predicate = this.#or();
    if (this.#at < this.#tokens.length) throw this.#invalid();
    return predicate;
  }

  #or(): Predicate<Row> {
    let left = this.#and();
    while (this.#takeName("or")) {
      const [first, second] = [left, this.#and()];
      left = (row) => first(row) || second(row);
    }
    return left;
  }

  #and(): Predicate<Row> {
    let left = this.#not();
    while (this.#takeName("and")) {
      const [first, second] = [left, this.#not()];
      left = (row) => first(row) && second(row);
    }
    return left;
  }

  #not(): Predicate<Row> {
    if (!this.#takeName("not")) return this.#term();
    const inner = this.#not();
    return (row) => !inner(row);
  }

  #term(): Predicate<Row> {
    if (this.#takeMark("(")) {
      const inner = this.#or();
      this.#expectMark(")");
      return inner;
    }
    return this.#textFunction() ?? this.#comparison();
  }

  #textFunction(): Predicate<Row> | undefined {
    const isCall = this.#peekMark(1, "(");
    if (isCall && this.#takeName("startswith")) {
      const [text, start] = this.#twoOperands();
      return (row) => lower(text(row)).startsWith(lower(start(row)));
    }
    if (isCall && this.#takeName("substringof")) {
      const [part, text] = this.#twoOperands();
      return (row) => lower(text(row)).includes(lower(part(row)));
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

  #comparison(): Predicate<Row> {
    const left = this.#operand();
    const token = this.#tokens[this.#at++];
    const operator = token?.kind === "name" ? COMPARISONS[token.text.toLowerCase()] : undefined;
    if (!operator || token?.kind !== "name") throw this.#invalid();
    const right = this.#operand();
    const wantsOrder = !["eq", "ne"].includes(token.text.toLowerCase());
    return (row) => {
      const [a, b] = [left(row), right(row)];
      if (a !== null && b !== null) return operator(compare(a, b));
      // An empty field is neither before nor after anything.
      return !wantsOrder && operator(a === b ? 0 : 1);
    };
  }

  #operand(): Operand<Row> {
    const token = this.#tokens[this.#at++];
    if (token?.kind === "literal") return () => token.value;
    if (token?.kind !== "name") throw this.#invalid();
    if (!this.#takeMark("(")) return this.#fields(token.text);
    const part = DATE_PARTS[token.text.toLowerCase()];
    if (!part) throw this.#invalid();
    const inner = this.#operand();
    this.#expectMark(")");
    return (row) => {
      const date = toDate(inner(row));
      return date ? part(date) : null;
    };
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
function compare(a: Literal, b: Literal): number {
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
