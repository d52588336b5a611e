const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody answers at that address (connection refused)",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed",
  EHOSTUNREACH: "there is no way to that host",
  ENETUNREACH: "there is no way to that network",
  ENOTFOUND: "there is no such host; check the address and the network",
  EAI_AGAIN: "the host name could not be looked up just now",
  ETIMEDOUT: "no connection within the time limit",
  UND_ERR_CONNECT_TIMEOUT: "no connection within the time limit",
  UND_ERR_SOCKET: "the connection was closed before an answer came",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet; check the clock of this machine",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "its certificate is signed by itself; NODE_EXTRA_CA_CERTS names a file of certificates to trust",
  SELF_SIGNED_CERT_IN_CHAIN:
    "its certificate is signed by an authority that is not known here; NODE_EXTRA_CA_CERTS names a file of certificates to trust",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "its certificate is signed by an authority that is not known here; NODE_EXTRA_CA_CERTS names a file of certificates to trust",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "it does not send the certificates between its own and a known authority; NODE_EXTRA_CA_CERTS can name a file with them",
};

const NOT_HTTP = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES)/;
const BROKEN_LINE = /^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/;

/** It broke before an answer began: so it is when a server closes an idle connection just as it is used again, and a new one helps. */
export function isBrokenLine(error: unknown): boolean {
  return BROKEN_LINE.test(codeOf(error));
}

/** A sentence for people. Nothing of the address but its host is repeated: the rest may hold secrets. */
export function describeTrouble(host: string, error: unknown): string {
  const code = codeOf(error);
  const isGarbled = NOT_HTTP.test(code) || (error instanceof Error && error.name === "HTTPParserError");
  if (isGarbled) return `${host} does not answer as a web server does (${code || "no HTTP"})`;
  const said = /^(ERR_SSL|EPROTO)/.test(code) ? "a secure connection could not be agreed on" : REASONS[code];
  return `reach ${host}: ${said ?? (error instanceof Error ? error.message : String(error))}`;
}

/** Where several addresses of a host were tried, the code of the first failure. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
