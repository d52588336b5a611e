import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import { startCompanySite, startSite } from "../sandbox/site/start-site.ts";
import { type Sandbox, startSandbox } from "../sandbox/start-sandbox.ts";
import type { Call, Command } from "./command.ts";
import { untilStopped } from "./open-app.ts";

export const sandboxCommand: Command = {
  name: "sandbox",
  arguments: [],
  options: {
    port: { value: "number", default: "0", help: "0 takes a free one." },
    seed: { value: "name", choices: ["company", "empty"], default: "company", help: "What the tenant holds at first." },
    "site-port": { value: "number", default: "0", help: "Of the web site; 0 takes a free one." },
    "site-pages": {
      value: "number",
      default: "0",
      help: "How many linked pages the web site has, with all that makes crawling hard; 0 for the company's help centre.",
    },
    certificate: {
      value: "file",
      default: "./storage/sandbox.pem",
      help: "Where to write the certificate to sign in with.",
    },
  },
  examples: ["lockstep sandbox --port 9100"],
  async run(call) {
    const port = readWhole(call, "port", 65_535);
    const sitePort = readWhole(call, "site-port", 65_535);
    const pages = readWhole(call, "site-pages", 1_000_000);
    const stopped = untilStopped();
    const sandbox = await startSandbox({ port, seed: call.text("seed") === "empty" ? "empty" : "company" });
    const site = await (pages > 0 ? startSite({ pages, port: sitePort }) : startCompanySite({ port: sitePort }));
    const certificate = await saveCertificate(sandbox, call.text("certificate") ?? "");
    process.stdout.write(
      `The sandbox tenant listens on ${sandbox.url}\n\nSettings for lockstep (environment or .env):\n`,
    );
    for (const [name, value] of Object.entries(sandboxSettings(sandbox, certificate)))
      process.stdout.write(`  ${name}=${value}\n`);
    process.stdout.write(`\nA site to crawl: ${sandbox.siteUrl}  (library '/Shared Documents')\n`);
    process.stdout.write(`A web site to crawl: ${site.origin}  (with WEB_ALLOW_PRIVATE_NETWORKS=true)\n`);
    process.stdout.write(
      `Change their content through ${sandbox.url}/_sandbox and ${site.origin}/_site (see docs/sandbox.md).\n`,
    );
    await stopped;
    await Promise.all([sandbox.stop(), site.close()]);
    return 0;
  },
};

function readWhole(call: Call, name: string, most: number): number {
  const text = call.text(name) ?? "";
  const value = Number(text);
  if (text !== "" && Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new BadInputError(`Invalid value '${text}' for --${name}. Accepted: 0 to ${most}.`);
}

/** Readable only by its owner: it holds a private key, if only one for a simulated tenant. */
export async function saveCertificate(sandbox: Sandbox, file: string): Promise<string> {
  const path = resolve(file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, sandbox.certificatePem, { mode: 0o600 });
  return path;
}

/** Returns the settings for crawling this sandbox. */
export function sandboxSettings(sandbox: Sandbox, certificatePath: string): Record<string, string> {
  return {
    CRAWLER_TENANT_ID: sandbox.tenantId,
    CRAWLER_CLIENT_ID: sandbox.clientId,
    CRAWLER_CLIENT_CERTIFICATE_PEM_FILE: certificatePath,
    CRAWLER_TOKEN_ENDPOINT: sandbox.tokenEndpoint,
  };
}
