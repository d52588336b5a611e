import { createRequire } from "node:module";

const load = createRequire(import.meta.url);

/**
 * Loads a package on first use, because few commands need it. `T` is `typeof import(name)`. For a package in two module formats, name the
 * module that others import, or its classes exist twice.
 */
export function later<T>(name: string): () => T {
  let loaded: T | undefined;
  return () => {
    loaded ??= load(name) as T;
    return loaded;
  };
}
