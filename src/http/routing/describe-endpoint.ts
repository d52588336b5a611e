import type { Role } from "../../contracts/access.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Parameter, Parameters } from "./parameters.ts";

const ROLE_WORDS: Readonly<Record<Role, string>> = {
  read: "read: everyone who may come in.",
  operate: "operate, or admin.",
  admin: "admin.",
};

/** Returns the text for a GET without parameters: the documentation is at the address itself. */
export function describeEndpoint(endpoint: Endpoint, below: readonly Endpoint[], origin: string): string {
  const [byDefault, ...others] = endpoint.formats;
  const blocks = [
    endpoint.path,
    endpoint.description,
    facts([
      ["Method", endpoint.methods.join(", ")],
      ["Format", [`${byDefault} (default)`, ...others].join(", ")],
      ["Changes", endpoint.changes ?? "Nothing."],
      ["Role", ROLE_WORDS[endpoint.role]],
    ]),
    parameterBlock("Query parameters", endpoint.query),
    endpoint.body ? parameterBlock("Body fields (JSON or form)", endpoint.body) : "",
    exampleBlock(endpoint, origin),
    below.length > 0 ? `Also here\n${indexLines(below)}` : "",
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

/** Lists all endpoints by router, one line each. */
export function describeAll(endpoints: readonly Endpoint[], origin: string): string {
  const example = `${origin}${endpoints[0]?.path ?? "/"}`;
  const routers = Map.groupBy(endpoints, ({ path }) => routerOf(path));
  const blocks = [
    "lockstep: endpoints",
    `Open an endpoint without parameters to read what it takes, for example ${example}\nThe same for programs: ${origin}/openapi.json`,
    ...[...routers].map(([router, group]) => `${router}\n${indexLines(group)}`),
    "openai\n  /openai/v1  The OpenAI protocol: files, vector stores, search, responses.",
  ];
  return `${blocks.join("\n\n")}\n`;
}

/** Returns the group of an endpoint: `/v2/inventory/files/get` belongs to inventory. */
export function routerOf(path: string): string {
  const router = path.split("/").find((part) => part !== "" && part !== "v2");
  // `/query2` is `/query` by GET.
  return router?.replace(/\d+$/, "") ?? path;
}

function indexLines(endpoints: readonly Endpoint[]): string {
  return facts(endpoints.map((one) => [`${one.methods.join(", ")} ${one.path}`, firstSentence(one.description)]));
}

function parameterBlock(title: string, parameters: Parameters): string {
  const rows = Object.entries(parameters).map(([name, parameter]): [string, string] => {
    const { value, description } = parameter;
    const limits = value.accepts === "text" ? "" : ` Must be ${value.accepts}.`;
    return [name, `${description}${limits} ${standing(parameter)}`];
  });
  return rows.length > 0 ? `${title}\n${facts(rows)}` : "";
}

function standing({ presence, fallback }: Parameter<unknown>): string {
  if (presence === "required") return "Required.";
  return fallback === undefined || fallback === "" ? "Optional." : `Default: ${String(fallback)}.`;
}

function exampleBlock(endpoint: Endpoint, origin: string): string {
  if (endpoint.examples.length === 0) return "";
  const lines = endpoint.examples.map((example) =>
    example.startsWith("?") ? `${origin}${endpoint.path}${example}` : example.replaceAll("{origin}", origin),
  );
  return `Examples\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

function facts(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join("\n");
}

export function firstSentence(description: string): string {
  return description.match(/^.*?\.(?=\s|$)/)?.[0] ?? description;
}
