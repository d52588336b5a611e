import { BadInputError, explain, RemoteError } from "../../contracts/errors.ts";
import type { Finding } from "../../contracts/finding.ts";
import type { RemoteTip } from "./find-tip.ts";
import type { GitPlace } from "./git-source-codec.ts";

interface Questions {
  /** Is there a git, a token, and a folder that may be read? */
  open(signal: AbortSignal): Promise<unknown>;
  ask(signal: AbortSignal): Promise<RemoteTip>;
  explain(error: unknown): unknown;
  readonly signal: AbortSignal;
}

/** Everything between the program and the last commit. Nothing is fetched: that may be gigabytes. */
export async function* examineRepository(
  { repository, credential }: GitPlace,
  { open, ask, explain: explained, signal }: Questions,
): AsyncGenerator<Finding, void> {
  const subject = `Repository ${repository}`;
  try {
    await open(signal);
  } catch (error) {
    const detail = sentenceOf(explained(error));
    const remedy = /^(There is no git|The git on) /.test(detail) ? INSTALL_GIT : "";
    yield { subject: remedy ? "Git" : subject, outcome: "problem", detail, remedy };
    if (remedy)
      yield { subject, outcome: "not checked", detail: "Cannot be looked at before this is solved: Git.", remedy: "" };
    return;
  }
  try {
    const { commit, branch } = await ask(signal);
    const named = branch ? `Its branch '${branch}'` : "Its default branch";
    const shown = credential ? ` with the token in ${credential}` : "";
    const detail = commit
      ? `${named} can be read${shown}; its last commit is ${commit.slice(0, 12)}.`
      : "It can be read, and has no commit yet.";
    yield { subject, outcome: "ok", detail, remedy: "" };
  } catch (error) {
    signal.throwIfAborted();
    yield { subject, outcome: "problem", detail: sentenceOf(explained(error)), remedy: CORRECT };
  }
}

const INSTALL_GIT =
  "Whoever runs the server installs git 2.32 or later, where the PATH of lockstep has it, and starts lockstep again.";
const CORRECT =
  "Correct 'repository', 'branch' or 'credential' in the domain's sources, or let the account that runs lockstep read it.";

/** Never throws for what it finds, and other errors are none of its business. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof RemoteError || error instanceof BadInputError)) throw error;
  const text = explain(error);
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}
