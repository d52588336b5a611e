/** How what is issued by well-known services begins, and nothing else does. */
const ISSUED =
  /^(?:gh[oprsu]_|github_pat_|gl(?:pat|dt|rt|ft|ptt|cbt|imt)-|xox[a-z]-|AIza|ya29\.|whsec_|shp(?:at|ca|pa|ss)_)[\w.~+/=-]{6,}$|^A(?:KIA|SIA)[A-Z0-9]{12,}$/;
/** How words begin, too: a part of what follows must be one that nobody writes. */
const MAYBE_ISSUED = /^(?:[sr]k[-_]|pk_|npm_|pypi-|hf_|do[op]_v1_|lin_api_|lk_|SG\.|hvs\.|gsk_|key-|pat-)(?=[\w.-]+$)/;
const JWT = /^eyJ[\w-]{4,}\.[\w-]{4,}(?:\.[\w-]*){0,3}$/;
const AUTHORIZATION = /^(?:basic|bearer|token)[ +]+\S{8,}$/i;
/** Nothing that people number has so many digits. */
const LONG_NUMBER = /^\d{24,}$/;
const LEAST_CHARACTERS = 16;
const LEAST_RANDOM = 14;
/** Small letters, capitals or digits in a row, a capital in front of a word included. */
const RUN = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+/g;

/** Was a value issued or drawn at random, rather than named or numbered by people? Takes time that grows with its length alone. */
export function looksLikeSecret(value: string): boolean {
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

/** Words, years and versions change between letters and digits every four characters or later; chance does every two or three. */
function isRandom(part: string): boolean {
  const perRun = part.length / runsOf(part);
  if (!/\d/.test(part)) return part.length >= 20 && perRun < 3;
  return runsOf(part) >= 3 && new Set(part).size >= 4 && perRun < (part.length < 24 ? 3.3 : 4.5);
}

function runsOf(part: string): number {
  return part.match(RUN)?.length ?? 0;
}
