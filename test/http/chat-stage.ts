import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ComposePace } from "../../src/app/compose.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { crawlRequest } from "../../src/engine/crawl-request.ts";
import { parseDomain } from "../kinds.ts";
import { type OpenServer, openServer } from "./open-server.ts";

/** The product with domains over folders, crawled, behind a real port. */
export interface ChatStage extends OpenServer {
  readonly folder: string;
  /** Writes files below the folder of a domain. */
  write(domain: string, files: Readonly<Record<string, string>>): Promise<void>;
  crawl(domain: string): Promise<void>;
}

type Domains = Readonly<Record<string, Readonly<Record<string, string>>>>;

export async function openChatStage(
  domains: Domains,
  settings: Readonly<Record<string, string>> = {},
  pace: ComposePace = {},
): Promise<ChatStage> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-chat-"));
  const server = await openServer(settings, pace);
  const stage: ChatStage = {
    ...server,
    folder,
    async write(domain, files) {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, domain, path)), { recursive: true });
        await writeFile(join(folder, domain, path), text);
      }
    },
    async crawl(domain) {
      const { start, work } = crawlJob(server.app, crawlRequest(parseDomainId(domain)), { dryRun: false });
      const job = await (await server.app.runner.start({ ...start, endpoint: "test" }, work)).done;
      assert.equal(job.result?.error, "");
    },
    async close() {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  for (const [domain, files] of Object.entries(domains)) {
    await stage.write(domain, files);
    const source = { source_id: "docs", root: join(folder, domain) };
    await server.app.domains.create(parseDomain({ name: domain, folder_sources: [source] }, parseDomainId(domain)));
    await stage.crawl(domain);
  }
  return stage;
}

export const HR = {
  "handbook/_index.md": "---\ntitle: Staff handbook\n---\n\nEverything that employees have to know in one place.\n",
  "handbook/vacation.md":
    "# Vacation\n\nEvery employee has 28 vacation days a year.\n\nUp to five of them carry over to the next year, until the end of March.\n\nPart-time staff get their share of them.\n",
  "handbook/travel.md":
    "# Travel policy\n\nThe limit for a hotel night is 145 euros including breakfast.\n\nIn Zurich the limit is 190 euros.\n\nTrains are preferred below six hours.\n",
  "handbook/sick-leave.md":
    "# Sick leave\n\nWho is ill tells the team lead before nine o'clock.\n\nA doctor's certificate is needed from the fourth day on.\n",
  "handbook/parking.md":
    "# Parking\n\nThe garage below the office has forty places.\n\nThe barrier opens with the badge; guests get a code at the reception.\n",
  "handbook/laptops.md":
    "# Laptops\n\nLaptops are replaced every four years.\n\nA broken one is handed in at the help desk, which lends another on the same day.\n",
  "handbook/pension.md":
    "# Pension plan\n\nThe company pays six percent of the salary into the pension plan.\n\nEmployees may add up to the same amount, free of tax.\n",
  "handbook/training.md":
    "# Training\n\nEvery employee has a training budget of 1,200 euros a year.\n\nRequests go to the team lead, who approves them within a week.\n",
  "handbook/canteen.md":
    "# Canteen\n\nLunch in the canteen costs 6 euros.\n\nVegetarian dishes are served daily; the menu of the week hangs at the entrance.\n",
  "handbook/remote-work.md":
    "# Working from home\n\nThree days of the week may be worked from home.\n\nThe team agrees on the days when all come to the office.\n",
  "handbook/bicycles.md":
    "# Bicycles\n\nThe company leases bicycles for its employees.\n\nThe rate is taken from the salary, and insurance is included.\n",
} as const;

export const IT = {
  "network.md": "# Guest network\n\nThe guest network is called Heron; its password changes every Monday.\n",
  "printers.md": "# Printers\n\nPrinters on the third floor print in colour.\n",
} as const;
