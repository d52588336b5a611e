/** Variables that any process needs to start. */
const NEEDED = ["path", "systemroot", "temp", "tmp", "tmpdir", "lang", "tz"];

/** Returns an environment for a process that reads untrusted input: without secrets. `more` names further variables, in lower case. */
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
