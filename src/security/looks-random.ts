const HEX = /^[0-9a-f]{32,}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{22,}={0,2}$/;
const CLASSES = [/[a-z]/, /[A-Z]/, /[0-9]/, /./];

/** Whether a secret has 128 bits or more, as hex or base64 write them. Words, and what repeats itself, have fewer than they look. */
export function looksRandom(secret: string): boolean {
  const letters = [...secret.replace(/=+$/, "")];
  if (HEX.test(secret)) return new Set(letters).size >= 8;
  if (!BASE64.test(secret) || new Set(letters).size < 10) return false;
  const classes = letters.map((letter) => CLASSES.findIndex((one) => one.test(letter)));
  // Chance changes between small letters, capitals and digits at two of three places; who writes words does so between them.
  const changes = classes.filter((one, at) => at > 0 && one !== classes[at - 1]).length;
  return changes >= 0.38 * (letters.length - 1);
}
