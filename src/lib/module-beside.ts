import { extname } from "node:path";

/** Returns the URL of a module beside another one, to start it as a thread or program: .ts in a checkout, .js in the published package. */
export function moduleBeside(importer: string, name: string): URL {
  return new URL(`./${name}${extname(new URL(importer).pathname)}`, importer);
}
