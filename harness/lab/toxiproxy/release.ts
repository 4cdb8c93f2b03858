/** Downloads the pinned release, and refuses anything but the very bytes that were looked at when it was pinned. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../fail.ts";
import type { Workshop } from "./launch.ts";
import { TOXIPROXY_VERSION } from "./server.ts";

export interface Releases {
  /** The folder of the archives, without a slash at the end. */
  readonly url: string;
  /** SHA-256 of each archive, by `process.platform` and `process.arch`. */
  readonly sha256: Readonly<Record<string, string>>;
}

export const RELEASES: Releases = {
  url: `https://github.com/Shopify/toxiproxy/releases/download/v${TOXIPROXY_VERSION}`,
  sha256: {
    "linux-x64": "65e042d3fc2290c099527bc506446a6fd863a09f113b8944b636ece70221c2b3",
    "linux-arm64": "ab417dafc77ae8b54ec8461cc5da5180d0465a61dcbda86c72da72ee4ab843b7",
    "darwin-x64": "52ac1f99d7204b4b523f910b791bc86318b50ef94822c79a6157606704003ced",
    "darwin-arm64": "cece3905c06ad84d6b3bb4cd024c344e6466736b2a8cbaf9ef4fe45e62aba9b2",
  },
};

/** An archive holds two programs, 10 MB together. */
const ARCHIVE_BYTES_MAX = 64 * 1024 * 1024;
const DOWNLOAD_MS = 120_000;
const UNPACK_MS = 30_000;
const SERVER = "toxiproxy-server";

/** Returns where in the directory the server is. */
export async function download(directory: string, releases: Releases, workshop: Workshop): Promise<string> {
  const machine = `${process.platform}-${process.arch}`;
  const expected = releases.sha256[machine];
  if (expected === undefined) throw new Error(`no release is pinned for ${machine}`);
  const name = `toxiproxy_${TOXIPROXY_VERSION}_${machine.replace("-", "_").replace("x64", "amd64")}.tar.gz`;
  const bytes = await fetched(`${releases.url}/${name}`, workshop.signal);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== expected) throw new Error(`${name} is not the pinned one: SHA-256 ${found}, expected ${expected}`);
  const archive = join(directory, name);
  await writeFile(archive, bytes);
  const { env, signal } = workshop;
  await promisify(execFile)("tar", ["-xzf", archive, "-C", directory, SERVER], { env, signal, timeout: UNPACK_MS });
  return join(directory, SERVER);
}

async function fetched(url: string, signal: AbortSignal): Promise<Buffer> {
  const limit = AbortSignal.timeout(DOWNLOAD_MS);
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, limit]) });
    if (!response.ok || response.body === null) throw new Error(`it answered ${response.status}`);
    const pieces: Uint8Array[] = [];
    let size = 0;
    for await (const piece of response.body) {
      size += piece.byteLength;
      if (size > ARCHIVE_BYTES_MAX) throw new Error(`it sends more than ${ARCHIVE_BYTES_MAX} bytes`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } catch (error) {
    const isLate = limit.aborted && !signal.aborted;
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    const reason = isLate ? `not whole within ${DOWNLOAD_MS / 1_000} s` : messageOf(cause);
    throw new Error(`${url} cannot be downloaded: ${reason}`, { cause: error });
  }
}
