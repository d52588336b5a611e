import { isLoopbackHost } from "../lib/loopback.ts";

/** undefined when the address may be crawled, else what is wrong with it. Sign-in tokens are sent there, hence https. */
export function findSiteUrlProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) return "must be an address like https://…";
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    return "must begin with https:// (http:// is for this machine itself only)";
  }
  if (url.username !== "" || url.password !== "") return "must not hold a user name or password";
  if (url.search !== "" || url.hash !== "") return "must not hold a '?' or '#'";
  return undefined;
}
