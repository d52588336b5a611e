/** The last extension in lower case without its dot, "" when there is none: `.gitignore` and `noext` have none. */
export function fileTypeOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : "";
}

/** The name of a document of this type, as services want it that go by it: `Home.aspx.html`, `Report.pdf` for `Report.PDF`. */
export function withFileType(name: string, fileType: string): string {
  if (fileType === "") return name;
  return fileTypeOf(name) === fileType ? `${name.slice(0, name.lastIndexOf("."))}.${fileType}` : `${name}.${fileType}`;
}
