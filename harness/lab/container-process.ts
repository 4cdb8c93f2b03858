/** Starts one container as ordered, answers where it is, and writes its log to its own output until it ends. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../fail.ts";
import { type ContainerAnswer, type ContainerKind, type ContainerOrder, LABEL, ORDER_VARIABLE } from "./container.ts";
import {
  type Container,
  type Engine,
  engine,
  type HealthCheck,
  testcontainers,
  testcontainersPostgres,
} from "./testcontainers.ts";

const POSTGRES_PORT = 5432;
/**
 * By TCP: the server that the image's first steps are made with listens on a socket only. The module's own check
 * runs four times a second beside a look at the ports ten times a second, each a process in the container.
 */
const HEALTH_CHECK: HealthCheck = {
  test: ["CMD-SHELL", "pg_isready --host=127.0.0.1 --username=postgres --dbname=idemproof"],
  interval: 500,
  timeout: 2_000,
  retries: 1_000,
};
const STARTUP_MS = 120_000;

const order = JSON.parse(process.env[ORDER_VARIABLE] ?? "{}") as ContainerOrder;
try {
  const containers = await engine();
  writeFileSync(join(order.directory, "engine-found"), "");
  answer(await start(order, containers));
} catch (error) {
  answer({ failure: messageOf(error) });
  process.exit(1);
}

async function start({ run, image, variable, label }: ContainerOrder, containers: Engine): Promise<ContainerAnswer> {
  const container = (await described(run, image))
    .withLabels({ [LABEL]: label })
    .withLogConsumer((stream) => stream.pipe(process.stdout));
  try {
    const started = await container.start();
    // The name may stand for an address of the other family, where nothing listens.
    const host = started.getHost().replace(/^localhost$/, "127.0.0.1");
    return { host, port: run.kind === "postgres" ? started.getMappedPort(POSTGRES_PORT) : run.port };
  } catch (error) {
    if (await hasImage(containers, image)) {
      throw new Error(
        `found that a container of ${image} does not come up (${messageOf(error)}), expected it to: check the image (${variable} names another)`,
        { cause: error },
      );
    }
    throw new Error(
      `found no image ${image} and none to pull (${messageOf(error)}), expected one: pull it, or name one that is there in ${variable}`,
      { cause: error },
    );
  }
}

async function described(run: ContainerKind, image: string): Promise<Container> {
  switch (run.kind) {
    case "postgres": {
      const { PostgreSqlContainer } = await testcontainersPostgres();
      const { Wait } = await testcontainers();
      return new PostgreSqlContainer(image)
        .withDatabase("idemproof")
        .withUsername("postgres")
        .withPassword(run.password)
        .withHealthCheck(HEALTH_CHECK)
        .withWaitStrategy(Wait.forHealthCheck().withStartupTimeout(STARTUP_MS))
        .withCommand(["postgres", ...run.settings]);
    }
    case "toxiproxy": {
      const { GenericContainer } = await testcontainers();
      return new GenericContainer(image).withNetworkMode("host").withCommand(["-host=127.0.0.1", `-port=${run.port}`]);
    }
  }
}

function hasImage(containers: Engine, image: string): Promise<boolean> {
  return containers
    .getImage(image)
    .inspect()
    .then(
      () => true,
      () => false,
    );
}

/** Whole or not at all: the harness reads it as soon as it is there. */
function answer(given: ContainerAnswer): void {
  const path = join(order.directory, "answer.json");
  writeFileSync(`${path}.part`, JSON.stringify(given));
  renameSync(`${path}.part`, path);
}
