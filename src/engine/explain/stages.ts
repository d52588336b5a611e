/** A document on its way from the source to a search. */
export interface Stage {
  readonly name: "source" | "mirror" | "index" | "search";
  readonly outcome: "ok" | "problem" | "not reached";
  readonly detail: string;
}

export function fine(name: Stage["name"], detail: string): Stage {
  return { name, outcome: "ok", detail };
}

export function problem(name: Stage["name"], detail: string): Stage {
  return { name, outcome: "problem", detail };
}

export function notReached(name: Stage["name"]): Stage {
  return { name, outcome: "not reached", detail: "It did not get this far." };
}

export function because(reason: string): string {
  return reason ? `: ${reason.replace(/\.$/, "")}` : "";
}

/** `2026-01-15 14:25` */
export function shown(at: string): string {
  return at ? `${at.slice(0, 16).replace("T", " ")} UTC` : "at an unknown time";
}

/** The stages of a document that its source does not have. */
export function endsAtSource(detail: string): readonly Stage[] {
  return [problem("source", detail), notReached("mirror"), notReached("index"), notReached("search")];
}
