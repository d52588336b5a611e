import type { Manifest } from "../../src/contracts/manifest.ts";
import { openManifest } from "../../src/ledgers/manifest/open-manifest.ts";

/** Where the manifest of one tree is, as text can carry it to another process. `folder` is where its `manifest.json` is. */
export interface ManifestPlace {
  readonly folder: string;
  /** As in ManifestOptions. */
  readonly largeFrom?: number;
}

export function openManifestAt(
  { folder, largeFrom }: ManifestPlace,
  { readOnly = false }: { readonly readOnly?: boolean } = {},
): Promise<Manifest> {
  return openManifest(folder, { readOnly, largeFrom });
}
