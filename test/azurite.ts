import { once } from "node:events";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import type { AzureAccount } from "../src/lib/azure.ts";
import { leaveAlone, spawnWithUs } from "./spawn-with-us.ts";

export interface Azurite {
  readonly connectionString: string;
  readonly account: AzureAccount;
  stop(): Promise<void>;
}

/** The account that every emulator has; its key is no secret. */
const ACCOUNT = "devstoreaccount1";
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const SERVICES = ["Blob", "Queue", "Table"];

/** Azure Storage in memory, on loopback, with nothing in it. It ends with the process, and does not keep it alive. */
export async function startAzurite({ more = [] }: { readonly more?: readonly string[] } = {}): Promise<Azurite> {
  const program = createRequire(import.meta.url).resolve("azurite/dist/src/azurite.js");
  const flags = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"];
  const ports = SERVICES.flatMap((service) => [`--${service.toLowerCase()}Port`, "0"]);
  const options = { cwd: tmpdir(), signal: "SIGKILL" as const };
  const child = spawnWithUs(process.execPath, [program, ...flags, ...ports, ...more], options);
  child.stderr.pipe(process.stderr, { end: false });
  const endpoints: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    const [, service, url] = /^Azurite (\w+) service is successfully listening at (\S+)/.exec(line) ?? [];
    if (service) endpoints.push(`${service}Endpoint=${url}/${ACCOUNT}`);
    if (endpoints.length === SERVICES.length) break;
  }
  if (endpoints.length < SERVICES.length) throw new Error("start Azurite: it ended");
  leaveAlone(child);
  const connectionString = `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${KEY};${endpoints.join(";")}`;
  return {
    connectionString,
    account: { kind: "connection string", connectionString },
    async stop() {
      const exited = once(child, "exit");
      child.ref();
      child.kill("SIGKILL");
      await exited;
    },
  };
}
