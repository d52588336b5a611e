import { calendar } from "./sections/calendar.ts";
import { canonicals } from "./sections/canonicals.ts";
import { charsets } from "./sections/charsets.ts";
import { copies } from "./sections/copies.ts";
import { deadLinks } from "./sections/dead-links.ts";
import { directives } from "./sections/directives.ts";
import { files } from "./sections/files.ts";
import { longPage } from "./sections/long-page.ts";
import { manual } from "./sections/manual.ts";
import { news } from "./sections/news.ts";
import { packed } from "./sections/packed.ts";
import { redirects } from "./sections/redirects.ts";
import { scripted } from "./sections/scripted.ts";
import { sessions } from "./sections/sessions.ts";
import { sitemap } from "./sections/sitemap.ts";
import { spellings } from "./sections/spellings.ts";
import { unsteady } from "./sections/unsteady.ts";
import { validators } from "./sections/validators.ts";
import type { MakeSection } from "./site-section.ts";

/** Every peculiarity a site can have, by the first segment of its paths. */
export const ALL_SECTIONS = {
  dead: deadLinks,
  redirects,
  canonical: canonicals,
  spelling: spellings,
  shop: sessions,
  calendar,
  unsteady,
  validators,
  directives,
  charsets,
  attic: sitemap,
  news,
  manual,
  app: scripted,
  copies,
  packed,
  files,
  long: longPage,
} as const satisfies Readonly<Record<string, MakeSection>>;

export type SectionName = keyof typeof ALL_SECTIONS;
export const SECTION_NAMES = Object.keys(ALL_SECTIONS) as readonly SectionName[];
