import { isAbsolute, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { trimEnd } from "../../lib/text.ts";

/** Where a repository is, and the one protocol that `git` may use to reach it. */
export interface GitAddress {
  readonly protocol: "file" | "http" | "https" | "ssh";
  /** What `git` is given: an absolute path, a URL, or `user@host:path`. Holds no secret. */
  readonly location: string;
  /** Pages that people can open begin so; "" where the host has none that is known. */
  readonly filePages: string;
}

const REPOSITORY_EXAMPLE = "https://github.com/contoso/handbook.git";
const CONTROL = /\p{Cc}/u;
/** Neither user nor host may look like an option of ssh. */
const SCP_FORM = /^(?:[\w][\w.-]*@)?[\w][\w.-]*:(?!\/\/|:)[^\s]+$/;
/** `fd::`, `ext::`: helpers of git that run what the address says. */
const HELPER = /^[\w.+-]+::/;

/** Throws nothing: a text is what is wrong with it, to be read after "repository". It never repeats the address, which may hold a password. */
export function parseGitAddress(written: string): GitAddress | string {
  const text = written.trim();
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

/** GitHub and GitLab show files at addresses that are known, also on hosts of one's own that are called so. `HEAD` is the default branch to both. */
function filePagesOf(host: string, path: string, protocol: string): string {
  const repository = `${protocol}://${host}${trimEnd(path, "/").replace(/\.git$/, "")}`;
  if (/^(www\.)?github\./.test(host)) return `${repository}/blob/`;
  return /^gitlab\./.test(host) ? `${repository}/-/blob/` : "";
}

/** The host that a repository is on; "" for one in a folder. */
export function hostIn(repository: string): string {
  const [, host = ""] = /^(?:(?:https?|ssh):\/\/)?(?:[^@/]*@)?([\w.-]+|\[[^\]]+\])(?=[:/])/.exec(repository) ?? [];
  return host.toLowerCase();
}

/** As `git check-ref-format` has it; "" is the default branch of the repository. A text is what is wrong, to be read after "branch". */
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

/** The page of a file where the host has one, otherwise the repository with the path behind `#`. */
export function fileAddress(
  { protocol, location, filePages }: GitAddress,
  branch: string,
  path: string,
): { readonly url: string; readonly rawUrl: string } {
  if (filePages) {
    const below = `${branch || "HEAD"}/${path}`;
    return { url: filePages + encodePath(below), rawUrl: filePages + below };
  }
  const place = protocol === "file" ? `file://${location.replaceAll("\\", "/")}` : location;
  return { url: `${encodeURI(place)}#${encodePath(path)}`, rawUrl: `${place}#${path}` };
}

function encodePath(path: string): string {
  return encodeURIComponent(path).replaceAll("%2F", "/");
}
