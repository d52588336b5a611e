import { RemoteError } from "../../contracts/errors.ts";
import type { Git } from "./run-git.ts";

/** What a branch of a repository points to. */
export interface RemoteTip {
  /** What is fetched: `HEAD`, or the branch. */
  readonly ref: string;
  /** "": the repository has no branch at all, so there is no file in it. */
  readonly commit: string;
  /** For people; "" where a repository does not say what its default branch is called. */
  readonly branch: string;
}

const HEADS = "refs/heads/";
const NAMED = 5;

/** Asks the other side, and fetches nothing. `branch`: "" for the default one. */
export async function findTip(git: Git, location: string, branch: string, signal: AbortSignal): Promise<RemoteTip> {
  const list = async (...patterns: string[]): Promise<ReadonlyMap<string, string>> => {
    const args = ["ls-remote", "--symref", "--", location, ...patterns];
    const text = (await git.run(args, { signal, isRemote: true })).toString();
    const lines = text.split("\n").map((line) => line.split("\t"));
    // `ref: refs/heads/main` has no id, and is told of its name beside the line that has one.
    return new Map(
      lines.map(([id = "", ref = ""]) => (id.startsWith("ref: ") ? [`${ref} is`, id.slice(5)] : [ref, id])),
    );
  };
  const ref = branch === "" ? "HEAD" : HEADS + branch;
  const found = await list(ref);
  const commit = found.get(ref);
  const name = branch || (found.get("HEAD is") ?? "").replace(HEADS, "");
  if (commit !== undefined) return { ref, commit, branch: name };
  const branches = [...(await list()).keys()].flatMap((key) => (key.startsWith(HEADS) ? key.slice(HEADS.length) : []));
  if (branches.length === 0) return { ref, commit: "", branch: name };
  const named = branches.slice(0, NAMED).map((each) => `'${each}'`);
  const others = branches.length > NAMED ? `, and ${branches.length - NAMED} more` : "";
  const what =
    branch === "" ? "it has no default branch, so one has to be named as 'branch'" : `it has no branch '${branch}'`;
  throw new RemoteError(`${what}; there ${branches.length === 1 ? "is" : "are"} ${named.join(", ")}${others}`);
}
