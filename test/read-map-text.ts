import type { App } from "../src/app/app.ts";
import type { DomainId, SourceId } from "../src/contracts/ids.ts";

/** A map file of a source as it would be written now. */
export async function readMapText(app: App, domainId: DomainId, sourceId: string, name: string): Promise<string> {
  const files = await app.mapFiles(domainId, sourceId as SourceId);
  const file = files.find((one) => one.name.endsWith(`/${name}`));
  if (!file) throw new Error(`source '${sourceId}' has no ${name}`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.content()) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
