import { explain, RemoteError } from "../../contracts/errors.ts";
import type { Finding } from "../../contracts/finding.ts";
import { MissingPlaceError } from "./missing-place.ts";

export type Verdict = Omit<Finding, "subject">;

/** One thing to look at. What `look` throws as RemoteError is a problem with that thing. */
export interface Step {
  readonly subject: string;
  /** Looked at even when an earlier step failed, and no reason not to look at the later ones. */
  readonly independent?: boolean;
  look(): Promise<Verdict>;
  /** What can be done about an error; "" when nothing is known. */
  remedy?(error: RemoteError): string;
}

export function fine(detail: string): Verdict {
  return { outcome: "ok", detail, remedy: "" };
}

export function problem(detail: string, remedy: string): Verdict {
  return { outcome: "problem", detail, remedy };
}

export function unknown(detail: string): Verdict {
  return { outcome: "not checked", detail, remedy: "" };
}

/** One finding for each step. After a problem the others cannot be looked at, and say so. */
export async function* walkSteps(steps: readonly Step[]): AsyncGenerator<Finding, void> {
  let failed = "";
  for (const step of steps) {
    const { subject } = step;
    const skipped = failed && !step.independent;
    const verdict = skipped ? unknown(`Cannot be looked at before this is solved: ${failed}.`) : await lookAt(step);
    if (verdict.outcome === "problem" && !step.independent) failed ||= subject;
    yield { subject, ...verdict };
  }
}

async function lookAt(step: Step): Promise<Verdict> {
  try {
    return await step.look();
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const verdict = problem(asSentence(explain(error)), step.remedy?.(error) ?? "");
    return error instanceof MissingPlaceError ? { ...verdict, alternatives: error.alternatives } : verdict;
  }
}

function asSentence(text: string): string {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}
