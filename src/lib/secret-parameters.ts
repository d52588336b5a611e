/** Names are compared in lower case, without separators: `privateToken`, `private_token`, `feed[private-token]`. */
const SECRET_NAME = new RegExp(
  [
    "token|jwt|bearer|password|passwd|passphrase|passcode|pwd",
    "^secret|(?:access|api|app|auth|bot|client|consumer|oauth|shared|signing|user|webhook)secret",
    "(?:access|account|admin|api|app|auth|client|consumer|deploy|encryption|feed|functions?|host|master)key(?:id)?",
    "(?:private|rss|secret|security|service|session|shared|signing|storage|subscription)key(?:id)?",
    "^sig|^signature|^sharedaccesssignature",
  ]
    .map((names) => `(?:${names})$`)
    .join("|"),
);
/** Prefixes of parameters in signed addresses of Amazon and Google. */
const SIGNED_PREFIXES = ["x-amz-", "x-goog-"];
/** Page cursors, or ordinary words. */
const HARMLESS_NAME =
  /(?:pag(?:e|ing|ination)|next|prev(?:ious)?|cont(?:inue|inuation)?|resum(?:e|ption)|sync|skip|cursor|scroll|start|delta|list|offset|position|design|syntax|lexer)token$/;
/** Ids of visitor sessions; as a small number, a session of a conference. */
const SESSION_NAME = /(?:^|php|asp|net|user|^j)sess(?:ion)?id|^cfid$|^cftoken$/;
const MAYBE_SESSION_NAME = /^(?:sid|sess|session)$/;
/** A key or a colour, a sign-in code or a country code: the value decides. */
const AMBIGUOUS_NAME =
  /(?:key|code|secret|signature|credentials?)$|^(?:o?auth|authorization|authentication|assertion|cookie|hmac|otp|pass|pin|pw|sas|ticket|tkn|tok)$/;
/** `?forgot_password=1` */
const FLAG = /^(?:[01]|true|false|yes|no|on|off)$/i;
/** Parameters that belong to a signature and change with it; without one they are ordinary names. */
const BESIDE_SIGNATURE: ReadonlySet<string> = new Set([
  ...["sv", "ss", "srt", "sp", "st", "se", "spr", "sip", "sr", "si", "sdd", "ses", "scid", "saoid", "suoid"],
  ...["skoid", "sktid", "skt", "ske", "sks", "skv", "rscc", "rscd", "rsce", "rscl", "rsct"],
  ...["awsaccesskeyid", "googleaccessid", "key-pair-id", "policy", "expires"],
]);

/**
 * Classifies a parameter, both parts as written in an address: a secret, a visitor's session, or (undefined) something that distinguishes
 * pages.
 */
export function secretIn(name: string, value: string): "secret" | "session" | undefined {
  const plain = plainName(name);
  const letters = plain.replaceAll(/[^a-z0-9]/g, "");
  if (value === "" || HARMLESS_NAME.test(letters)) return undefined;
  if (SIGNED_PREFIXES.some((prefix) => plain.startsWith(prefix))) return "secret";
  if (SESSION_NAME.test(letters)) return /^\d{1,6}$/.test(value) ? undefined : "session";
  if (SECRET_NAME.test(letters)) return FLAG.test(value) && /[_-]/.test(plain) ? undefined : "secret";
  if (MAYBE_SESSION_NAME.test(letters)) return looksLikeSecret(unescaped(value)) ? "session" : undefined;
  return AMBIGUOUS_NAME.test(letters) && looksLikeSecret(unescaped(value)) ? "secret" : undefined;
}

/** Returns why an address must not be stored, as the end of a sentence; undefined if it may. Never repeats the secret. */
export function findAddressSecret(url: URL): string | undefined {
  if (url.username !== "" || url.password !== "") return "a user name or password";
  const fragment = url.hash.includes("=") ? pairs(url.hash.slice(1)) : [];
  const found = [...pairs(url.search.slice(1)), ...fragment, ...pathPairs(url.pathname)].find(
    ({ name, value }) => secretIn(name, value) !== undefined,
  );
  if (!found) return undefined;
  const what =
    secretIn(found.name, found.value) === "session" ? "the number of a session" : "a key, token or signature";
  return /^[\w.[\]-]{1,40}$/.test(found.name) ? `${what} ('${found.name}')` : what;
}

/** Returns a query (without `?`) as written, but without secrets. Sessions stay: only the caller knows whether they matter. */
export function withoutSecrets(query: string): string {
  const pieces = pairs(query);
  const isSigned = pieces.some(({ name, value }) => value !== "" && /^sig(?:nature)?$/.test(plainName(name)));
  const isKept = ({ name, value }: Pair): boolean =>
    secretIn(name, value) !== "secret" && !(isSigned && BESIDE_SIGNATURE.has(plainName(name)));
  const kept = pieces.filter(isKept);
  return kept.length === pieces.length ? query : kept.map(({ written }) => written).join("&");
}

/** Removes user name, password and secrets from an address, also from a fragment that is written like a query. */
export function dropSecrets(url: URL): void {
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  // In `ssh://git@host` the user name is part of the address, not a secret.
  if (isWeb || url.password !== "") url.username = "";
  url.password = "";
  const search = withoutSecrets(url.search.slice(1));
  if (search !== url.search.slice(1)) url.search = search;
  const hash = url.hash.includes("=") ? withoutSecrets(url.hash.slice(1)) : url.hash.slice(1);
  if (hash !== url.hash.slice(1)) url.hash = hash;
}

/** Returns an absolute address as written, but without secrets. "" if it is none. */
export function withoutAddressSecrets(address: string): string {
  const url = URL.parse(address);
  if (!url) return "";
  const before = url.href;
  dropSecrets(url);
  return url.href === before ? address : url.href;
}

interface Pair {
  readonly written: string;
  readonly name: string;
  readonly value: string;
}

function pairs(query: string): readonly Pair[] {
  return query.split("&").flatMap((written) => (written === "" ? [] : [pair(written)]));
}

/** `/page;jsessionid=…` */
function pathPairs(pathname: string): readonly Pair[] {
  return [...pathname.matchAll(/;([^/;]+)/g)].map(([, written = ""]) => pair(written));
}

function pair(written: string): Pair {
  const [name = ""] = written.split("=", 1);
  return { written, name, value: written.slice(name.length + 1) };
}

function plainName(written: string): string {
  return unescaped(written).toLowerCase();
}

/** Everything searched for is ASCII, so bytes are characters. */
function unescaped(written: string): string {
  return written.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Prefixes that only credentials of well-known services have. */
const ISSUED =
  /^(?:gh[oprsu]_|github_pat_|gl(?:pat|dt|rt|ft|ptt|cbt|imt)-|xox[a-z]-|AIza|ya29\.|whsec_|shp(?:at|ca|pa|ss)_)[\w.~+/=-]{6,}$|^A(?:KIA|SIA)[A-Z0-9]{12,}$/;
/** Prefixes that words have, too: a part of what follows must look random. */
const MAYBE_ISSUED = /^(?:[sr]k[-_]|pk_|npm_|pypi-|hf_|do[op]_v1_|lin_api_|lk_|SG\.|hvs\.|gsk_|key-|pat-)(?=[\w.-]+$)/;
const JWT = /^eyJ[\w-]{4,}\.[\w-]{4,}(?:\.[\w-]*){0,3}$/;
const AUTHORIZATION = /^(?:basic|bearer|token)[ +]+\S{8,}$/i;
/** People's numbers do not have this many digits. */
const LONG_NUMBER = /^\d{24,}$/;
const LEAST_CHARACTERS = 16;
const LEAST_RANDOM = 14;
/** Runs of lower-case letters, capitals or digits; a word may begin with a capital. */
const RUN = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+/g;

/** Tells whether a value was issued or random, rather than named or numbered by people. Linear in its length. */
function looksLikeSecret(value: string): boolean {
  if ([ISSUED, JWT, AUTHORIZATION, LONG_NUMBER].some((form) => form.test(value))) return true;
  const [prefix] = MAYBE_ISSUED.exec(value) ?? [];
  if (prefix !== undefined && partsOf(value.slice(prefix.length)).some(isOdd)) return true;
  if (value.length < LEAST_CHARACTERS || /[^\w.~+/=|-]/.test(value)) return false;
  const parts = [value.replaceAll("-", "")].filter(isHex);
  const random = parts.length > 0 ? parts : partsOf(value).filter(isRandom);
  const length = lengthOf(random);
  return length >= LEAST_RANDOM && length >= 0.6 * lengthOf(partsOf(value));
}

function partsOf(value: string): readonly string[] {
  return value.split(/[^A-Za-z0-9]+/);
}

function lengthOf(parts: readonly string[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function isOdd(part: string): boolean {
  return part.length >= 8 && runsOf(part) >= (/\d/.test(part) ? 2 : 3);
}

function isHex(part: string): boolean {
  return /^[0-9a-f]{16,}$/i.test(part) && part.length / runsOf(part) < 4 && new Set(part).size >= 6;
}

/** Words, years and versions switch between letters and digits every four characters or later; random text every two or three. */
function isRandom(part: string): boolean {
  const perRun = part.length / runsOf(part);
  if (!/\d/.test(part)) return part.length >= 20 && perRun < 3;
  return runsOf(part) >= 3 && new Set(part).size >= 4 && perRun < (part.length < 24 ? 3.3 : 4.5);
}

function runsOf(part: string): number {
  return part.match(RUN)?.length ?? 0;
}
