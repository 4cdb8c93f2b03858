/** Every published contract the harness knows, by id. */
import type { Contract } from "../contract.ts";
import { checkoutCom } from "./checkout-com.ts";
import { ietf07 } from "./ietf-07.ts";
import { klarnaOm } from "./klarna-om.ts";
import { mollie } from "./mollie.ts";
import { paypalOrdersV2 } from "./paypal-orders-v2.ts";
import { squarePayments } from "./square-payments.ts";
import { strict } from "./strict.ts";
import { stripeV1 } from "./stripe-v1.ts";
import { zalando } from "./zalando.ts";

export const contracts: readonly Contract[] = [
  strict,
  ietf07,
  stripeV1,
  mollie,
  squarePayments,
  checkoutCom,
  paypalOrdersV2,
  zalando,
  klarnaOm,
];
