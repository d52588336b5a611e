/** An error as SharePoint's REST service words it: status, numeric code with exception type, message. */
export class ODataError extends Error {
  override readonly name: string = "ODataError";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function invalidExpression(expression: string): ODataError {
  return new ODataError(
    400,
    "-1, Microsoft.SharePoint.Client.InvalidClientQueryException",
    `The expression "${expression}" is not valid.`,
  );
}

export function unknownField(name: string): ODataError {
  return new ODataError(400, "-1, Microsoft.SharePoint.SPException", `The field or property '${name}' does not exist.`);
}

export function resourceNotFound(name: string): ODataError {
  return new ODataError(
    404,
    "-1, Microsoft.SharePoint.Client.ResourceNotFoundException",
    `Cannot find resource for the request ${name}.`,
  );
}

export function folderOrListNotFound(): ODataError {
  return new ODataError(404, "-2147024894, System.IO.FileNotFoundException", "File Not Found.");
}

export function fileDoesNotExist(path: string): ODataError {
  return new ODataError(404, "-2130575338, Microsoft.SharePoint.SPException", `The file ${path} does not exist.`);
}

export function itemDoesNotExist(): ODataError {
  return new ODataError(
    404,
    "-2130575338, Microsoft.SharePoint.SPException",
    "Item does not exist. It may have been deleted by another user.",
  );
}

export function outsideTheWeb(): ODataError {
  return new ODataError(
    400,
    "-2147024809, System.ArgumentException",
    "Server relative urls must start with SPWeb.ServerRelativeUrl",
  );
}

export function beyondThreshold(): ODataError {
  return new ODataError(
    500,
    "-2147024860, Microsoft.SharePoint.SPQueryThrottledException",
    "The attempted operation is prohibited because it exceeds the list view threshold.",
  );
}

export function emptyProjectedField(name: string): ODataError {
  return new ODataError(500, "-1, Microsoft.SharePoint.SPException", `Cannot get value for projected field ${name}.`);
}

export function tooManyLookups(): ODataError {
  return new ODataError(
    500,
    "-2147024860, Microsoft.SharePoint.SPQueryThrottledException",
    "The query cannot be completed because the number of lookup columns it contains exceeds the lookup column threshold.",
  );
}

export function accessDenied(status: 401 | 403 = 403): ODataError {
  return new ODataError(
    status,
    "-2147024891, System.UnauthorizedAccessException",
    "Access denied. You do not have permission to perform this action or access this resource.",
  );
}
