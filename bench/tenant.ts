import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface RunningTenant {
  readonly url: string;
  readonly siteUrl: string;
  readonly settings: Readonly<Record<string, string>>;
  control(method: string, path: string, body?: object): Promise<Record<string, unknown>>;
  stop(): void;
}

/** In a process of its own, so that neither side pays for the tenant's memory. */
export async function startTenant(certificate: string): Promise<RunningTenant> {
  const cli = fileURLToPath(new URL("../bin/lockstep.mjs", import.meta.url));
  const child = spawn(process.execPath, [cli, "sandbox", "--seed", "empty", "--certificate", certificate]);
  let output = "";
  while (!output.includes("docs/sandbox.md")) {
    const [bytes] = (await once(child.stdout, "data")) as [Buffer];
    output += bytes.toString();
  }
  const url = /listens on (\S+)/.exec(output)?.[1] ?? "";
  const settings = Object.fromEntries(
    [...output.matchAll(/^ {2}(CRAWLER_\w+)=(.*)$/gm)].map(([, name, value]) => [name ?? "", value ?? ""]),
  );
  return {
    url,
    siteUrl: `${url}/sites/demo`,
    settings,
    async control(method, path, body) {
      const response = await fetch(`${url}/_sandbox/${path}`, {
        method,
        ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
      return (await response.json()) as Record<string, unknown>;
    },
    stop: () => void child.kill(),
  };
}
