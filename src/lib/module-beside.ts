import { extname } from "node:path";

/** The module of that name in the folder of another one, to start as a thread or a program: .ts in a checkout, .js in the published package. */
export function moduleBeside(importer: string, name: string): URL {
  return new URL(`./${name}${extname(new URL(importer).pathname)}`, importer);
}
