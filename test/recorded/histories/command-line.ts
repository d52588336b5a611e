import { mkdir } from "node:fs/promises";
import type { History } from "../history.ts";
import { Share } from "../share.ts";

/** What commands print, and how they end. */
export const commandLineHistory: History = {
  name: "command-line",
  async play(stage) {
    const share = new Share(stage.beside("share"));
    await mkdir(share.root);
    await stage.serve();
    await share.write("gecko.md", "# Gecko\n\nA gecko climbs the wall.");
    await share.write("skink.md", "# Skink\n\nA skink hides below a stone.");
    await share.write("broken.pdf", "no pdf at all");
    stage.act("a domain of one folder");
    const domain = { domain_id: "ZOO", name: "Zoo", folder_sources: [{ source_id: "notes", root: share.root }] };
    await stage.quietly("POST /v2/domains/create", { json: domain });

    stage.act("called wrongly");
    await stage.commands([
      ...[[], ["--help"], ["frob"], ["crawl"], ["crawl", "--help"], ["crawl", "NOBODY"], ["crawl", "../x"]],
      ...[
        ["crawl", "ZOO", "--mode", "fast"],
        ["crawl", "ZOO", "--dryrun"],
        ["crawl", "ZOO", "--source", "nobody"],
      ],
      ...[
        ["query", "ZOO", "gecko"],
        ["generations", "ZOO"],
        ["documents", "NOBODY"],
        ["rename", "ZOO"],
      ],
    ]);
    stage.act("from the first crawl on");
    await stage.commands([
      ...[
        ["crawl", "ZOO", "--dry-run"],
        ["crawl", "ZOO"],
        ["crawl", "ZOO"],
      ],
      ...[
        ["query", "ZOO", "gecko"],
        ["query", "ZOO", "gecko", "--json"],
        ["query", "ZOO", "xyzzy"],
      ],
      ...[
        ["documents", "ZOO"],
        ["documents", "ZOO", "--json"],
        ["documents", "ZOO", "gecko.md"],
      ],
      ...[
        ["documents", "ZOO", "gecko.md", "--version", "current"],
        ["documents", "ZOO", "nobody.md"],
      ],
      ...[["generations", "ZOO"], ["generations", "ZOO", "--json"], ["items"]],
    ]);
    await share.write("gecko.md", "# Gecko\n\nA gecko sleeps on the wall.");
    stage.act("after an edit");
    await stage.commands([
      ...[
        ["download", "ZOO"],
        ["process", "ZOO"],
        ["embed", "ZOO"],
        ["crawl", "ZOO", "--mode", "full"],
      ],
      ...[
        ["documents", "ZOO", "gecko.md", "--difference", "v1..v2"],
        ["generations", "ZOO", "--difference", "1..2"],
      ],
      ...[
        ["generations", "ZOO", "--rollback", "1"],
        ["query", "ZOO", "climbs"],
        ["generations", "ZOO", "--release"],
      ],
      ...[["maintenance", "ZOO", "--dry-run"], ["maintenance"], ["cleanup-metadata", "ZOO"], ["doctor", "ZOO"]],
      ...[["keys"], ["rename", "ZOO", "PARK", "--dry-run"], ["rename", "ZOO", "PARK"], ["query", "PARK", "gecko"]],
      ...[
        ["crawl", "PARK"],
        ["migrate", "--dry-run"],
      ],
    ]);
    await stage.look("PARK");
  },
};
