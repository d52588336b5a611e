import type { SourceConfig } from "../contracts/domain.ts";
import type { Finding } from "../contracts/finding.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { SourceOptions, SourceRun } from "../contracts/source-kind.ts";
import { examine, examineOneSource, type PlacedFinding } from "../engine/doctor.ts";
import type { EngineParts } from "../engine/engine-parts.ts";
import type { Config } from "./config.ts";
import { examineIndex, type IndexFacts } from "./examine-index.ts";
import { examineInstallation } from "./examine-installation.ts";
import { openSharePoint } from "./open-sharepoint.ts";
import type { OpenedWeb } from "./open-web.ts";
import { listKinds, type TreeConnections } from "./source-kinds.ts";

interface Examined {
  readonly config: Config;
  readonly facts: IndexFacts;
  readonly parts: EngineParts;
  readonly web: OpenedWeb;
  readonly trees: TreeConnections;
  readonly readers: () => Finding;
}

/** With a connection of its own: a fresh token tells what is consented to now, and whoever asks is waiting. */
export async function* examineWith(
  { config, facts, parts, web, trees, readers }: Examined,
  what: DomainId | SourceConfig | undefined,
  signal: AbortSignal,
): AsyncGenerator<PlacedFinding, void> {
  const sharepoint = openSharePoint(config, {
    // Whoever is typing a source wants an answer before the next key.
    retry: typeof what === "object" ? { attempts: 1, patienceMs: 5_000 } : { attempts: 2, patienceMs: 20_000 },
  });
  // Who names a folder that is no source yet, or changes one, is told what saving it would say.
  const asked =
    typeof what === "object" ? { ...trees, roots: { ...trees.roots, forSources: trees.roots.forChanges } } : trees;
  const kinds = listKinds(() => ({ ...parts, sharepoint, web, trees: asked }));
  const doctorParts = {
    ...parts,
    openSource: (run: SourceRun, options: SourceOptions) =>
      (kinds.find(run.config.sourceType) ?? run.config.kind).open(run, options),
    async *examineInstallation(needs: { readonly sharepoint: boolean }) {
      yield* examineInstallation(config, needs);
      yield* examineIndex(facts);
      // To start a browser takes a while.
      if (typeof what !== "object") yield* web.examine();
      if (typeof what !== "object") yield* trees.roots.examine();
      if (typeof what !== "object") yield readers();
    },
  };
  try {
    if (typeof what === "object") yield* examineOneSource(what, doctorParts, signal);
    else yield* examine(what, doctorParts, signal);
  } finally {
    await sharepoint.close();
  }
}
