import { explain } from "../../../contracts/errors.ts";
import type { Finding } from "../../../contracts/finding.ts";
import { launchBrowser } from "./launch-browser.ts";

const SUBJECT = "Browser";
const WITHOUT_SANDBOX =
  "Run lockstep as a user without rights, on a system or in a container that allows user namespaces. Otherwise a page that knows a hole in the browser can read what lockstep can read.";
const WITHOUT_BROWSER =
  "docs/guides/web.md says what WEB_RENDER=true needs. Until it is there, new pages that need scripts are kept as they come, and known ones stay as they were.";

/** Starts it, as for the first page that needs it. */
export async function examineBrowser(browserPath: string): Promise<Finding> {
  try {
    const { browser, path, isSandboxed } = await launchBrowser(browserPath);
    const version = browser.version();
    await browser.close();
    const how = isSandboxed ? "in its sandbox" : "without a sandbox, because this system offers none";
    const detail = `${path} (version ${version}) shows pages that need scripts, ${how}.`;
    return { subject: SUBJECT, outcome: "ok", detail, remedy: isSandboxed ? "" : WITHOUT_SANDBOX };
  } catch (error) {
    return { subject: SUBJECT, outcome: "problem", detail: explain(error), remedy: WITHOUT_BROWSER };
  }
}
