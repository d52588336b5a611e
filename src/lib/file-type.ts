/** Returns the last extension in lower case without its dot; "" for `.gitignore` and `noext`. */
export function fileTypeOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : "";
}

/** Returns the name with the extension of this type, for services that go by it: `Home.aspx.html`, `Report.pdf` for `Report.PDF`. */
export function withFileType(name: string, fileType: string): string {
  if (fileType === "") return name;
  return fileTypeOf(name) === fileType ? `${name.slice(0, name.lastIndexOf("."))}.${fileType}` : `${name}.${fileType}`;
}
