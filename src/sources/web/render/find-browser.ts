import { BadInputError } from "../../../contracts/errors.ts";
import { pathExists } from "../../../lib/path-exists.ts";

const USUAL_PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/usr/bin/microsoft-edge",
  "/snap/bin/chromium",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  "C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe",
];

/** The one that is named, or the first that lies in a usual place. */
export async function findBrowser(named: string): Promise<string> {
  for (const path of named ? [named] : USUAL_PLACES) if (await pathExists(path)) return path;
  throw new BadInputError(
    named
      ? `WEB_BROWSER_PATH names no file: '${named}'. It should be the program of a Chromium or Chrome.`
      : "Pages cannot be rendered: no Chromium, Chrome or Edge was found. Install one, or name its program in WEB_BROWSER_PATH.",
  );
}
