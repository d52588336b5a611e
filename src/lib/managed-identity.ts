import type { ManagedIdentityApplication } from "@azure/msal-node";
import { RemoteError } from "../contracts/errors.ts";

const RESOURCE = "https://storage.azure.com";
/** Answers on every virtual machine of Azure, and nowhere else. */
const METADATA_URL = "http://169.254.169.254/metadata/identity/oauth2/token";
const METADATA_TIMEOUT_MS = 1000;

/** As the clients of Azure ask for tokens. */
export interface IdentityToken {
  getToken(): Promise<{ readonly token: string; readonly expiresOnTimestamp: number }>;
}

/** The identity that Azure gave this machine; undefined where it gave none. `clientId` chooses among several. */
export async function findManagedIdentity(clientId: string): Promise<IdentityToken | undefined> {
  const { ManagedIdentityApplication, ManagedIdentitySourceNames } = await import("@azure/msal-node");
  const identity = new ManagedIdentityApplication({
    ...(clientId && { managedIdentityIdParams: { userAssignedClientId: clientId } }),
    system: { disableInternalRetries: true },
  });
  const isGuess = identity.getManagedIdentitySource() === ManagedIdentitySourceNames.DEFAULT_TO_IMDS;
  if (isGuess && !(await isOnVirtualMachine())) return undefined;
  const getToken = (): ReturnType<IdentityToken["getToken"]> => acquire(identity);
  return await getToken().then(
    () => ({ getToken }),
    () => undefined,
  );
}

async function acquire(identity: ManagedIdentityApplication): ReturnType<IdentityToken["getToken"]> {
  const { accessToken, expiresOn } = await identity.acquireToken({ resource: RESOURCE });
  if (!accessToken) throw new RemoteError("The managed identity of this machine got no token for Azure Storage.");
  return { token: accessToken, expiresOnTimestamp: expiresOn?.getTime() ?? Date.now() + 60_000 };
}

/** Without the header that it wants it refuses, which is answer enough. */
async function isOnVirtualMachine(): Promise<boolean> {
  try {
    const answer = await fetch(METADATA_URL, { signal: AbortSignal.timeout(METADATA_TIMEOUT_MS), redirect: "manual" });
    await answer.body?.cancel();
    return answer.status === 400;
  } catch {
    return false;
  }
}
