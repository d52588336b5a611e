import { matchGlob } from "../../lib/glob.ts";
import { folderOf, nameOf } from "../../lib/tree-path.ts";

export interface TreeRules {
  /** Is the file at this path, below the root and `/`-separated, let in? */
  (path: string): boolean;
  /** The same for the names in one folder; where there are no globs, without making paths of them. */
  within(folder: string): (name: string) => boolean;
  /** May anything below this folder be let in? A walk that does not enter the others misses nothing. */
  enters(folder: string): boolean;
}

/**
 * What of a tree is taken, by path alone. A glob that matches a folder stands for everything below it; one without a slash
 * is met by a name at any depth (`*.md`, `node_modules`), one that begins with a slash only from the root on.
 */
export function createTreeRules(wanted: {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Names that begin with a dot are let in, too. */
  readonly hidden: boolean;
}): TreeRules {
  const include = anyOf(wanted.include);
  const exclude = anyOf(wanted.exclude);
  const isOut = (name: string): boolean => !wanted.hidden && name.startsWith(".");
  const isShut = eachFolder((folder, name) => isOut(name) || exclude(folder, name));
  const isWanted = eachFolder(include);
  const takesAll = wanted.include.length === 0;
  const takes = (written: string): boolean => {
    const path = written.normalize("NFC");
    const folder = folderOf(path);
    const name = nameOf(path);
    if (isOut(name) || isShut(folder) || exclude(path, name)) return false;
    return takesAll || isWanted(folder) || include(path, name);
  };
  const enters = (folder: string): boolean => !isShut(folder.normalize("NFC"));
  const within = (folder: string): ((name: string) => boolean) => {
    if (takesAll && wanted.exclude.length === 0 && enters(folder)) return (name) => !isOut(name);
    return (name) => takes(folder === "" ? name : `${folder}/${name}`);
  };
  return Object.assign(takes, { enters, within });
}

type Test = (path: string, name: string) => boolean;

function anyOf(globs: readonly string[]): Test {
  const tests = globs.map(testOf);
  return (path, name) => tests.some((test) => test(path, name));
}

function testOf(written: string): Test {
  const glob = written.normalize("NFC").replace(/\/+$/, "");
  const match = matchGlob(glob.replace(/^\/+/, ""));
  return glob.includes("/") ? (path) => match(path) : (_path, name) => match(name);
}

/** Does the folder, or one above it, meet the test? The last answer is kept: a walk asks for file after file of one folder. */
function eachFolder(test: Test): (folder: string) => boolean {
  let last = { folder: "", is: false };
  const isMet = (folder: string): boolean => {
    if (folder === "") return false;
    if (folder === last.folder) return last.is;
    const is = isMet(folderOf(folder)) || test(folder, nameOf(folder));
    last = { folder, is };
    return is;
  };
  return isMet;
}
