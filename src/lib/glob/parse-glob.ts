import {
  anyFolders,
  anything,
  anythingBelow,
  group,
  literal,
  oneOf,
  type Quantity,
  type Step,
  sequence,
  star,
} from "./glob-steps.ts";

export interface ParsedGlob {
  readonly step: Step;
  readonly isNegated: boolean;
  /** `guide/*` is met by `guide/intro/`, too. */
  readonly mayEndInSlash: boolean;
  /** What every path that meets it begins and ends with; most paths are told apart by that alone. */
  readonly head: string;
  readonly tail: string;
}

interface Piece {
  readonly step: Step;
  /** The character it stands for; "" when it stands for more than one text. */
  readonly literal: string;
  readonly isStar?: boolean;
  /** At the end, a slash may follow. */
  readonly isOpenEnded?: boolean;
}

const QUANTITIES = "@?+*!";
/** With one of these in it `[…]` means its characters alone; without, also itself: people write `report [final].pdf`. */
const SURELY_CLASS = /[-*+?.^${}(|)[\]]/;

/** Whatever is not closed stands for itself. */
export function parseGlob(glob: string): ParsedGlob {
  const [marks = ""] = /^!*(?!\()/.exec(glob) ?? [];
  const pieces = piecesOf(glob.slice(marks.length));
  const heads = pieces.findIndex((piece) => piece.literal === "");
  const tails = pieces.findLastIndex((piece) => piece.literal === "");
  const text = (some: readonly Piece[]): string => some.map((piece) => piece.literal).join("");
  return {
    step: stepOf(pieces),
    isNegated: marks.length % 2 === 1,
    mayEndInSlash: pieces.at(-1)?.isOpenEnded === true,
    head: text(heads < 0 ? pieces : pieces.slice(0, heads)),
    tail: text(pieces.slice(tails + 1)),
  };
}

function piecesOf(glob: string): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < glob.length; ) {
    const { length, piece } = isBelow(pieces, glob.slice(at)) ? { length: 3, piece: BELOW } : pieceAt(glob, at);
    pieces.push(piece);
    at += length;
  }
  return pieces;
}

const BELOW: Piece = { step: anythingBelow, literal: "" };

// `a/**` is met by `a` itself; but a star before the slash asks for a folder, and `/**` for a path.
function isBelow(pieces: readonly Piece[], rest: string): boolean {
  const last = pieces.at(-1);
  return rest === "/**" && last !== undefined && !last.isStar;
}

interface Found {
  readonly length: number;
  readonly piece: Piece;
}

function pieceAt(glob: string, at: number): Found {
  const character = glob[at] ?? "";
  const found =
    groupAt(glob, at) ?? (character === "[" ? classAt(glob, at) : character === "{" ? bracesAt(glob, at) : undefined);
  if (found) return found;
  if (character === "*") return starsAt(glob, at);
  if (character === "?") return { length: 1, piece: { step: oneOf(isOfPart), literal: "" } };
  const isEscape = character === "\\" && at + 1 < glob.length;
  const meant = isEscape ? (glob[at + 1] ?? "") : character;
  return { length: isEscape ? 2 : 1, piece: { step: literal(meant), literal: meant } };
}

function starsAt(glob: string, at: number): Found {
  const [stars = ""] = /^\*+(?!\()/.exec(glob.slice(at)) ?? ["*"];
  const end = at + stars.length;
  const [isFirst, isLast] = [at === 0 || glob[at - 1] === "/", end === glob.length || glob[end] === "/"];
  if (stars === "**" && isFirst && isLast) {
    if (end < glob.length) return { length: 3, piece: { step: anyFolders, literal: "" } };
    return { length: 2, piece: { step: anything, literal: "" } };
  }
  const piece = { step: star(isFirst && isLast ? 1 : 0), literal: "", isStar: true, isOpenEnded: true };
  return { length: stars.length, piece };
}

function groupAt(glob: string, at: number): Found | undefined {
  const quantity = glob[at + 1] === "(" && QUANTITIES.includes(glob[at] ?? "") ? (glob[at] as Quantity) : undefined;
  const begin = quantity ? at + 1 : at;
  const end = glob[begin] === "(" ? closingOf(glob, begin, "()") : -1;
  if (end < 0) return undefined;
  const alternatives = split(glob.slice(begin + 1, end), "|").map((one) => stepOf(piecesOf(one)));
  return repeatable(glob, at, end, group(alternatives, quantity ?? "@"));
}

function bracesAt(glob: string, at: number): Found | undefined {
  const end = closingOf(glob, at, "{}");
  if (end < 0) return undefined;
  const inside = glob.slice(at + 1, end);
  const [, from, to] = /^(.)\.\.(.)$/s.exec(inside) ?? [];
  if (from !== undefined && to !== undefined) {
    const [low = "", high = ""] = [from, to].sort();
    const step = oneOf((character) => character >= low && character <= high);
    return { length: end + 1 - at, piece: { step, literal: "" } };
  }
  const alternatives = split(inside, ",").map((one) => stepOf(piecesOf(one)));
  return alternatives.length < 2 ? undefined : repeatable(glob, at, end, group(alternatives, "@"));
}

function classAt(glob: string, at: number): Found | undefined {
  const [written, isNot, inside = ""] = /^\[([!^]?)((?:\\.|[^\]\\/])(?:\\.|[^\]\\/])*)\]/s.exec(glob.slice(at)) ?? [];
  if (written === undefined) return undefined;
  const isIn = characterClass(inside);
  const step = oneOf((character) => isOfPart(character) && isIn(character) === !isNot);
  const isSure = isNot !== "" || SURELY_CLASS.test(inside);
  const found = repeatable(glob, at, at + written.length - 1, isSure ? step : group([step, literal(written)], "@"));
  return { ...found, piece: { ...found.piece, isOpenEnded: true } };
}

function characterClass(inside: string): (character: string) => boolean {
  const ranges = [...inside.matchAll(/(\\?.)(?:-(\\?.))?/gs)].map(([, from = "", to = from]) => ({
    from: from.at(-1) ?? "",
    to: to.at(-1) ?? "",
  }));
  return (character) => ranges.some(({ from, to }) => character >= from && character <= to);
}

/** A plus after it means once or more. */
function repeatable(glob: string, at: number, end: number, step: Step): Found {
  const isRepeated = glob[end + 1] === "+" && glob[end + 2] !== "(";
  return {
    length: end + 1 - at + (isRepeated ? 1 : 0),
    piece: { step: isRepeated ? group([step], "+") : step, literal: "" },
  };
}

/** Letter after letter would be slow: what stands for itself is one step. */
function stepOf(pieces: readonly Piece[]): Step {
  const steps: Step[] = [];
  let text = "";
  for (const piece of [...pieces, undefined]) {
    if (piece?.literal) text += piece.literal;
    else {
      if (text !== "") steps.push(literal(text));
      if (piece) steps.push(piece.step);
      text = "";
    }
  }
  return sequence(steps);
}

/** -1 when it is not closed. */
function closingOf(glob: string, at: number, [open, close]: string): number {
  let depth = 0;
  for (let i = at; i < glob.length; i += 1) {
    if (glob[i] === "\\") i += 1;
    else if (glob[i] === open) depth += 1;
    else if (glob[i] === close) depth -= 1;
    if (depth === 0) return i;
  }
  return -1;
}

/** At a mark that is in no group or braces of its own. */
function split(glob: string, mark: string): string[] {
  const parts = [""];
  let depth = 0;
  for (let i = 0; i < glob.length; i += 1) {
    const character = glob[i] ?? "";
    if ("({".includes(character)) depth += 1;
    else if (")}".includes(character)) depth -= 1;
    if (character === mark && depth === 0) parts.push("");
    else parts[parts.length - 1] += character === "\\" ? glob.slice(i, i + 2) : character;
    if (character === "\\") i += 1;
  }
  return parts;
}

function isOfPart(character: string): boolean {
  return character !== "/";
}
