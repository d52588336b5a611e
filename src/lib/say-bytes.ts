/** As people say it: 1.5 MB. */
export function sayBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const units = ["KB", "MB", "GB"];
  const power = Math.min(units.length, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(bytes < 10 * 1024 ** power ? 1 : 0)} ${units[power - 1]}`;
}
