/** Something that is opened by whoever needs it first, and then shared. */
export interface OpenedOnce<T> {
  /** A failure is told to those who wait; the next one tries again. */
  open(): Promise<T>;
  /** Nothing to close where nothing was opened. */
  close(): Promise<void>;
}

export function openOnce<T extends { close(): Promise<void> }>(make: () => Promise<T>): OpenedOnce<T> {
  let opening: Promise<T> | undefined;
  return {
    open() {
      opening ??= make().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    async close() {
      await (await opening)?.close();
    },
  };
}
