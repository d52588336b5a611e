const UNKNOWN_AUTHORITY =
  "its certificate is signed by an authority that is not known here; NODE_EXTRA_CA_CERTS names a file of certificates to trust";

/** By code of Node, of undici, and of OpenSSL. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused: no server listens at that address",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed",
  EHOSTUNREACH: "the host is unreachable",
  ENETUNREACH: "the network is unreachable",
  ENOTFOUND: "there is no such host; check the address and the network",
  EAI_AGAIN: "DNS lookup failed; it may work later",
  ETIMEDOUT: "no connection within the time limit",
  UND_ERR_CONNECT_TIMEOUT: "no connection within the time limit",
  UND_ERR_HEADERS_TIMEOUT: "no answer within the time limit",
  UND_ERR_BODY_TIMEOUT: "the answer stopped coming",
  UND_ERR_SOCKET: "the connection was closed before the answer was complete",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet; check the clock of this machine",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "its certificate is signed by itself; NODE_EXTRA_CA_CERTS names a file of certificates to trust",
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "it does not send the certificates between its own and a known authority; NODE_EXTRA_CA_CERTS can name a file with them",
};

const CERTIFICATE = /^(CERT_|ERR_TLS_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/;

/** Returns the code of a system or network error, "" if it has none; if several addresses of a host were tried, that of the first. */
export function errorCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return errorCode(error.errors[0]);
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Returns why there was no response, for people, by error code; undefined for codes of services. */
export function explainNetwork(code: string): string | undefined {
  if (Object.hasOwn(REASONS, code)) return REASONS[code];
  if (/^(ERR_SSL|EPROTO)/.test(code)) return "TLS handshake failed";
  return CERTIFICATE.test(code) ? `its certificate is not trusted (${code})` : undefined;
}

/** Whether another attempt cannot help: the host is unknown, or its certificate is not trusted. */
export function isPermanent(code: string): boolean {
  return code === "ENOTFOUND" || CERTIFICATE.test(code);
}
