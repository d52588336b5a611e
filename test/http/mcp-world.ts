import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ask } from "./ask.ts";
import { type OpenServer, openServer } from "./open-server.ts";

/** A server with domains of folders. */
export interface McpWorld extends OpenServer {
  /** The folder of each domain. */
  folder(domain: string): string;
  write(domain: string, path: string, text: string): Promise<void>;
  remove(domain: string, path: string): Promise<void>;
  /** Makes a domain of the folder, and crawls it. */
  create(domain: string): Promise<void>;
  crawl(domain: string): Promise<void>;
}

export const TRAVEL = "# Travel policy\n\nHotels cost up to 120 euros a night.\n\n## Trains\n\nSecond class.\n";
export const HOLIDAYS = "# Holidays\n\nEverybody has 30 vacation days a year.\n";

/** Two domains, HR and IT, crawled. */
export async function openMcpWorld(settings: Readonly<Record<string, string>> = {}): Promise<McpWorld> {
  const root = await mkdtemp(join(tmpdir(), "lockstep-mcp-"));
  const server = await openServer(settings);
  const world: McpWorld = {
    ...server,
    folder: (domain) => join(root, domain),
    async close() {
      await server.close();
      await rm(root, { recursive: true, force: true });
    },
    async write(domain, path, text) {
      const file = join(world.folder(domain), path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    },
    remove: (domain, path) => rm(join(world.folder(domain), path)),
    async create(domain) {
      const json = {
        domain_id: domain,
        name: `About ${domain}`,
        folder_sources: [{ source_id: "notes", root: world.folder(domain) }],
      };
      const created = await ask(server.url, "POST /v2/domains/create", { json });
      if (created.status !== 200) throw new Error(created.text);
      await world.crawl(domain);
    },
    async crawl(domain) {
      const reply = await ask(server.url, `GET /v2/crawler/crawl?domain_id=${domain}&mode=incremental&format=json`);
      if (reply.status !== 200 || !reply.text.startsWith(`{"ok":true`)) throw new Error(reply.text);
    },
  };
  try {
    await fill(world);
    return world;
  } catch (error) {
    await world.close();
    throw error;
  }
}

async function fill(world: McpWorld): Promise<void> {
  await world.write("HR", "travel.md", TRAVEL);
  await world.write("HR", "holidays.md", HOLIDAYS);
  await world.write("IT", "laptops.md", "# Laptops\n\nHotels have bad networks: take a cable.\n");
  for (const domain of ["HR", "IT"]) await world.create(domain);
}
