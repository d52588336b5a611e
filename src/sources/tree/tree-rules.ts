import { matchGlob } from "../../lib/glob.ts";
import { folderOf, nameOf } from "../../lib/tree-path.ts";

export interface TreeRules {
  /** Whether the file at this path (below the root, `/`-separated) is included. */
  (path: string): boolean;
  /** Returns the same test for names in one folder; without globs it needs no paths. */
  within(folder: string): (name: string) => boolean;
  /** Whether anything below this folder may be included; a walk can skip other folders. */
  enters(folder: string): boolean;
}

/**
 * Decides by path which files of a tree are included. A glob that matches a folder includes everything below it. A glob
 * without a slash matches a name at any depth (`*.md`, `node_modules`); one with a leading slash is anchored at the root.
 */
export function createTreeRules(wanted: {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Also includes names that begin with a dot. */
  readonly hidden: boolean;
}): TreeRules {
  const include = anyOf(wanted.include);
  const exclude = anyOf(wanted.exclude);
  const isHidden = (name: string): boolean => !wanted.hidden && name.startsWith(".");
  const isExcluded = anyAncestor((folder, name) => isHidden(name) || exclude(folder, name));
  const isWanted = anyAncestor(include);
  const includesAll = wanted.include.length === 0;
  const isIncluded = (original: string): boolean => {
    const path = original.normalize("NFC");
    const folder = folderOf(path);
    const name = nameOf(path);
    if (isHidden(name) || isExcluded(folder) || exclude(path, name)) return false;
    return includesAll || isWanted(folder) || include(path, name);
  };
  const enters = (folder: string): boolean => !isExcluded(folder.normalize("NFC"));
  const within = (folder: string): ((name: string) => boolean) => {
    if (includesAll && wanted.exclude.length === 0 && enters(folder)) return (name) => !isHidden(name);
    return (name) => isIncluded(folder === "" ? name : `${folder}/${name}`);
  };
  return Object.assign(isIncluded, { enters, within });
}

type Test = (path: string, name: string) => boolean;

function anyOf(globs: readonly string[]): Test {
  const tests = globs.map(testOf);
  return (path, name) => tests.some((test) => test(path, name));
}

function testOf(original: string): Test {
  const glob = original.normalize("NFC").replace(/\/+$/, "");
  const match = matchGlob(glob.replace(/^\/+/, ""));
  return glob.includes("/") ? (path) => match(path) : (_path, name) => match(name);
}

/** Returns a test whether a folder or one above it matches. Caches the last result: a walk checks many files of one folder. */
function anyAncestor(test: Test): (folder: string) => boolean {
  let last = { folder: "", is: false };
  const matches = (folder: string): boolean => {
    if (folder === "") return false;
    if (folder === last.folder) return last.is;
    const is = matches(folderOf(folder)) || test(folder, nameOf(folder));
    last = { folder, is };
    return is;
  };
  return matches;
}
