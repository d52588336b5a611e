import type { OwnFields } from "../../contracts/source-kind.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { unusualFields } from "../../lib/read-fields.ts";
import {
  fileFields,
  globFields,
  readCredential,
  readTreeRules,
  type TreeSourceConfig,
} from "../tree/tree-source-codec.ts";
import { findBranchProblem, parseGitAddress } from "./git-address.ts";

/** A branch of a Git repository. */
export interface GitSourceConfig extends TreeSourceConfig {
  /** A URL without a secret, `user@host:path`, or an absolute path. */
  readonly repository: string;
  /** "": the default branch. */
  readonly branch: string;
  /** Environment variable with a token; "": none. */
  readonly credential: string;
}

export type GitTreeConfig = OwnFields<GitSourceConfig>;

export function parseRepository(value: JsonObject, where: string, problems: string[]): GitTreeConfig {
  const { repository, credential } = value;
  const address = parseGitAddress(typeof repository === "string" ? repository : "");
  if (typeof address === "string") problems.push(`${where}.repository ${address}`);
  return {
    repository: typeof address === "string" ? "" : address.location,
    branch: readBranch(value["branch"], `${where}.branch`, problems),
    credential: readCredential(
      credential,
      `${where}.credential`,
      { example: "HANDBOOK_TOKEN", held: "the token" },
      problems,
    ),
    ...readTreeRules(value, where, problems),
  };
}

export function formatRepository(source: GitSourceConfig, earlier: JsonObject): JsonObject {
  const { repository, branch, credential } = source;
  const own = [["branch", branch, ""], ...globFields(source), ["credential", credential, ""]] as const;
  return { repository, ...unusualFields([...own, ...fileFields(source)], earlier) };
}

function readBranch(value: unknown = "", where: string, problems: string[]): string {
  const branch = typeof value === "string" ? value.trim() : "-";
  const problem = findBranchProblem(branch);
  if (problem === undefined) return branch;
  problems.push(`${where} ${problem}`);
  return "";
}
