import { isAbsolute, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { trimEnd } from "../../lib/text.ts";

/** The location of a repository, and the only protocol git may use for it. */
export interface GitAddress {
  readonly protocol: "file" | "http" | "https" | "ssh";
  /** The argument for git: an absolute path, a URL, or `user@host:path`. Contains no secret. */
  readonly location: string;
  /** Prefix of the URLs of file pages; "" if the host has no known ones. */
  readonly filePages: string;
}

const REPOSITORY_EXAMPLE = "https://github.com/contoso/handbook.git";
const CONTROL = /\p{Cc}/u;
/** User and host must not look like an option of ssh. */
const SCP_FORM = /^(?:[\w][\w.-]*@)?[\w][\w.-]*:(?!\/\/|:)[^\s]+$/;
/** `fd::`, `ext::`: git helpers that run commands from the address. */
const HELPER = /^[\w.+-]+::/;

/** Returns the address, or a problem as text that follows "repository". The text never repeats the address, which may contain a password. */
export function parseGitAddress(input: string): GitAddress | string {
  const text = input.trim();
  if (text === "") return `must be the address or path of a repository, like "${REPOSITORY_EXAMPLE}".`;
  if (CONTROL.test(text)) return "must not hold line ends or other control characters.";
  if (text.startsWith("-")) return 'must not begin with "-".';
  if (HELPER.test(text)) return `must be an address that begins with https://, ssh:// or file://, or a path.`;
  if (isAbsolute(text)) return localAddress(text);
  const url = URL.parse(text);
  if (url && /^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return urlAddress(url);
  if (SCP_FORM.test(text)) return sshAddress(text);
  return `must be an address like "${REPOSITORY_EXAMPLE}" or "git@github.com:contoso/handbook.git", or an absolute path on the machine that crawls.`;
}

function localAddress(path: string): GitAddress | string {
  if (path.split(/[/\\]/).includes("..")) return 'must not hold ".." as a folder; write where it leads.';
  return { protocol: "file", location: trimEnd(normalize(path), "/") || "/", filePages: "" };
}

function urlAddress(url: URL): GitAddress | string {
  if (url.password || (url.username && url.protocol !== "ssh:")) {
    return "must not hold a user name or password. Put the token into an environment variable and give that variable's name as 'credential'.";
  }
  if (url.search || url.hash) return "must not hold a '?' or '#'.";
  if (url.protocol !== "file:" && url.pathname.replaceAll("/", "") === "") {
    return `must name the repository, too, like "${REPOSITORY_EXAMPLE}".`;
  }
  switch (url.protocol) {
    case "file:":
      return url.host === ""
        ? localAddress(fileURLToPath(url))
        : "must name no host after file://; write file:///srv/….";
    case "http:":
      if (!isLoopbackHost(url.hostname)) return "must begin with https:// (http:// is for this machine itself only).";
      return httpAddress(url, "http");
    case "https:":
      return httpAddress(url, "https");
    case "ssh:":
      return /^-/.test(url.hostname) || /^-|%/.test(url.username)
        ? "must name a host, and a user of plain letters."
        : sshAddress(trimEnd(url.href, "/"));
    default:
      return "must begin with https://, ssh:// or file://, or be a path.";
  }
}

function httpAddress(url: URL, protocol: "http" | "https"): GitAddress {
  const location = url.origin + trimEnd(url.pathname, "/");
  return { protocol, location, filePages: filePagesOf(url.host, url.pathname, protocol) };
}

function sshAddress(location: string): GitAddress {
  const [, host = "", path = ""] = /^(?:ssh:\/\/)?(?:[^@/]*@)?([^:/]+)(?::\d+(?=\/))?[:/]+(.*)$/.exec(location) ?? [];
  return { protocol: "ssh", location, filePages: filePagesOf(host, `/${path}`, "https") };
}

/** Returns the prefix of file pages on GitHub and GitLab, also on own hosts with such names. Both understand `HEAD` as the default branch. */
function filePagesOf(host: string, path: string, protocol: string): string {
  const repository = `${protocol}://${host}${trimEnd(path, "/").replace(/\.git$/, "")}`;
  if (/^(www\.)?github\./.test(host)) return `${repository}/blob/`;
  return /^gitlab\./.test(host) ? `${repository}/-/blob/` : "";
}

/** Returns the host of a repository; "" for a local one. */
export function hostIn(repository: string): string {
  const [, host = ""] = /^(?:(?:https?|ssh):\/\/)?(?:[^@/]*@)?([\w.-]+|\[[^\]]+\])(?=[:/])/.exec(repository) ?? [];
  return host.toLowerCase();
}

/** Checks a branch name like `git check-ref-format`; "" is the default branch. Returns a problem as text that follows "branch". */
export function findBranchProblem(branch: string): string | undefined {
  if (branch === "") return undefined;
  if (branch.startsWith("refs/")) return `must be the name of a branch alone, like "main", without "refs/heads/".`;
  const isBad =
    branch.length > 200 ||
    branch === "@" ||
    /[\p{Cc} ~^:?*[\\]|\.\.|@\{|\/\/|^[-/]|[/.]$/u.test(branch) ||
    branch.split("/").some((part) => part.startsWith(".") || part.endsWith(".lock"));
  return isBad ? `must be the name of a branch, like "main" or "docs/live"; this is none that git allows.` : undefined;
}

/** Returns the URL of a file's page; without one, the repository's with the path after `#`. */
export function fileAddress(
  { protocol, location, filePages }: GitAddress,
  branch: string,
  path: string,
): { readonly url: string; readonly rawUrl: string } {
  if (filePages) {
    const below = `${branch || "HEAD"}/${path}`;
    return { url: filePages + encodePath(below), rawUrl: filePages + below };
  }
  const base = protocol === "file" ? `file://${location.replaceAll("\\", "/")}` : location;
  return { url: `${encodeURI(base)}#${encodePath(path)}`, rawUrl: `${base}#${path}` };
}

function encodePath(path: string): string {
  return encodeURIComponent(path).replaceAll("%2F", "/");
}
