import type { Endpoint } from "./endpoint.ts";
import type { Parameters } from "./parameters.ts";

/** The text a bare GET answers: where the developer is, is where the documentation is. */
export function describeEndpoint(endpoint: Endpoint, below: readonly Endpoint[], origin: string): string {
  const [byDefault, ...others] = endpoint.formats;
  const blocks = [
    endpoint.path,
    endpoint.description,
    facts([
      ["Method", endpoint.methods.join(", ")],
      ["Format", [`${byDefault} (default)`, ...others].join(", ")],
      ["Changes", endpoint.changes ?? "Nothing."],
    ]),
    parameterBlock("Query parameters", endpoint.query),
    endpoint.body ? parameterBlock("Body fields (JSON or form)", endpoint.body) : "",
    exampleBlock(endpoint, origin),
    below.length > 0 ? `Also here\n${indexLines(below)}` : "",
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

/** All endpoints, one line each. */
export function describeAll(endpoints: readonly Endpoint[], origin: string): string {
  const intro = `Open an endpoint without parameters to read what it takes, for example ${origin}${endpoints[0]?.path ?? "/"}`;
  return `lockstep: endpoints\n\n${intro}\n\n${indexLines(endpoints)}\n`;
}

function indexLines(endpoints: readonly Endpoint[]): string {
  return facts(endpoints.map((one) => [`${one.methods.join(", ")} ${one.path}`, firstSentence(one.description)]));
}

function parameterBlock(title: string, parameters: Parameters): string {
  const rows = Object.entries(parameters).map(([name, parameter]): [string, string] => {
    const standing =
      parameter.presence === "required"
        ? "Required."
        : parameter.fallback === undefined
          ? "Optional."
          : `Default: ${String(parameter.fallback)}.`;
    return [name, `${parameter.description} Must be ${parameter.value.accepts}. ${standing}`];
  });
  return rows.length > 0 ? `${title}\n${facts(rows)}` : "";
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

function firstSentence(description: string): string {
  return description.match(/^.*?\.(?=\s|$)/)?.[0] ?? description;
}
