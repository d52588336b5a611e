import { identifyFile } from "../../detect/web/file-identity.ts";
import { type AddParts, addItem } from "./add-item.ts";
import type { OpenIngestParts } from "./create-ingest.ts";
import type { AddFileRequest, Registered } from "./ingest.ts";

const SIGNATURE_DROPPED =
  "What follows the question mark in its address was dropped: a signature is neither kept nor used. The blob is read with INGEST_BLOB_CREDENTIAL, with the managed identity of the machine, or as anybody reads it.";

/** As an address is registered; the file is not looked at, but must lie where files may be read. */
export async function addFile(
  { source, domainId, force }: AddFileRequest,
  parts: AddParts & Pick<OpenIngestParts, "files">,
  options: { readonly dryRun: boolean },
): Promise<Registered> {
  const identity = identifyFile(source);
  await parts.files.check(identity.foundSource);
  const request = { domainId, force, title: "", includeImages: false };
  const isSigned = /^\s*https?:/i.test(source) && source.includes("?");
  return { ...(await addItem(identity, request, parts, options)), note: isSigned ? SIGNATURE_DROPPED : "" };
}
