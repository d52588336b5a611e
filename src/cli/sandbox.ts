import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import { type Sandbox, startSandbox } from "../sandbox/start-sandbox.ts";
import type { Command } from "./command.ts";
import { untilStopped } from "./open-app.ts";

export const sandboxCommand: Command = {
  name: "sandbox",
  arguments: [],
  summary: "Runs a simulated SharePoint tenant, to try, develop and test without a real one.",
  options: {
    port: { value: "number", default: "0", help: "0 takes a free one." },
    seed: { value: "name", choices: ["company", "empty"], default: "company", help: "What the tenant holds at first." },
    certificate: {
      value: "file",
      default: "./storage/sandbox.pem",
      help: "Where to write the certificate to sign in with.",
    },
  },
  examples: ["lockstep sandbox --port 9100"],
  async run(call) {
    const port = Number(call.text("port"));
    if (!Number.isInteger(port) || port < 0 || port > 65535) {
      throw new BadInputError(`Invalid value '${call.text("port")}' for --port. Accepted: 0 to 65535.`);
    }
    const stopped = untilStopped();
    const sandbox = await startSandbox({ port, seed: call.text("seed") === "empty" ? "empty" : "company" });
    const certificate = await saveCertificate(sandbox, call.text("certificate") ?? "");
    process.stdout.write(
      `The sandbox tenant listens on ${sandbox.url}\n\nSettings for lockstep (environment or .env):\n`,
    );
    for (const [name, value] of Object.entries(sandboxSettings(sandbox, certificate)))
      process.stdout.write(`  ${name}=${value}\n`);
    process.stdout.write(`\nA site to crawl: ${sandbox.siteUrl}  (library '/Shared Documents')\n`);
    process.stdout.write(`Change its content through ${sandbox.url}/_sandbox (see docs/sandbox.md).\n`);
    await stopped;
    await sandbox.stop();
    return 0;
  },
};

/** Readable by its owner alone: it holds a private key, if only one for a simulated tenant. */
export async function saveCertificate(sandbox: Sandbox, file: string): Promise<string> {
  const path = resolve(file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, sandbox.certificatePem, { mode: 0o600 });
  return path;
}

/** What makes lockstep crawl this sandbox. */
export function sandboxSettings(sandbox: Sandbox, certificatePath: string): Record<string, string> {
  return {
    CRAWLER_TENANT_ID: sandbox.tenantId,
    CRAWLER_CLIENT_ID: sandbox.clientId,
    CRAWLER_CLIENT_CERTIFICATE_PEM_FILE: certificatePath,
    CRAWLER_TOKEN_ENDPOINT: sandbox.tokenEndpoint,
  };
}
