/** What any process needs to start. */
const NEEDED = ["path", "systemroot", "temp", "tmp", "tmpdir", "lang", "tz"];

/** An environment for a process that deals with what strangers made: secrets stay outside. `more` names, in lower case, what it needs besides. */
export function passOn(
  environment: Readonly<Record<string, string | undefined>>,
  more: readonly string[] = [],
): Record<string, string> {
  const names = new Set([...NEEDED, ...more]);
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && names.has(name.toLowerCase())) passed[name] = value;
  }
  return passed;
}
