const MAX_BYTES = 128 * 1024 * 1024;

/**
 * Reads what nobody read of a request that is refused: an answer that comes while the other side is still sending looks to
 * it like a broken connection. What is longer than anything we would take is cut off after all.
 */
export async function drainBody(request: Request): Promise<void> {
  if (!request.body || request.bodyUsed) return;
  let bytes = 0;
  try {
    for await (const block of request.body) {
      bytes += block.byteLength;
      if (bytes > MAX_BYTES) return;
    }
  } catch {
    // It broke off by itself; then nobody waits for the answer either.
  }
}
