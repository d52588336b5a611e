import { outsideTheWeb } from "../odata/odata-error.ts";
import type { RequestScope } from "./resource.ts";

/** A path argument as the `…Path(decodedUrl=…)` functions take it: exactly what it says. */
export function decodedPath(text: string, scope: RequestScope): string {
  const path = text.startsWith("/") ? text : `${scope.site.path}/${text}`;
  const trimmed = path.replace(/\/+$/, "");
  if (!`${trimmed.toLowerCase()}/`.startsWith(`${scope.site.path.toLowerCase()}/`)) throw outsideTheWeb();
  return trimmed;
}

/**
 * A path argument as the older `…Url('…')` functions take it: `%` and `#` are taken as a sign that the text is still
 * encoded, so a name that really contains one cannot be reached this way.
 */
export function legacyPath(text: string, scope: RequestScope): string {
  const withoutFragment = text.includes("#") ? text.slice(0, text.indexOf("#")) : text;
  return decodedPath(decodeIfPossible(withoutFragment), scope);
}

function decodeIfPossible(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
