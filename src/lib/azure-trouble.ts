import { BadInputError, RemoteError } from "../contracts/errors.ts";
import { explainNetwork } from "./network-trouble.ts";

/** What Azure Storage said: `status` of the answer, if there was one, and its own word for it. */
export interface AzureAnswer {
  readonly status: number | undefined;
  /** `PopReceiptMismatch`, `ENOTFOUND`; "" when there is none. */
  readonly code: string;
}

export function azureAnswer(error: unknown): AzureAnswer {
  const { statusCode, code, details } = (error ?? {}) as {
    statusCode?: unknown;
    code?: unknown;
    details?: { errorCode?: unknown };
  };
  const word = [details?.errorCode, code].find((one) => typeof one === "string");
  return { status: typeof statusCode === "number" ? statusCode : undefined, code: (word as string | undefined) ?? "" };
}

const CHECK_STORAGE =
  "check the key, or the rights and the end of the signature, in AZURE_STORAGE_CONNECTION_STRING, or the roles of the managed identity (Storage Table, Queue and Blob Data Contributor)";

/**
 * For people, with a hint for when it refuses. Made of what is known to be harmless: messages and causes of the library may hold addresses with a signature
 * in them.
 */
export function explainAzure(error: unknown, what: string, hint = CHECK_STORAGE): RemoteError {
  const { status, code } = azureAnswer(error);
  if (status === 401 || status === 403) {
    return new RemoteError(`${what}: Azure Storage refuses (${[status, code].filter(Boolean).join(" ")}); ${hint}`);
  }
  const answer = [status, code].filter((one) => one).join(" ");
  return new RemoteError(
    `${what}: ${explainNetwork(code) ?? (answer ? `Azure Storage answered ${answer}` : "no answer")}`,
  );
}

/** Makes clients of a connection string, without telling it to anybody when it is none. */
export function withConnectionString<T>(connectionString: string, make: (isInsecure: boolean) => T): T {
  try {
    // Emulators speak plain HTTP; whoever writes that into the string means it.
    return make(/\bhttp:\/\/|EndpointsProtocol=http(;|$)|UseDevelopmentStorage=true/i.test(connectionString));
  } catch {
    throw new BadInputError(
      "AZURE_STORAGE_CONNECTION_STRING must be the connection string of a storage account: DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…;EndpointSuffix=core.windows.net, or one with a SharedAccessSignature.",
    );
  }
}
