import { RemoteError } from "../../contracts/errors.ts";
import { GitFailure } from "./run-git.ts";

/** What git (in English, as it is told to speak) and the programs it starts say, and what people are told. The first match counts. */
const REASONS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [
    /dubious ownership/,
    "it belongs to another account, and git does not read such repositories. Give it to the account that runs lockstep, or reach it by ssh:// or https://",
  ],
  [/could not resolve host/i, "there is no such host"],
  [
    /host key verification failed/i,
    "the host is none that the account that runs lockstep knows: add it to its known_hosts",
  ],
  [
    /permission denied \(|too many authentication failures/i,
    "the host takes none of the ssh keys of the account that runs lockstep",
  ],
  [/cannot run ssh/i, "there is no ssh on this machine"],
  [/certificate|SSL|TLS/, "its certificate cannot be trusted, or its encryption not be used"],
  [
    /redirect|returned error: 30\d/i,
    "it answers with a redirect, which is not followed. Write the address that it leads to; often that is the same one with .git at its end",
  ],
  [/returned error: 5\d\d/i, "the server has trouble itself, and may answer later"],
  [/returned error: 429/i, "the server was asked too often, and may answer later"],
  [
    /failed to connect|couldn't connect|connection (refused|timed out|reset|closed)|network is unreachable/i,
    "it cannot be reached",
  ],
  [/no space left on device|disk quota exceeded/i, "the disk is full"],
  [/couldn't find remote ref/, "the branch went away while it was looked at"],
];

const REFUSED =
  /authentication failed|could not read (username|password)|terminal prompts disabled|returned error: 40[13]|access denied|not authorized/i;
const ABSENT = /does not appear to be a git repository|not a git repository|not found|returned error: 404/i;

/** For people; what git itself said only where nothing better is known. An error that is no failure of git is returned as it is. */
export function explainGit(error: unknown, place: string, { protocol, credential }: Shown): unknown {
  const what = `Cannot read the repository ${place}`;
  if (error instanceof RemoteError) {
    return new RemoteError(`${what}: ${error.message.replace(/^look at the folder '.*?': |\.$/g, "")}.`);
  }
  if (!(error instanceof GitFailure)) return error;
  const said = error.message;
  const known = REASONS.find(([pattern]) => pattern.test(said))?.[1];
  return new RemoteError(`${what}: ${known ?? reasonOf(said, protocol, credential)}.`);
}

interface Shown {
  readonly protocol: string;
  /** The name of the variable that holds the token; "": none was shown. */
  readonly credential: string;
}

function reasonOf(said: string, protocol: string, credential: string): string {
  const isHttp = protocol.startsWith("http");
  if (REFUSED.test(said)) {
    return credential
      ? `the server refuses the token in ${credential}, or there is no such repository`
      : "there is no such repository, or it is not for everybody: name an environment variable with a token as 'credential'";
  }
  if (ABSENT.test(said)) {
    const hidden = isHttp
      ? credential
        ? `, or the token in ${credential} may not read it`
        : ", or it is not for everybody"
      : "";
    return `there is no such repository${hidden}`;
  }
  const lines = said.split(/[\r\n]+/).map((line) => line.replace(/\p{Cc}/gu, " ").trim());
  const last = lines.findLast((line) => /^(fatal|error): /.test(line)) ?? lines.findLast((line) => line !== "") ?? "";
  return `git says '${last.replace(/^(fatal|error): /, "").slice(0, 300)}'`;
}
