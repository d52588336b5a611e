import { Cron } from "croner";

/** What is wrong with a cron expression, to complete "'schedule' …"; "" when nothing is. */
export function findCronProblem(expression: string): string {
  const wanted = `must be five fields (minute, hour, day, month, weekday; UTC), like "0 2 * * *" for 02:00 every day`;
  // A question mark stands for the moment at which it is read, so it would mean something else at every look.
  if (expression.trim().split(/\s+/).length !== 5 || expression.includes("?")) return wanted;
  try {
    return nextTime(expression, new Date()) ? "" : `never comes; it ${wanted}`;
  } catch {
    return wanted;
  }
}

/** The first time after `since`; undefined when there is none. In UTC, which has no summer time that could skip or repeat an hour. */
export function nextTime(expression: string, since: Date): Date | undefined {
  return new Cron(expression, { timezone: "UTC", mode: "5-part" }).nextRun(since) ?? undefined;
}
