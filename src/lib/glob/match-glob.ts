import { parseGlob } from "./parse-glob.ts";

/**
 * Tells whether a path meets a glob: `*`, `?` and `[a-z]` within one part of it, `**` across parts, `{a,b}`, and the
 * groups of shells, `@(a|b)`, `?(…)`, `+(…)`, `*(…)`, `!(…)`. Names come from strangers: it goes through a path a few times,
 * piece by piece of the glob, where a regular expression would try every way to share out the letters, for hours.
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
