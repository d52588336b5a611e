import type { Environment } from "./setting-reader.ts";

/** Names that setups of the older middleware carry, and what became of them. A plain "false" asks for nothing. */
const NOT_SUPPORTED: Readonly<Record<string, string>> = {
  CRAWLER_USE_MANAGED_IDENTITY: "managed identity is not supported; use a certificate",
  CRAWLER_MANAGED_IDENTITY_OBJECT_ID: "managed identity is not supported; use a certificate",
  AZURE_OPENAI_USE_MANAGED_IDENTITY: "managed identity is not supported; use AZURE_OPENAI_API_KEY",
  AZURE_TENANT_ID: "signing in to Azure OpenAI with an app is not supported; use AZURE_OPENAI_API_KEY",
  AZURE_CLIENT_ID: "signing in to Azure OpenAI with an app is not supported; use AZURE_OPENAI_API_KEY",
  AZURE_CLIENT_SECRET: "signing in to Azure OpenAI with an app is not supported; use AZURE_OPENAI_API_KEY",
  AZURE_CLIENT_NAME: "signing in to Azure OpenAI with an app is not supported; use AZURE_OPENAI_API_KEY",
  CRAWLER_SELFTEST_SHAREPOINT_SITE: "the crawler's self-test is not supported",
  CRAWLER_SELFTEST_DOMAIN: "the crawler's self-test is not supported",
  PNP_CLIENT_ID: "PnP is not used",
  CRAWLER_CLIENT_NAME: "the name of the app is not needed",
  CRAWLER_SHAREPOINT_TENANT_NAME: "the site addresses already name the tenant",
  AZURE_OPENAI_USE_KEY_AUTHENTICATION: "Azure OpenAI is always used with AZURE_OPENAI_API_KEY",
};

/** The same, of what is still to come. */
const NOT_YET: Readonly<Record<string, string>> = {
  LOG_QUERIES_AND_RESPONSES: "queries and answers are not logged",
};

const OUR_PREFIXES =
  /^(CRAWLER|OPENAI|AZURE_OPENAI|SEARCH|EMBEDDINGS|DATABASE|SWAP|ENTRA|WEB|CRAWL|IMAGE|REGISTRY|INGEST|TRACKING|FOLDER|MISSING|DELETED|VERSIONS)_/;
/** Two slips of the finger; three would match names that mean something else. */
const NEAR = 2;

/** One sentence for every setting that is set and has no effect. */
export function warnOfUnused(env: Environment, known: ReadonlySet<string>): string[] {
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!value?.trim() || known.has(name)) continue;
    const effect = sayNoEffect(name);
    if (effect !== undefined) {
      if (value.trim().toLowerCase() !== "false") warnings.push(`${name} is set but ${effect}.`);
    } else if (OUR_PREFIXES.test(name)) {
      const meant = nearest(name, known);
      if (meant) warnings.push(`${name} is not a setting; did you mean ${meant}?`);
    }
  }
  return warnings.sort();
}

function sayNoEffect(name: string): string | undefined {
  if (Object.hasOwn(NOT_SUPPORTED, name)) return `has no effect: ${NOT_SUPPORTED[name]}`;
  return Object.hasOwn(NOT_YET, name) ? `has no effect yet: ${NOT_YET[name]}` : undefined;
}

function nearest(name: string, known: ReadonlySet<string>): string | undefined {
  const ranked = [...known]
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  return ranked[0] && ranked[0].distance <= NEAR ? ranked[0].candidate : undefined;
}

/** Characters to insert, delete or replace to get from one text to the other. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
