/** A certificate for loopback that nobody trusts unless told to, made by `openssl` for one test run. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate extends Disposable {
  readonly key: string;
  readonly cert: string;
  /** For NODE_EXTRA_CA_CERTS. */
  readonly certPath: string;
}

/** Null where there is no `openssl`. */
export function selfSigned(): Certificate | null {
  const directory = mkdtempSync(join(tmpdir(), "idemproof-certificate-"));
  const keyPath = join(directory, "key.pem");
  const certPath = join(directory, "cert.pem");
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  try {
    execFileSync("openssl", ["req", "-x509", ...curve, "-nodes", "-keyout", keyPath, "-out", certPath, ...names], {
      stdio: "ignore",
    });
  } catch {
    remove();
    return null;
  }
  return {
    key: readFileSync(keyPath, "utf8"),
    cert: readFileSync(certPath, "utf8"),
    certPath,
    [Symbol.dispose]: remove,
  };
}
