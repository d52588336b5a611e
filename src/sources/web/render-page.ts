import type { Browser, BrowserContext, BrowserType, Page, Request, Route } from "playwright-core";
import { BadInputError, CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import type { Finding } from "../../contracts/finding.ts";
import type { PageRenderer, Tell, WebClient, WebResponse } from "../../contracts/web.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { createLimiter } from "../../lib/concurrency.ts";
import { pathExists } from "../../lib/file-system.ts";
import { passOn } from "../../lib/pass-on.ts";
import { followRedirects } from "./follow-redirects.ts";

const PAGES_AT_ONCE = 2;
/** Closing a page needs no answer from it. A browser that does not even do that has to go. */
const CLOSE_MS = 5000;

export interface PageRendererOptions {
  readonly client: WebClient;
  /** "": looked for where browsers usually are. */
  readonly browserPath: string;
  /** For a page to begin. Some never come to rest: a third of it is waited for that, and as long for what it shows then. */
  readonly timeoutMs: number;
}

/** Every request of the browser goes through the client, and so through its rules. The browser is started by the first page. */
export function createPageRenderer({ client, browserPath, timeoutMs }: PageRendererOptions): PageRenderer {
  const limited = createLimiter(PAGES_AT_ONCE);
  const shared = new SharedBrowser(browserPath);
  const warned = new WeakSet<Tell>();
  const warn = ({ isSandboxed, path }: LaunchedBrowser, tell: Tell | undefined): void => {
    if (isSandboxed || !tell || warned.has(tell)) return;
    warned.add(tell);
    tell(`WARNING: Pages are shown by ${path} without a sandbox, because this system offers none.`);
  };
  return {
    async render(url, signal, tell) {
      return await limited(async () => {
        throwIfAborted(signal);
        return await shared.use(async (launched) => {
          warn(launched, tell);
          const answers = new RequestInterceptor(client, signal);
          // Nothing is shared between two pages: no cookies, no storage, no cache.
          const context = await launched.browser.newContext({ serviceWorkers: "block", acceptDownloads: false });
          const stop = (): void => void context.close().catch(() => undefined);
          signal.addEventListener("abort", stop);
          try {
            return await within(2 * timeoutMs, show(context, answers, url, timeoutMs), "the browser does not answer");
          } catch (error) {
            throwIfAborted(signal);
            throw new RemoteError(`The page could not be rendered: ${answers.failure || firstLineOf(error)}`);
          } finally {
            signal.removeEventListener("abort", stop);
            await within(CLOSE_MS, context.close(), "close").catch(() => shared.close());
          }
        });
      });
    },
    close: () => shared.close(),
  };
}

async function show(
  context: BrowserContext,
  answers: RequestInterceptor,
  url: string,
  timeoutMs: number,
): Promise<Uint8Array> {
  const restMs = timeoutMs / 3;
  await context.route("**/*", (route) => answers.answer(route));
  await context.routeWebSocket("**/*", (socket) => socket.close());
  const page = await context.newPage();
  context.on("page", (another) => void another.close().catch(() => undefined));
  await page.goto(url, { waitUntil: "commit", timeout: timeoutMs });
  await page.waitForLoadState("networkidle", { timeout: restMs }).catch(() => undefined);
  // A script without end keeps the page from saying anything.
  return await within(restMs, readShown(page), "its scripts do not end");
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new CancelledError("rendering was cancelled", { cause: signal.reason });
}

const MAX_BYTES = 10 * 1024 * 1024;
const MAX_REQUESTS = 200;
/** What the text of a page may depend on. Pictures, fonts, sounds and streams are not asked for. */
const ALLOWED_TYPES = new Set(["document", "script", "stylesheet", "xhr", "fetch", "other"]);
/** They describe the bytes on the wire; the browser gets them unpacked. Cookies would be somebody's. */
const OWN_HEADERS = new Set(["content-encoding", "content-length", "transfer-encoding", "connection", "set-cookie"]);

/**
 * Answers the requests of one page with what the client gets. Redirects are followed here: the browser would follow them by itself, past everything that
 * keeps requests inside the rules.
 */
class RequestInterceptor {
  readonly #client: WebClient;
  readonly #signal: AbortSignal;
  #requests = 0;
  #hasPage = false;
  #failure = "";

  constructor(client: WebClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Why the page itself could not be had; "" when it could. */
  get failure(): string {
    return this.#failure;
  }

  async answer(route: Route): Promise<void> {
    const request = route.request();
    const isDocument = request.resourceType() === "document";
    const isPage = isDocument && !this.#hasPage;
    this.#hasPage ||= isPage;
    this.#requests += 1;
    try {
      // Frames and new windows are other pages, and so is wherever a script would like to go: without content the page stays.
      if (isDocument && !isPage) await route.fulfill({ status: 204 });
      else if (!this.#isAllowed(request)) await route.abort("blockedbyclient");
      else await this.#fulfill(route, await this.#send(request));
    } catch (error) {
      if (isPage) this.#failure ||= explain(error);
      // The page may be closed by now: nobody waits for this answer any more.
      await route.abort("failed").catch(() => undefined);
    }
  }

  #isAllowed(request: Request): boolean {
    return request.method() === "GET" && ALLOWED_TYPES.has(request.resourceType()) && this.#requests <= MAX_REQUESTS;
  }

  async #fulfill(route: Route, response: WebResponse): Promise<void> {
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !OWN_HEADERS.has(name)));
    await route.fulfill({ status: response.status, headers, body: Buffer.from(await response.body()) });
  }

  async #send(request: Request): Promise<WebResponse> {
    const accept = request.headers()["accept"] ?? "*/*";
    const { answer } = await followRedirects(request.url(), (url) =>
      this.#client.send({ url, method: "GET", accept, maxBytes: MAX_BYTES, signal: this.#signal }),
    );
    if (answer.kind !== "response") throw new Error(answer.reason);
    if (answer.status < 300 || answer.status > 399) return answer;
    await answer.cancel();
    throw new Error("it redirects to no address");
  }
}

/** A browser takes a good deal of memory, and most pages need none. */
const IDLE_MS = 60_000;

/** One browser for all pages: started by the first, started anew when it died, closed when nobody has needed it for a while. */
class SharedBrowser {
  readonly #path: string;
  #launched: Promise<LaunchedBrowser> | undefined;
  #users = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async use<T>(work: (launched: LaunchedBrowser) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    this.#users += 1;
    try {
      return await work(await this.#open());
    } finally {
      this.#users -= 1;
      if (this.#users === 0) this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const launched = this.#launched;
    this.#launched = undefined;
    const open = await launched?.catch(() => undefined);
    await open?.browser.close().catch(() => undefined);
  }

  #open(): Promise<LaunchedBrowser> {
    if (this.#launched) return this.#launched;
    const launched = launchBrowser(this.#path);
    const forget = (): void => {
      if (this.#launched === launched) this.#launched = undefined;
    };
    this.#launched = launched;
    launched.then(({ browser }) => browser.once("disconnected", forget), forget);
    return launched;
  }
}

const MAX_CHARACTERS = 10_000_000;
const TAKE = `(() => {
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
  const html = type + (document.documentElement?.outerHTML ?? "");
  return html.length > ${MAX_CHARACTERS} ? null : html;
})()`;

/** The page's HTML as it is now. It is measured in the browser, in a world of its own: a script can neither send more nor pretend to have less. */
async function readShown(page: Page): Promise<Uint8Array> {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const world = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  const { result } = await session.send("Runtime.evaluate", {
    expression: TAKE,
    contextId: world.executionContextId,
    returnByValue: true,
  });
  if (typeof result.value !== "string") throw new Error(`it shows more than ${MAX_CHARACTERS} characters`);
  return new TextEncoder().encode(result.value);
}

/** Rejects with the sentence when the work takes longer; nobody waits for the work any more then. */
async function within<T>(ms: number, work: Promise<T>, sentence: string): Promise<T> {
  work.catch(() => undefined);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(sentence)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

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

interface LaunchedBrowser {
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
function firstLineOf(error: unknown): string {
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
