import { styleText } from "node:util";
import { ConfigError } from "../app/config.ts";
import { type DomainId, parseDomainId } from "../contracts/ids.ts";
import type { PlacedFinding } from "../engine/doctor.ts";
import { type Command, LATE_EXIT_CODE } from "./command.ts";
import { exitCodeOf, openApp, type StopSignal, untilStopped } from "./open-app.ts";

export const doctorCommand: Command = {
  name: "doctor",
  arguments: ["[DOMAIN]"],
  options: { json: { help: "Prints the findings as JSON, one on each line." } },
  examples: ["lockstep doctor", "lockstep doctor DEMO"],
  async run(call) {
    const [name] = call.positionals;
    const domainId = name === undefined ? undefined : parseDomainId(name);
    const show = call.flag("json") ? showJson : createReport();
    return await runDoctor(domainId, show);
  },
};

type Show = (finding: PlacedFinding) => void;

/** Returns the exit code: 0 without problems, 4 if only a verification is late, 1 otherwise. */
async function runDoctor(domainId: DomainId | undefined, show: Show): Promise<number> {
  let stoppedBy: StopSignal | undefined;
  const stopping = new AbortController();
  void untilStopped().then((signal) => {
    stoppedBy = signal;
    stopping.abort();
  });
  let [problems, late] = [0, 0];
  try {
    for await (const finding of findings(domainId, stopping.signal)) {
      if (finding.outcome === "problem") problems += 1;
      if (finding.outcome === "late") late += 1;
      show(finding);
    }
  } catch (error) {
    if (stoppedBy) return exitCodeOf(stoppedBy);
    throw error;
  }
  return problems > 0 ? 1 : late > 0 ? LATE_EXIT_CODE : 0;
}

/** Invalid settings are findings, too: that is what the doctor is called for. */
async function* findings(domainId: DomainId | undefined, signal: AbortSignal): AsyncGenerator<PlacedFinding, void> {
  let app: Awaited<ReturnType<typeof openApp>>;
  try {
    app = await openApp({}, "read");
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = "Correct it in the environment or in .env; .env.example explains each setting.";
    const place = { subject: "Settings", outcome: "problem", remedy, domainId: "", sourceId: "" } as const;
    for (const detail of error.problems) yield { ...place, detail };
    return;
  }
  try {
    yield* app.examine(domainId, signal);
  } finally {
    await app.close();
  }
}

function showJson({ domainId, sourceId, ...finding }: PlacedFinding): void {
  process.stdout.write(`${JSON.stringify({ domain_id: domainId, source_id: sourceId, ...finding })}\n`);
}

const MARKS = {
  ok: ["✓", "green"],
  problem: ["✗", "red"],
  late: ["!", "yellow"],
  "not checked": ["–", "gray"],
} as const;

/** Prints findings under their domain and source, as they come. */
function createReport(): Show {
  let place = "";
  return (finding) => {
    const now = [finding.domainId, finding.sourceId].filter(Boolean).join(" › ");
    if (now !== place) process.stdout.write(`\n${paint("bold", now)}\n`);
    place = now;
    const [mark, color] = MARKS[finding.outcome];
    process.stdout.write(`${paint(color, mark)} ${finding.subject}: ${finding.detail}\n`);
    if (finding.remedy) process.stdout.write(`${finding.remedy.replaceAll(/^/gm, "    ")}\n`);
  };
}

/** Colours only on a terminal, and not if NO_COLOR forbids them. */
function paint(style: "bold" | "green" | "red" | "yellow" | "gray", text: string): string {
  return styleText(style, text, { stream: process.stdout });
}
