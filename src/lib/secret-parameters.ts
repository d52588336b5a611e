/** Keys, passwords and signatures by the names they usually have. Too few names are better than one that means a page somewhere. */
const SECRETS: ReadonlySet<string> = new Set([
  ...["access_token", "auth_token", "authtoken", "id_token", "jwt", "oauth_token", "refresh_token", "token"],
  ...["api-key", "api_key", "apikey", "subscription-key", "x-api-key", "client_secret", "secret"],
  ...["passwd", "password", "pwd", "sig", "signature"],
]);
/** What signed addresses of Amazon and Google consist of. */
const SIGNED_PREFIXES = ["x-amz-", "x-goog-"];
/** What comes with a signature and changes with it; without one these are names like any other. */
const BESIDE_SIGNATURE: ReadonlySet<string> = new Set([
  ...["sv", "ss", "srt", "sp", "st", "se", "spr", "sip", "sr", "si", "sdd", "ses", "scid", "saoid", "suoid"],
  ...["skoid", "sktid", "skt", "ske", "sks", "skv", "rscc", "rscd", "rsce", "rscl", "rsct"],
  ...["awsaccesskeyid", "googleaccessid", "key-pair-id", "policy", "expires"],
]);

/** Is what a parameter of this name holds a secret wherever it stands? The name may be written with escapes. */
export function isSecretParameter(name: string): boolean {
  return isSecret(plainName(name));
}

/** A query (without `?`) as it was written, apart from what nobody should write down. */
export function withoutSecrets(query: string): string {
  const pieces = query.split("&").filter((piece) => piece !== "");
  const names = pieces.map((piece) => plainName(piece.split("=", 1)[0] ?? ""));
  const isSigned = names.includes("sig") || names.includes("signature");
  const isKept = (name: string): boolean => !isSecret(name) && !(isSigned && BESIDE_SIGNATURE.has(name));
  const kept = pieces.filter((_, i) => isKept(names[i] ?? ""));
  return kept.length === pieces.length ? query : kept.join("&");
}

/** Takes user name, password and secrets out of an address, in its fragment, too, where that is written like a query. */
export function dropSecrets(url: URL): void {
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  // In `ssh://git@host` it says what is meant, and nothing else.
  if (isWeb || url.password !== "") url.username = "";
  url.password = "";
  const search = withoutSecrets(url.search.slice(1));
  if (search !== url.search.slice(1)) url.search = search;
  const hash = url.hash.includes("=") ? withoutSecrets(url.hash.slice(1)) : url.hash.slice(1);
  if (hash !== url.hash.slice(1)) url.hash = hash;
}

/** An absolute address as it is written, apart from what nobody should write down. "" for what is none. */
export function withoutAddressSecrets(address: string): string {
  const url = URL.parse(address);
  if (!url) return "";
  const before = url.href;
  dropSecrets(url);
  return url.href === before ? address : url.href;
}

function isSecret(name: string): boolean {
  return SECRETS.has(name) || SIGNED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** All names above are ASCII, so that bytes are characters. */
function plainName(written: string): string {
  const decoded = written.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return decoded.toLowerCase();
}
