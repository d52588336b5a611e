import type { Browser, BrowserType } from "playwright-core";
import { BadInputError, explain, RemoteError } from "../../../contracts/errors.ts";
import { isErrno } from "../../../lib/atomic-file.ts";
import { passOn } from "../../../lib/pass-on.ts";
import { findBrowser } from "./find-browser.ts";

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
