interface FileName {
  readonly domainId: string | undefined;
  readonly sourceId: string | undefined;
  readonly itemId: string | undefined;
}

/**
 * Where people read a file that no browser opens by its own address: its kept text (`version`), or what became of it
 * (`get`). undefined for items of other sources.
 */
export function fileAddress(page: "get" | "version", { domainId, sourceId, itemId }: FileName): string | undefined {
  if (!domainId || !sourceId || !itemId?.startsWith("doc_")) return undefined;
  const query = new URLSearchParams({ domain_id: domainId, source_id: sourceId, document: itemId, format: "html" });
  return `/v2/documents/${page}?${query}`;
}
