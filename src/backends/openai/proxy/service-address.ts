import { type OpenAiOptions, readAzureEndpoint } from "../connection.ts";

/** Where requests go, and what the service wants of them. */
export interface ServiceAddress {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** "" where versions are not asked for. */
  readonly apiVersion: string;
  /** true: the model is part of the path, as `/deployments/{model}/chat/completions`. */
  readonly deployments: boolean;
  readonly credentials: Readonly<Record<string, string>>;
}

export function serviceAddress(options: OpenAiOptions): ServiceAddress {
  const { kind, apiKey, apiVersion = "", organization } = options;
  if (kind === "openai") {
    const baseUrl = (options.baseUrl || "https://api.openai.com/v1").replace(/\/+$/, "");
    const credentials = {
      // Servers of one's own often want no key.
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
      ...(organization && { "openai-organization": organization }),
    };
    return { baseUrl, apiVersion: "", deployments: false, credentials };
  }
  const endpoint = readAzureEndpoint(options.baseUrl);
  const credentials = { "api-key": apiKey };
  return apiVersion && apiVersion !== "v1"
    ? { baseUrl: `${endpoint}/openai`, apiVersion, deployments: true, credentials }
    : { baseUrl: `${endpoint}/openai/v1`, apiVersion: "", deployments: false, credentials };
}

/** undefined: the path would lead out of the service's own, by whichever spelling. */
export function addressOf(service: ServiceAddress, path: string, search: string): string | undefined {
  if (!path.startsWith("/") || leadsOut(path)) return undefined;
  const others = search
    .replace(/^\?/, "")
    .split("&")
    .filter((pair) => pair !== "" && !/^api-version(=|$)/i.test(pair));
  const query = service.apiVersion ? [...others, `api-version=${encodeURIComponent(service.apiVersion)}`] : others;
  return `${service.baseUrl}${path}${query.length > 0 ? `?${query.join("&")}` : ""}`;
}

/** However often a server on the way decodes it: a name may have an encoded slash in it, but no step up. */
function leadsOut(path: string): boolean {
  for (let at = path, last = ""; at !== last; ) {
    if (at.split(/[/\\]/).some((part) => part === "." || part === "..")) return true;
    last = at;
    try {
      at = decodeURIComponent(at);
    } catch {
      return true;
    }
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
  return /[\u0000-\u001f\u007f]/.test(decodeURIComponent(path));
}
