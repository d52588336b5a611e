import { Cron } from "croner";

/** Returns what is wrong with a cron expression, to complete "'schedule' …"; "" if it is valid. */
export function findCronProblem(expression: string): string {
  const wanted = `must be five fields (minute, hour, day, month, weekday; UTC), like "0 2 * * *" for 02:00 every day`;
  // A question mark stands for the current time, so its meaning would change with every evaluation.
  if (expression.trim().split(/\s+/).length !== 5 || expression.includes("?")) return wanted;
  try {
    return nextTime(expression, new Date()) ? "" : `never comes; it ${wanted}`;
  } catch {
    return wanted;
  }
}

/** Returns the first time after `since`, or undefined. Uses UTC, which has no summer time that could skip or repeat an hour. */
export function nextTime(expression: string, since: Date): Date | undefined {
  return new Cron(expression, { timezone: "UTC", mode: "5-part" }).nextRun(since) ?? undefined;
}
