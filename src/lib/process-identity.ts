import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Identifies a process, so that the same machine can tell later whether it is still running. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Where the pid is valid: the host, and on Linux its process namespace, because containers may share a host name. */
  readonly host: string;
  /** Distinguishes a process from a later one with the same pid; "" if the system does not say. */
  readonly birth: string;
}

let own: ProcessIdentity | undefined;

export function thisProcess(): ProcessIdentity {
  own ??= { pid: process.pid, host: processHost(), birth: processBirth(process.pid) };
  return own;
}

/** Returns true only if it certainly ended; never for a process of another host. */
export function isProcessGone(identity: ProcessIdentity): boolean {
  if (identity.host !== thisProcess().host) return false;
  if (!hasProcess(identity.pid)) return true;
  const birth = processBirth(identity.pid);
  return identity.birth !== "" && birth !== "" && birth !== identity.birth;
}

function hasProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}

function processHost(): string {
  try {
    return `${hostname()}/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

/** Returns boot id and start tick: pids repeat, and after a reboot ticks do, too. */
function processBirth(pid: number): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").slice(0, 8);
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in parentheses may hold anything; state and start are the 1st and the 20th field after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie: it ended but still has a pid.
    if (fields[0] === "Z" || fields[0] === "X") return "ended";
    return fields[19] === undefined ? "" : `${boot}-${fields[19]}`;
  } catch {
    return "";
  }
}
