import { isLoopbackHost } from "./loopback.ts";

/**
 * Returns undefined if the text can be the address of a SharePoint site, otherwise what is wrong with it, to follow the name of the field.
 * Sign-in tokens are sent there, hence https. Never repeats the address: it may hold a password.
 */
export function findSiteUrlProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return "must be an address such as https://contoso.sharepoint.com/sites/demo";
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    return "must begin with https:// (http:// is for this machine itself only)";
  }
  if (url.username !== "" || url.password !== "") return "must not hold a user name or password";
  if (url.search !== "" || url.hash !== "") return "must not hold a '?' or '#'; give the address of the site alone";
  try {
    decodeURIComponent(url.pathname);
    return undefined;
  } catch {
    return "holds a '%' that does not begin the code of a character";
  }
}
