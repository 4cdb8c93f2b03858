/**
 * testcontainers, where it is installed. It is an optional peer: with all it needs it is as large as a sixth of
 * everything else, and only `container` uses it. What of it is used is said here, as it may be absent when this is built.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export interface Container {
  withLabels(labels: Readonly<Record<string, string>>): this;
  withCommand(command: readonly string[]): this;
  withNetworkMode(mode: string): this;
  withHealthCheck(check: HealthCheck): this;
  withWaitStrategy(strategy: WaitStrategy): this;
  withEnvironment(environment: Readonly<Record<string, string>>): this;
  withLogConsumer(consumer: (stream: NodeJS.ReadableStream) => void): this;
  start(): Promise<StartedContainer>;
}

/** Times in milliseconds. */
export interface HealthCheck {
  readonly test: readonly [kind: "CMD-SHELL", command: string];
  readonly interval: number;
  readonly timeout: number;
  readonly retries: number;
}

interface WaitStrategy {
  withStartupTimeout(ms: number): this;
}

export interface StartedContainer {
  getHost(): string;
  getMappedPort(port: number): number;
}

export interface PostgresContainer extends Container {
  withDatabase(name: string): this;
  withUsername(name: string): this;
  withPassword(password: string): this;
}

/** The engine's own interface, as far as it is used (dockerode). */
export interface Engine {
  getImage(name: string): { inspect(): Promise<unknown> };
  listContainers(options: object): Promise<readonly { readonly Id: string }[]>;
  getContainer(id: string): { remove(options: object): Promise<unknown> };
}

interface Testcontainers {
  readonly GenericContainer: new (image: string) => Container;
  readonly Wait: { forHealthCheck(): WaitStrategy };
  getContainerRuntimeClient(): Promise<{ readonly container: { readonly dockerode: Engine } }>;
}

interface PostgresModule {
  readonly PostgreSqlContainer: new (image: string) => PostgresContainer;
}

const VERSION = "11.14";

export async function testcontainers(): Promise<Testcontainers> {
  return (await imported("testcontainers")) as Testcontainers;
}

export async function testcontainersPostgres(): Promise<PostgresModule> {
  return (await imported("@testcontainers/postgresql")) as PostgresModule;
}

/** Rejects when none answers; testcontainers looks at DOCKER_HOST and at the usual sockets. */
export async function engine(): Promise<Engine> {
  const { getContainerRuntimeClient } = await testcontainers();
  try {
    return (await getContainerRuntimeClient()).container.dockerode;
  } catch (error) {
    const place = process.env["DOCKER_HOST"] ?? "the usual sockets (DOCKER_HOST is not set)";
    throw new Error(
      `found no Docker engine that answers at ${place}, expected a running one: start Docker, or set DOCKER_HOST`,
      { cause: error },
    );
  }
}

/** Beside this package or where the command was called; `NODE_PATH` is looked at too. */
async function imported(name: string): Promise<unknown> {
  for (const place of [import.meta.url, pathToFileURL(join(process.cwd(), "package.json"))]) {
    const path = resolved(place, name);
    if (path !== null) return import(pathToFileURL(path).href);
  }
  throw new Error(
    `found no package ${name}, expected it beside idemproof: run npm install --no-save @testcontainers/postgresql@${VERSION}`,
  );
}

function resolved(place: string | URL, name: string): string | null {
  try {
    return createRequire(place).resolve(name);
  } catch {
    return null;
  }
}
