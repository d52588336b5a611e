import { NotFoundError } from "../contracts/errors.ts";
import type { DomainId, SourceId } from "../contracts/ids.ts";
import type { EngineParts } from "./engine-parts.ts";

/** A map file as the ledger would write it now. */
export interface MapFile {
  /** Below `crawler/<DOMAIN_ID>/`, as reports have it: `01_files/docs/files_map.csv`. */
  readonly name: string;
  content(): AsyncIterable<Uint8Array>;
}

/** The map files of the domain's sources, or of those with this id. NotFoundError when it has none. */
export async function mapFiles(
  domainId: DomainId,
  sourceId: SourceId | undefined,
  { domains, ledgers }: Pick<EngineParts, "domains" | "ledgers">,
): Promise<readonly MapFile[]> {
  const { sources } = await domains.get(domainId);
  const wanted = sources.filter((config) => sourceId === undefined || config.sourceId === sourceId);
  if (wanted.length === 0) {
    throw new NotFoundError(
      sourceId === undefined
        ? `Domain '${domainId}' has no sources.`
        : `Domain '${domainId}' has no source '${sourceId}'.`,
    );
  }
  // Open once before the first byte of the response, so that a damaged ledger is reported as an error.
  for (const config of wanted) await (await ledgers.open({ domainId, config }, { readOnly: true })).close();
  return wanted.flatMap((config) =>
    ledgers.maps({ domainId, config }).map(({ name, content }) => ({
      name: `${config.kind.folder}/${config.sourceId}/${name}`,
      content,
    })),
  );
}
