import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HISTORIES } from "../test/recorded/all-histories.ts";
import { play, RECORDINGS } from "../test/recorded/play.ts";

const USAGE = `npm run record                      records the histories that have no recording yet
npm run record -- NAME "sentence"   records one anew; the sentence says what changed, and goes into CHANGELOG.md as well

Histories: ${HISTORIES.map(({ name }) => name).join(", ")}`;

process.exitCode = await main(process.argv.slice(2));

async function main([name, sentence = "", ...more]: readonly string[]): Promise<number> {
  const wanted = HISTORIES.filter((one) => (name ? one.name === name : !existsSync(join(RECORDINGS, one.name))));
  if (name && (wanted.length === 0 || more.length > 0))
    return refuse(`There is no history '${[name, sentence, ...more].join(" ")}'.`);
  const isThere = wanted.some((one) => existsSync(join(RECORDINGS, one.name)));
  if (isThere && !/^\S+( \S+){3,}$/.test(sentence.trim())) {
    return refuse(`'${name}' is recorded already. Say in a sentence why users see something else now.`);
  }
  for (const history of wanted) {
    const folder = join(RECORDINGS, history.name);
    const files = await play(history);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    for (const [file, text] of files) await writeFile(join(folder, file), text);
    console.log(`${history.name}: ${files.size} files${sentence && `. For CHANGELOG.md: ${sentence}`}`);
  }
  if (wanted.length === 0) console.log(`Every history has its recording.\n\n${USAGE}`);
  return 0;
}

function refuse(reason: string): number {
  console.error(`${reason}\n\n${USAGE}`);
  return 2;
}
