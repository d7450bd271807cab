/** Tests that act for the system: they access sessions of users without naming the users. */
import { it } from "@effect/vitest"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as TestServices from "effect/TestServices"
import type { TestContext } from "vitest"
import * as SystemAccess from "../../src/domain/SystemAccess.js"

export const effect = <A, E>(
  name: string,
  run: (context: TestContext) => Effect.Effect<A, E, TestServices.TestServices>,
  timeout?: number
): void => it.effect(name, (context) => SystemAccess.grant(run(context)), timeout)

/** Provides the capability. */
export const layer: Layer.Layer<never> = Layer.effect(SystemAccess.SystemAccess, SystemAccess.grant(SystemAccess.held))
