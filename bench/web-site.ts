import { startSite } from "../src/sandbox/site/start-site.ts";

/** The site in a process of its own: neither side pays for its memory. */
const { origin } = await startSite({ pages: Number(process.env["BENCH_PAGES"]), sections: [] });
process.stdout.write(`listens on ${origin}\n`);
