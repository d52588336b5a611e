import { BadInputError } from "../../contracts/errors.ts";
import type { Endpoint, Format, Taken } from "./endpoint.ts";
import type { Parameter, Parameters } from "./parameters.ts";
import { readBody } from "./read-body.ts";

/** Everything a request said, checked against what the endpoint declares. Throws BadInputError at the first thing wrong. */
export async function readArguments(
  endpoint: Endpoint,
  request: Request,
  params: URLSearchParams,
): Promise<Taken<Parameters, Parameters>> {
  const query = readQuery(params);
  query.delete("format");
  const args = readGroup(endpoint, endpoint.query, query, "parameter");
  if (!endpoint.body || request.method === "GET") return { ...args, body: {} };
  return { ...args, body: readGroup(endpoint, endpoint.body, await readBody(request), "field") };
}

/** The format asked for, or the default; refuses what the endpoint does not have. */
export function readFormat(endpoint: Endpoint, params: URLSearchParams): Format {
  const asked = params.get("format");
  const format = asked === null ? endpoint.formats[0] : endpoint.formats.find((known) => known === asked);
  if (format === undefined) throw new BadInputError(`Format '${shorten(asked ?? "")}' not supported.`);
  return format;
}

function readQuery(params: URLSearchParams): Map<string, unknown> {
  const query = new Map<string, unknown>();
  for (const [name, value] of params) {
    if (query.has(name)) throw new BadInputError(`'${shorten(name)}' is given more than once.`);
    query.set(name, value);
  }
  return query;
}

function readGroup(
  endpoint: Endpoint,
  parameters: Parameters,
  given: ReadonlyMap<string, unknown>,
  noun: "parameter" | "field",
): Record<string, unknown> {
  if (endpoint.unknownParameters === "refused") refuseUnknown(parameters, given, noun);
  const args: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(parameters)) args[name] = readOne(name, parameter, given.get(name));
  return args;
}

function refuseUnknown(parameters: Parameters, given: ReadonlyMap<string, unknown>, noun: "parameter" | "field"): void {
  const accepted = Object.keys(parameters);
  for (const name of given.keys()) {
    if (accepted.includes(name)) continue;
    const names = noun === "parameter" ? [...accepted, "format"] : accepted;
    throw new BadInputError(`Unknown ${noun} '${shorten(name)}'. Accepted: ${names.join(", ")}.`);
  }
}

function readOne(name: string, parameter: Parameter<unknown>, raw: unknown): unknown {
  if (parameter.presence === "required" && (raw === undefined || raw === "")) {
    throw new BadInputError(parameter.missing ?? `Missing '${name}'.`);
  }
  if (raw === undefined) return parameter.fallback;
  const value = parameter.value.read(raw);
  if (value !== undefined) return value;
  // Forms send every field, filled in or not. But `dry_run=` is refused: it must not mean "no" by accident.
  if (raw === "" && parameter.fallback === undefined) return undefined;
  const got = typeof raw === "object" ? JSON.stringify(raw) : String(raw);
  throw new BadInputError(`'${name}' must be ${parameter.value.accepts}; got '${shorten(got)}'.`);
}

function shorten(value: string): string {
  return value.length > 80 ? `${value.slice(0, 80)}…` : value;
}
