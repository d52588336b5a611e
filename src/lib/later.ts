import { createRequire } from "node:module";

const load = createRequire(import.meta.url);

/**
 * A package that few commands need: whoever uses it first loads it. `T` is `typeof import(name)`. Of a package that comes in two forms, name the
 * module that others import, or its classes are there twice.
 */
export function later<T>(name: string): () => T {
  let loaded: T | undefined;
  return () => {
    loaded ??= load(name) as T;
    return loaded;
  };
}
