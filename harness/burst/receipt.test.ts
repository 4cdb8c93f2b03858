import { expect, test } from "vitest";
import { answer } from "../testing/history-builder.ts";
import { type ArrivalHeaders, type Flight, receiptOf } from "./receipt.ts";

const NAMES: ArrivalHeaders = { header: "Arrived-Micros", answered: "Answered-Micros" };
const ARRIVED_ONLY: ArrivalHeaders = { header: "Arrived-Micros" };

let flown = 0;

function flight(from: number, until: number, changes: Partial<Flight> = {}): Flight {
  flown += 1;
  return {
    attemptId: `a${flown}`,
    race: "key",
    replica: 0,
    releasedAt: from,
    completedAt: until,
    outcome: answer(201),
    ...changes,
  };
}

/** A flight whose answer tells the target's times. */
function told(from: number, until: number, arrived: string, answered: string, changes: Partial<Flight> = {}): Flight {
  const headers = { "arrived-micros": arrived, "answered-micros": answered };
  return flight(from, until, { outcome: answer(201, {}, headers), ...changes });
}

function receipt(flights: readonly Flight[], arrival?: ArrivalHeaders) {
  return receiptOf("tested", "last-body-byte", flights, arrival);
}

test("spreads are from the first to the last, whatever the order of the attempts", () => {
  const flights = [
    told(30, 900, "1500", "1900"),
    told(10, 900, "1100", "1900"),
    told(20, 900, "1400", "1900", { replica: 1 }),
  ];
  expect(receipt(flights, NAMES)).toMatchObject({
    attempts: flights.map(({ attemptId }) => attemptId),
    releaseSpreadMicros: 20,
    arrivalSpreadMicros: 400,
    closestMicros: 100,
    inFlight: 3,
    measuredBy: "target",
    replicas: [0, 1],
  });
});

test("replicas whose clocks differ by more than a minute are each brought to the client's clock", () => {
  const day = 86_400_000_000;
  const flights = [
    told(0, 900, "5100", "5600"),
    told(10, 900, String(day + 5_310), String(day + 5_700), { replica: 1 }),
    told(20, 900, String(day + 5_420), String(day + 5_700), { replica: 1 }),
  ];
  expect(receipt(flights, NAMES)).toMatchObject({ arrivalSpreadMicros: 120, inFlight: 3, measuredBy: "target" });
});

test("without arrivals it is measured by the client", () => {
  expect(receipt([flight(0, 100), flight(40, 90), flight(95, 120)])).toMatchObject({
    arrivalSpreadMicros: null,
    releaseSpreadMicros: 95,
    closestMicros: 40,
    inFlight: 2,
    measuredBy: "client",
  });
});

test("spans that touch do not overlap", () => {
  expect(receipt([flight(0, 100), flight(100, 200), flight(200, 300)]).inFlight).toBe(1);
  expect(receipt([flight(0, 101), flight(100, 200)]).inFlight).toBe(2);
});

test("of several raced keys the one that overlapped least counts", () => {
  const both = [
    ...[flight(0, 100), flight(1, 100), flight(2, 100)],
    ...[flight(0, 10, { race: "other" }), flight(50, 90, { race: "other" })],
  ];
  expect(receipt(both)).toMatchObject({ inFlight: 1, closestMicros: 1 });
  // A key that was sent once was not raced.
  expect(receipt([...both.slice(0, 3), flight(500, 600, { race: "once" })]).inFlight).toBe(3);
});

test("neighbours of different keys are no hit of a window", () => {
  const flights = [flight(0, 500), flight(300, 500), flight(1, 500, { race: "o" }), flight(401, 500, { race: "o" })];
  expect(receipt(flights).closestMicros).toBe(300);
});

test("where each key is sent once, all attempts are one race", () => {
  const flights = [flight(0, 100, { race: "a" }), flight(7, 100, { race: "b" }), flight(20, 100, { race: "c" })];
  expect(receipt(flights)).toMatchObject({ inFlight: 3, closestMicros: 7 });
});

test.each(["", " ", "soon", "NaN", "Infinity", "-5", "0x10", "1e3", "12, 13"])("%j is no arrival", (garbage) => {
  const flights = [told(0, 100, garbage, "900"), told(0, 100, garbage, "900")];
  expect(receipt(flights, NAMES)).toMatchObject({ measuredBy: "client", arrivalSpreadMicros: null, inFlight: 2 });
});

test("one arrival alone, or those of lost attempts, are no measure", () => {
  const lost = { outcome: { kind: "indeterminate", reason: "timeout" } } as const;
  expect(receipt([told(0, 100, "5", "9"), flight(0, 100)], NAMES).measuredBy).toBe("client");
  expect(receipt([told(0, 100, "5", "9"), flight(0, 100, lost)], NAMES).measuredBy).toBe("client");
  expect(receipt([told(0, 100, "5", "9"), told(0, 100, "6", "9"), flight(0, 100, lost)], NAMES)).toMatchObject({
    measuredBy: "target",
    arrivalSpreadMicros: 1,
    inFlight: 2,
  });
});

test("a raced key that is not told does not drop out of the receipt", () => {
  const flights = [
    ...[told(0, 100, "5", "90"), told(0, 100, "6", "90")],
    ...[flight(0, 10, { race: "untold" }), flight(50, 90, { race: "untold" })],
  ];
  expect(receipt(flights, NAMES)).toMatchObject({ measuredBy: "client", inFlight: 1 });
});

test("requests that queue at the target and run one after another do not overlap, though the client waited", () => {
  // Released together, taken up one by one: the target's clock is 1000 ahead.
  const flights = [told(0, 20, "1000", ""), told(0, 40, "1020", ""), told(0, 60, "1040", "")];
  expect(receipt(flights, ARRIVED_ONLY)).toMatchObject({ measuredBy: "target", inFlight: 1 });
  const together = [told(0, 22, "1001", ""), told(0, 23, "1002", ""), told(0, 24, "1003", "")];
  expect(receipt(together, ARRIVED_ONLY).inFlight).toBe(3);
});

test("each replica has its own clock", () => {
  const flights = [told(0, 20, "1000", ""), told(0, 20, "1005", ""), told(0, 20, "500", "", { replica: 1 })];
  expect(receipt(flights, ARRIVED_ONLY).inFlight).toBe(2);
});

test("an answer that was told to leave before its request arrived is not believed", () => {
  const flights = [told(0, 100, "1000", "900"), told(0, 100, "1010", "soon")];
  expect(receipt(flights, NAMES)).toMatchObject({ measuredBy: "target", inFlight: 2 });
});

test("a burst of one, and of none, is a receipt too", () => {
  expect(receipt([flight(5, 10)])).toMatchObject({ releaseSpreadMicros: 0, closestMicros: 0, inFlight: 1 });
  expect(receipt([])).toMatchObject({ attempts: [], releaseSpreadMicros: 0, closestMicros: 0, inFlight: 0 });
});

test("a key of ten thousand attempts is counted", () => {
  const flights = Array.from({ length: 10_000 }, (_, index) => flight(index, 20_000));
  expect(receipt(flights)).toMatchObject({ inFlight: 10_000, closestMicros: 1 });
});
