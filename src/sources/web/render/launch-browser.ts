import type { Browser, BrowserType } from "playwright-core";
import { BadInputError, explain, RemoteError } from "../../../contracts/errors.ts";
import { isErrno } from "../../../lib/atomic-file.ts";
import { passOn } from "../../../lib/pass-on.ts";
import { pathExists } from "../../../lib/path-exists.ts";

/**
 * A browser without a network of its own: no name resolves, and its proxy is a port where nobody listens. What it gets, it gets from whoever
 * answers its requests in its stead; a request that nobody thought of goes nowhere.
 */
const CUT_OFF = {
  proxy: { server: "http://127.0.0.1:9", bypass: "<-loopback>" },
  args: [
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--disable-background-networking",
    "--disable-gpu",
  ],
};
/** Whoever stops the process closes the browser, in order. */
const SIGNALS = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
/** What a browser needs to find its parts, fonts and a place for its files. */
const PASSED_ON = ["home", "userprofile", "localappdata", "ld_library_path", "fontconfig_path", "fontconfig_file"];

export interface LaunchedBrowser {
  readonly browser: Browser;
  readonly path: string;
  /** Do its pages run apart from this machine, whatever holes the browser has? */
  readonly isSandboxed: boolean;
}

/** Throws BadInputError when there is none. */
export async function launchBrowser(browserPath: string): Promise<LaunchedBrowser> {
  const chromium = await loadChromium();
  const path = await findBrowser(browserPath);
  const options = { ...CUT_OFF, ...SIGNALS, executablePath: path, env: passOn(process.env, PASSED_ON) };
  try {
    return { path, isSandboxed: true, browser: await chromium.launch({ ...options, chromiumSandbox: true }) };
  } catch {
    // Root and most containers have no sandbox to offer.
    const browser = await chromium.launch({ ...options, chromiumSandbox: false }).catch((error: unknown) => {
      throw new RemoteError(`The browser ${path} does not start: ${firstLineOf(error)}`, { cause: error });
    });
    return { path, isSandboxed: false, browser };
  }
}

/** It says what happened; the rest is the browser's log of it. */
export function firstLineOf(error: unknown): string {
  return explain(error).split(/\s*(?:\n|Call log:)/)[0] ?? "";
}

async function loadChromium(): Promise<BrowserType> {
  try {
    return (await import("playwright-core")).chromium;
  } catch (error) {
    if (!isErrno(error, "ERR_MODULE_NOT_FOUND")) throw error;
    throw new BadInputError(
      "Pages cannot be rendered: the package playwright-core is not installed. Run: npm install playwright-core@1.64.1",
    );
  }
}

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
async function findBrowser(named: string): Promise<string> {
  for (const path of named ? [named] : USUAL_PLACES) if (await pathExists(path)) return path;
  throw new BadInputError(
    named
      ? `WEB_BROWSER_PATH names no file: '${named}'. It should be the program of a Chromium or Chrome.`
      : "Pages cannot be rendered: no Chromium, Chrome or Edge was found. Install one, or name its program in WEB_BROWSER_PATH.",
  );
}
