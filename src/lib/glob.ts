/**
 * Returns a matcher for a glob: `*`, `?` and `[a-z]` within one path segment, `**` across segments, `{a,b}`, and the groups of shells,
 * `@(a|b)`, `?(…)`, `+(…)`, `*(…)`, `!(…)`. Names come from strangers: matching is linear in the path for each piece of the glob, where a
 * regular expression would backtrack for hours.
 */
export function matchGlob(glob: string): (path: string) => boolean {
  const { step, isNegated, mayEndInSlash, head, tail } = parseGlob(glob);
  const isMet = (path: string): boolean => {
    if (!path.startsWith(head) || !path.endsWith(tail)) return false;
    const at = new Uint8Array(path.length + 1);
    at[0] = 1;
    const ends = step(path, at);
    return ends[path.length] === 1 || (mayEndInSlash && path.endsWith("/") && ends[path.length - 1] === 1);
  };
  return (path) => isMet(path) !== isNegated;
}

interface ParsedGlob {
  readonly step: Step;
  readonly isNegated: boolean;
  /** `guide/*` also matches `guide/intro/`. */
  readonly mayEndInSlash: boolean;
  /** Prefix and suffix of every matching path; most paths are decided by these alone. */
  readonly head: string;
  readonly tail: string;
}

interface Piece {
  readonly step: Step;
  /** The character it matches; "" if it matches more than one text. */
  readonly literal: string;
  readonly isStar?: boolean;
  /** At the end, a slash may follow. */
  readonly isOpenEnded?: boolean;
}

const QUANTITIES = "@?+*!";
/** With one of these, `[…]` is only a character class; without, it also matches itself: people write `report [final].pdf`. */
const SURELY_CLASS = /[-*+?.^${}(|)[\]]/;

/** Unclosed groups and classes match themselves. */
function parseGlob(glob: string): ParsedGlob {
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

// `a/**` also matches `a` itself; but a star before the slash requires a folder, and `/**` a path.
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

/** A plus behind it means once or more. */
function repeatable(glob: string, at: number, end: number, step: Step): Found {
  const isRepeated = glob[end + 1] === "+" && glob[end + 2] !== "(";
  return {
    length: end + 1 - at + (isRepeated ? 1 : 0),
    piece: { step: isRepeated ? group([step], "+") : step, literal: "" },
  };
}

/** Joins literal characters into one step: letter by letter would be slow. */
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

/** Returns -1 if it is not closed. */
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

/** Splits at marks outside of nested groups and braces. */
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

/** Positions in a path: 1 for each reachable one; one entry more than the path has characters. */
type PositionSet = Uint8Array;

/** Maps the positions where a piece of a glob may begin to those where it may end. */
type Step = (path: string, at: PositionSet) => PositionSet;

type Quantity = "@" | "?" | "+" | "*" | "!";

function literal(text: string): Step {
  return (path, at) => {
    const out = new Uint8Array(at.length);
    for (let i = at.indexOf(1); i >= 0; i = at.indexOf(1, i + 1))
      if (path.startsWith(text, i)) out[i + text.length] = 1;
    return out;
  };
}

function oneOf(isMet: (character: string) => boolean): Step {
  return (path, at) => {
    const out = new Uint8Array(at.length);
    for (let i = at.indexOf(1); i >= 0; i = at.indexOf(1, i + 1)) if (isMet(path[i] ?? "")) out[i + 1] = 1;
    return out;
  };
}

/** Matches at least this many characters of one segment. */
function star(least: 0 | 1): Step {
  return (path, at) => {
    const out = new Uint8Array(at.length);
    let isOpen = false;
    for (let i = 0; i < at.length; i += 1) {
      if (isOpen || (least === 0 && at[i])) out[i] = 1;
      if (at[i]) isOpen = true;
      if (path[i] === "/") isOpen = false;
    }
    return out;
  };
}

/** Matches any number of whole segments, each with its slash. */
const anyFolders: Step = (path, at) => {
  const out = at.slice();
  const first = at.indexOf(1);
  for (let i = Math.max(first, 0) + 1; first >= 0 && i < at.length; i += 1) if (path[i - 1] === "/") out[i] = 1;
  return out;
};

/** Matches nothing, or a slash and anything behind it. */
function anythingBelow(path: string, at: PositionSet): PositionSet {
  const out = at.slice();
  const first = at.findIndex((is, i) => is === 1 && path[i] === "/");
  return first < 0 ? out : out.fill(1, first + 1);
}

export const anything: Step = (_path, at) => {
  const first = at.indexOf(1);
  return first < 0 ? at : at.slice().fill(1, first);
};

function sequence(steps: readonly Step[]): Step {
  return (path, at) => steps.reduce((places, step) => step(path, places), at);
}

function group(alternatives: readonly Step[], quantity: Quantity): Step {
  const once: Step = (path, at) => alternatives.map((step) => step(path, at)).reduce(union, new Uint8Array(at.length));
  switch (quantity) {
    case "@":
      return once;
    case "?":
      return (path, at) => union(at.slice(), once(path, at));
    case "+":
      return (path, at) => repeated(once, path, once(path, at));
    case "*":
      return (path, at) => repeated(once, path, at.slice());
    case "!":
      return otherThan(once);
  }
}

/** Each round continues from the positions that the last one found. */
function repeated(once: Step, path: string, places: PositionSet): PositionSet {
  for (let fresh = places; fresh.includes(1); ) {
    const reached = once(path, fresh);
    fresh = reached.map((is, i) => (is && !places[i] ? 1 : 0));
    union(places, fresh);
  }
  return places;
}

function otherThan(once: Step): Step {
  const anyPart = star(0);
  return (path, at) => {
    const out = new Uint8Array(at.length);
    for (let i = at.indexOf(1); i >= 0; i = at.indexOf(1, i + 1)) {
      const here = new Uint8Array(at.length).fill(1, i, i + 1);
      const excluded = once(path, here);
      for (const [j, is] of anyPart(path, here).entries()) if (is && !excluded[j]) out[j] = 1;
    }
    return out;
  };
}

function union(places: PositionSet, others: PositionSet): PositionSet {
  for (let i = 0; i < places.length; i += 1) if (others[i]) places[i] = 1;
  return places;
}
