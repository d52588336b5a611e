import type { Browser, BrowserContext, BrowserType, Page, Request, Route } from "playwright-core";
import { BadInputError, CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import type { Finding } from "../../contracts/finding.ts";
import type { PageRenderer, Tell, WebClient, WebResponse } from "../../contracts/web.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { createLimiter } from "../../lib/concurrency.ts";
import { pathExists } from "../../lib/file-system.ts";
import { followRedirects } from "./follow-redirects.ts";

const PAGES_AT_ONCE = 2;
/** Closing a page needs no response from it. If it takes longer, the browser is closed. */
const CLOSE_MS = 5000;

export interface PageRendererOptions {
  readonly client: WebClient;
  /** "": the usual locations are searched. */
  readonly browserPath: string;
  /** Limit for the page to begin. A third of it is waited for the network to become idle, and a third for reading the content. */
  readonly timeoutMs: number;
}

/** Sends every request of the browser through the client, so that its rules apply. The first page starts the browser. */
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
          // Pages share nothing: no cookies, no storage, no cache.
          const context = await launched.browser.newContext({ serviceWorkers: "block", acceptDownloads: false });
          const stop = (): void => void context.close().catch(() => undefined);
          signal.addEventListener("abort", stop);
          try {
            return await within(
              2 * timeoutMs,
              renderInContext(context, answers, url, timeoutMs),
              "the browser does not answer",
            );
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

async function renderInContext(
  context: BrowserContext,
  answers: RequestInterceptor,
  url: string,
  timeoutMs: number,
): Promise<Uint8Array> {
  const phaseMs = timeoutMs / 3;
  await context.route("**/*", (route) => answers.answer(route));
  await context.routeWebSocket("**/*", (socket) => socket.close());
  const page = await context.newPage();
  context.on("page", (another) => void another.close().catch(() => undefined));
  await page.goto(url, { waitUntil: "commit", timeout: timeoutMs });
  await page.waitForLoadState("networkidle", { timeout: phaseMs }).catch(() => undefined);
  // An endless script keeps the page from responding.
  return await within(phaseMs, readShown(page), "its scripts do not end");
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new CancelledError("rendering was cancelled", { cause: signal.reason });
}

const MAX_BYTES = 10 * 1024 * 1024;
const MAX_REQUESTS = 200;
/** Resources on which the text of a page may depend. Images, fonts and media are not requested. */
const ALLOWED_TYPES = new Set(["document", "script", "stylesheet", "xhr", "fetch", "other"]);
/** Headers of the transfer, which do not fit the decoded body, and cookies. */
const OWN_HEADERS = new Set(["content-encoding", "content-length", "transfer-encoding", "connection", "set-cookie"]);

/**
 * Fulfills the requests of one page through the client. Follows redirects here: the browser would follow them past the
 * client's rules.
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

  /** Why the page itself could not be fetched; "" if it could. */
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
      // Frames, new windows and navigation by scripts are other pages: status 204 keeps the browser on this one.
      if (isDocument && !isPage) await route.fulfill({ status: 204 });
      else if (!this.#isAllowed(request)) await route.abort("blockedbyclient");
      else await this.#fulfill(route, await this.#send(request));
    } catch (error) {
      if (isPage) this.#failure ||= explain(error);
      // The page may be closed already.
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

/** A browser needs much memory, and most pages need no browser. */
const IDLE_MS = 60_000;

/** One browser for all pages: started for the first, restarted after a crash, closed when idle. */
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

/** Returns the current HTML of the page. Its size is checked in an isolated world of the browser, which scripts of the page cannot influence. */
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

/** Rejects with the sentence if the work takes longer; the work goes on, and its result is ignored. */
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
 * Settings for a browser without network access: no host name resolves, and its proxy is a closed port. It gets only what
 * the interceptor fulfills.
 */
const NO_NETWORK = {
  proxy: { server: "http://127.0.0.1:9", bypass: "<-loopback>" },
  args: [
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--disable-background-networking",
    "--disable-gpu",
  ],
};
/** The process closes the browser itself when it is stopped. */
const SIGNALS = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
/** Environment variables the browser needs for libraries, fonts and files. */
const PASSED_VARIABLES = [
  "home",
  "userprofile",
  "localappdata",
  "ld_library_path",
  "fontconfig_path",
  "fontconfig_file",
];

interface LaunchedBrowser {
  readonly browser: Browser;
  readonly path: string;
  /** Whether pages run in the browser's sandbox. */
  readonly isSandboxed: boolean;
}

/** Throws BadInputError if there is no browser. */
export async function launchBrowser(browserPath: string): Promise<LaunchedBrowser> {
  const chromium = await loadChromium();
  const path = await findBrowser(browserPath);
  const options = { ...NO_NETWORK, ...SIGNALS, executablePath: path, env: passOn(process.env, PASSED_VARIABLES) };
  try {
    return { path, isSandboxed: true, browser: await chromium.launch({ ...options, chromiumSandbox: true }) };
  } catch {
    // Root, and most containers, have no sandbox.
    const browser = await chromium.launch({ ...options, chromiumSandbox: false }).catch((error: unknown) => {
      throw new RemoteError(`The browser ${path} does not start: ${firstLineOf(error)}`, { cause: error });
    });
    return { path, isSandboxed: false, browser };
  }
}

/** Returns the message without the browser's call log. */
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

/** Returns the configured browser, or the first one in a usual location. */
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

/** Starts the browser once to check it. */
export async function diagnoseBrowser(browserPath: string): Promise<Finding> {
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

/** Variables that any process needs to start. */
const NEEDED = ["path", "systemroot", "temp", "tmp", "tmpdir", "lang", "tz"];

/** Returns an environment for a process that reads untrusted input: without secrets. `more` names further variables, in lower case. */
function passOn(
  environment: Readonly<Record<string, string | undefined>>,
  more: readonly string[] = [],
): Record<string, string> {
  const names = new Set([...NEEDED, ...more]);
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && names.has(name.toLowerCase())) passed[name] = value;
  }
  return passed;
}
