/**
 * Starts a job over its stream, and reads the stream only up to the job's id: hanging up does not stop it.
 * An EventSource would start it again with every reconnect, so that one watches the monitor address instead.
 */
export async function startJob(address) {
  const hangUp = new AbortController();
  const response = await fetch(address, { signal: hangUp.signal });
  if (!response.ok) throw new Error(await readError(response));
  const jobId = await readJobId(response.body);
  hangUp.abort();
  return jobId;
}

export async function readError(response) {
  const { error } = await response.json().catch(() => ({}));
  return error || `The server answered ${response.status}.`;
}

async function readJobId(body) {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const found = /"job_id":\s*"(jb_\d+)"/.exec(text);
    if (found) return found[1];
  }
  throw new Error("The server ended the stream before it named the job.");
}
