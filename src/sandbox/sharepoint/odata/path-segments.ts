import { invalidExpression } from "./odata-error.ts";

/** One step of a resource path: `lists`, `items(5)`, `getFileByServerRelativePath(decodedUrl=@p)`. */
export interface Segment {
  readonly name: string;
  /** undefined without parentheses; the argument's name is "" when it has none. */
  readonly args: readonly Argument[] | undefined;
}

export interface Argument {
  readonly name: string;
  readonly value: string | number | boolean | null;
}

/** Quotes are doubled inside a literal, so a slash or parenthesis between quotes ends nothing. */
const SEGMENT = /([^/('")]+)(?:\(((?:[^()']|'(?:[^']|'')*')*)\))?(?:\/|$)/y;
const ARGUMENT = /\s*(?:([A-Za-z_]\w*)\s*=\s*)?((?:guid|datetime)?'(?:[^']|'')*'|[^,']+?)\s*(?:,|$)/y;

/** Takes the path below `_api/`, already percent-decoded: unescaping comes first, the grammar second. */
export function parseSegments(path: string, aliases: ReadonlyMap<string, string>): Segment[] {
  const text = path.replace(/\/+$/, "");
  const segments: Segment[] = [];
  SEGMENT.lastIndex = 0;
  while (SEGMENT.lastIndex < text.length) {
    const [, name, args] = SEGMENT.exec(text) ?? [];
    if (name === undefined) throw invalidExpression(text);
    segments.push({ name, args: args === undefined ? undefined : parseArguments(args, aliases, text) });
  }
  return segments;
}

function parseArguments(text: string, aliases: ReadonlyMap<string, string>, path: string): Argument[] {
  const args: Argument[] = [];
  ARGUMENT.lastIndex = 0;
  while (ARGUMENT.lastIndex < text.length) {
    const [, name = "", literal] = ARGUMENT.exec(text) ?? [];
    if (literal === undefined) throw invalidExpression(path);
    const resolved = literal.startsWith("@") ? aliases.get(literal.toLowerCase()) : literal;
    if (resolved === undefined) throw invalidExpression(path);
    args.push({ name: name.toLowerCase(), value: parseLiteral(resolved.trim(), path) });
  }
  return args;
}

const LITERAL_TEXT = /^(?:guid|datetime)?'((?:[^']|'')*)'$/i;

function parseLiteral(text: string, path: string): Argument["value"] {
  const quoted = LITERAL_TEXT.exec(text)?.[1];
  if (quoted !== undefined) return quoted.replaceAll("''", "'");
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (text === "true" || text === "false") return text === "true";
  if (text === "null") return null;
  throw invalidExpression(path);
}
