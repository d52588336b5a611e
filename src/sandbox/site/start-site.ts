import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import sharp from "sharp";
import { BadInputError } from "../../contracts/errors.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { sleep } from "../../lib/time.ts";
import { companySite } from "../seed/company-site.ts";
import { ALL_SECTIONS, SECTION_NAMES, type SectionName } from "./all-sections.ts";
import type { SiteAnswer, SiteDocument, Trouble } from "./site-section.ts";
import { diceOf } from "./site-text.ts";
import { type SiteCount, WebSite, type WebSiteOptions } from "./web-site.ts";

export interface SiteOptions {
  /** Linked pages, with the front page; what its sections add comes on top. */
  readonly pages: number;
  /** 0, the default, lets the operating system choose. */
  readonly port?: number;
  /** The same seed, the same site. */
  readonly seed?: number;
  /** Its peculiarities; all of them by default, none for a plain site. */
  readonly sections?: readonly SectionName[];
}

/** A web site to crawl: see docs/sandbox.md. */
export interface SandboxSite {
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  /** The site itself: tests in the same process may change and ask it directly. */
  readonly site: WebSite;
  close(): Promise<void>;
}

export async function startSite(options: SiteOptions): Promise<SandboxSite> {
  const { pages, port = 0, seed = 1, sections = SECTION_NAMES } = options;
  return await serve(port, { pages, seed: String(seed), sections: sections.map((name) => ALL_SECTIONS[name]) });
}

/** The help centre of the company whose tenant the sandbox is. */
export async function startCompanySite({ port = 0 }: Pick<SiteOptions, "port"> = {}): Promise<SandboxSite> {
  return await serve(port, { pages: 0, seed: "company", sections: [companySite] });
}

async function serve(port: number, plan: Omit<WebSiteOptions, "origin" | "otherOrigin">): Promise<SandboxSite> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const boundPort = typeof address === "object" && address ? address.port : port;
  const origin = `http://127.0.0.1:${boundPort}`;
  const site = new WebSite({ ...plan, origin, otherOrigin: `http://localhost:${boundPort}` });
  server.on("request", (request, response) => void answer(site, request, response));
  return {
    origin,
    site,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(site: WebSite, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const [path = "/", ...rest] = (request.url ?? "/").split("?");
    const query = rest.length > 0 ? `?${rest.join("?")}` : "";
    if (path.startsWith("/_site")) return await answerSiteControl(site, request, response, { path, query });
    const found = (await pictureAt(path)) ?? site.answer(path, query);
    if (found?.kind === "document" && found.delayMs !== undefined) await sleep(found.delayMs);
    const version = { path: path + query, revision: site.revisionOf(path), seed: site.seed, answer: site.nextAnswer() };
    sendAnswer(request, response, found, { version, count: site.countOf(request.headers.host ?? "", path + query) });
  } catch (error) {
    response.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

type Route = (site: WebSite, input: JsonObject, query: URLSearchParams) => unknown;

const TROUBLES = ["status", "cut", "reset", "stall"] as const;

/** What can be done to a running site, as `METHOD name` below `/_site/`. */
const ROUTES: Readonly<Record<string, Route>> = {
  "GET ": (site) => ({ origin: site.origin, sections: site.sections(), routes: Object.keys(ROUTES).slice(1) }),
  "GET pages": (site, _input, query) => {
    const depth = query.get("depth");
    return { pages: [...site.reachable(depth === null ? {} : { maxDepth: Number(depth) })] };
  },
  "GET counts": (site) => Object.fromEntries(site.counts()),
  "DELETE counts": (site) => site.clearCounts(),
  "POST edit": (site, input) => ({
    revision: site.edit(pathIn(input), "note" in input ? textIn(input, "note") : ""),
  }),
  "POST delete": (site, input) => site.delete(pathIn(input), input["status"] === 410 ? 410 : 404),
  "POST restore": (site, input) => site.restore(pathIn(input)),
  "POST unlink": (site, input) => site.unlink(pathIn(input)),
  "POST fail": (site, input) => {
    const times = input["times"];
    site.fail({
      path: pathIn(input),
      trouble: troubleIn(input),
      ...(typeof times === "number" && { times }),
    });
  },
  "DELETE failures": (site) => site.clearFailures(),
  "PUT robots": (site, input) => site.setRobots(textIn(input, "text")),
  "DELETE robots": (site) => site.setRobots(undefined),
  "POST sections": (site, input) => {
    site.switchSections(sectionsIn(input, "on"), sectionsIn(input, "off"));
    return { sections: site.sections() };
  },
};

async function answerSiteControl(
  site: WebSite,
  request: IncomingMessage,
  response: ServerResponse,
  { path, query }: { readonly path: string; readonly query: string },
): Promise<void> {
  const send = (status: number, value: unknown): void => {
    response.writeHead(status, { "Content-Type": "application/json; charset=utf-8" }).end(JSON.stringify(value ?? {}));
  };
  const route = ROUTES[`${request.method} ${path.replace(/^\/_site\/?/, "")}`];
  if (!route) return send(404, { error: `There is no ${request.method} ${path}.`, routes: Object.keys(ROUTES) });
  try {
    send(200, route(site, await readInput(request), new URLSearchParams(query)));
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    send(400, { error: error.message });
  }
}

async function readInput(request: IncomingMessage): Promise<JsonObject> {
  const body = await text(request);
  try {
    return (body === "" ? {} : JSON.parse(body)) as JsonObject;
  } catch {
    throw new BadInputError("The body must be JSON.");
  }
}

function textIn(input: JsonObject, name: string): string {
  const value = input[name];
  if (typeof value !== "string") throw new BadInputError(`'${name}' must be a text.`);
  return value;
}

function pathIn(input: JsonObject): string {
  const path = textIn(input, "path");
  if (!path.startsWith("/")) throw new BadInputError("'path' must begin with a slash.");
  return path;
}

function troubleIn(input: JsonObject): Trouble {
  const how = TROUBLES.find((each) => each === (input["how"] ?? "status"));
  if (!how) throw new BadInputError(`'how' must be one of ${TROUBLES.join(", ")}.`);
  if (how !== "status") return { how };
  const { status = 503, retryAfterSeconds } = input;
  if (typeof status !== "number") throw new BadInputError("'status' must be a number.");
  return { how, status, ...(typeof retryAfterSeconds === "number" && { retryAfterSeconds }) };
}

function sectionsIn(input: JsonObject, name: string): SectionName[] {
  const names = input[name] ?? [];
  if (!Array.isArray(names)) throw new BadInputError(`'${name}' must be a list.`);
  return names.map((each) => {
    const known = SECTION_NAMES.find((section) => section === each);
    if (!known) throw new BadInputError(`There is no section '${each}'. There are ${SECTION_NAMES.join(", ")}.`);
    return known;
  });
}

const FIRST_DAY = Date.UTC(2026, 0, 5, 9, 0, 0);
const DAY_MS = 86_400_000;

/** What decides the version of a page: it has another one after every edit. */
interface Version {
  readonly path: string;
  readonly revision: number;
  readonly seed: string;
  /** Of the answer: no two have the same. */
  readonly answer: number;
}

/** Sends what lies at an address, as a server with such validators does. */
function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: SiteAnswer | undefined,
  { version, count }: { readonly version: Version; readonly count: SiteCount },
): void {
  count.requests++;
  if (!answer) {
    sendError(request, response, { status: 404 });
  } else if (answer.kind === "redirect") {
    response.writeHead(answer.status, { Location: answer.location, "Content-Length": "0" }).end();
  } else if (answer.kind === "trouble") {
    sendTrouble(request, response, answer.trouble);
  } else {
    sendDocument(request, response, answer, { version, count });
  }
}

function sendDocument(
  request: IncomingMessage,
  response: ServerResponse,
  document: SiteDocument,
  { version, count }: { readonly version: Version; readonly count: SiteCount },
): void {
  const headers = { ...validatorsOf(document, version), ...document.headers };
  if (document.validators !== "deaf" && isKnown(request, headers)) {
    count.notModified++;
    response.writeHead(304, headers).end();
    return;
  }
  const body = document.body();
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  response.writeHead(200, {
    "Content-Type": document.contentType,
    "Content-Length": String(bytes.length),
    ...headers,
  });
  if (request.method !== "HEAD") {
    count.bodies++;
    count.bodyBytes += bytes.length;
  }
  response.end(request.method === "HEAD" ? undefined : bytes);
}

function validatorsOf({ validators }: SiteDocument, { path, revision, seed, answer }: Version): Record<string, string> {
  const of = (what: string): string =>
    `"${createHash("sha1").update(`${seed} ${what}`).digest("base64url").slice(0, 16)}"`;
  const etag = { both: revision, etag: revision, deaf: revision, restless: `answer ${answer}`, stuck: "always" };
  const date = new Date(FIRST_DAY + revision * DAY_MS).toUTCString();
  return {
    ...(validators in etag && { ETag: of(`${path} ${etag[validators as keyof typeof etag]}`) }),
    ...((validators === "both" || validators === "date") && { "Last-Modified": date }),
  };
}

/** If-None-Match counts before If-Modified-Since (RFC 9110, 13.2.2). */
function isKnown(request: IncomingMessage, headers: Readonly<Record<string, string>>): boolean {
  const { "if-none-match": tags, "if-modified-since": since } = request.headers;
  if (tags !== undefined) {
    const etag = headers["ETag"]?.replace(/^W\//, "");
    return etag !== undefined && tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
  }
  const modified = Date.parse(headers["Last-Modified"] ?? "");
  return since !== undefined && modified <= Date.parse(since);
}

function sendTrouble(request: IncomingMessage, response: ServerResponse, trouble: Trouble): void {
  if (trouble.how === "status") {
    sendError(request, response, trouble);
    return;
  }
  if (trouble.how === "reset") {
    request.socket.resetAndDestroy();
    return;
  }
  const half = "<!doctype html><title>Half a page</title><p>It ends in the middle of";
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Length": "5000" });
  response.write(half, () => {
    if (trouble.how === "cut") request.socket.destroySoon();
  });
}

function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  { status, retryAfterSeconds }: { readonly status: number; readonly retryAfterSeconds?: number },
): void {
  const body = Buffer.from(
    `<!doctype html><title>${status}</title><h1>${status}</h1><p>There is nothing to read here.</p>`,
  );
  response.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Length": String(body.length),
    ...(retryAfterSeconds !== undefined && { "Retry-After": String(retryAfterSeconds) }),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

const made = new Map<string, Promise<Uint8Array>>();

/** `/images/figure-3.png`, `photo-1.jpg`, `logo.png`, `icon.png`: real pictures, each made once. undefined: no such picture. */
async function pictureAt(path: string): Promise<SiteDocument | undefined> {
  const [, name = "", type = ""] = /^\/images\/(figure-\d|photo-\d|logo|icon)\.(png|jpg)$/.exec(path) ?? [];
  if (name === "") return undefined;
  let picture = made.get(path);
  if (!picture) {
    picture = draw(name, type);
    made.set(path, picture);
  }
  const bytes = await picture;
  const contentType = type === "jpg" ? "image/jpeg" : "image/png";
  return { kind: "document", contentType, validators: "both", body: () => bytes };
}

/** Noise over a gradient: nothing compresses it away, so it is as large as a photograph of its size. */
async function draw(name: string, type: string): Promise<Uint8Array> {
  const isSmall = name === "logo" || name === "icon";
  const [width, height] = isSmall ? [40, 40] : [320, 240];
  const dice = diceOf(name);
  const tint = [dice(), dice(), dice()];
  const pixels = Buffer.alloc(width * height * 3);
  for (let i = 0; i < pixels.length; i++) {
    const x = (Math.floor(i / 3) % width) / width;
    pixels[i] = Math.floor(200 * x * (tint[i % 3] ?? 0) + 40 * dice());
  }
  const image = sharp(pixels, { raw: { width, height, channels: 3 } });
  return await (type === "jpg" ? image.jpeg() : image.png()).toBuffer();
}
