import type { IncomingMessage, ServerResponse } from "node:http";
import { BadInputError } from "../../contracts/errors.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { SECTION_NAMES, type SectionName } from "./all-sections.ts";
import type { Trouble } from "./site-section.ts";
import type { WebSite } from "./web-site.ts";

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

export async function answerSiteControl(
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
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const text = Buffer.concat(chunks).toString();
  try {
    return (text === "" ? {} : JSON.parse(text)) as JsonObject;
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
