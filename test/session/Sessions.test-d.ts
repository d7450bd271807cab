import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { describe, expectTypeOf, it } from "@effect/vitest"
import type * as ConfigError from "effect/ConfigError"
import type * as Layer from "effect/Layer"
import type { StorageError } from "../../src/memory/entry/MemoryError.js"
import type * as Memory from "../../src/memory/Memory.js"
import * as Sessions from "../../src/session/Sessions.js"
import type { SessionConfigurationError } from "../../src/session/turn/SessionError.js"
import type * as SessionStore from "../../src/session/turn/SessionStore.js"

declare const store: Layer.Layer<SessionStore.SessionStore, StorageError, Memory.Memory>

describe("Sessions.layer", () => {
  it("has exactly the failures and requirements of the given layers", () => {
    expectTypeOf(Sessions.layer()).toEqualTypeOf<Layer.Layer<Sessions.Out, SessionConfigurationError>>()
    expectTypeOf(Sessions.layer({ config: { cookieName: "own" }, cleanup: false })).toEqualTypeOf<
      Layer.Layer<Sessions.Out, SessionConfigurationError>
    >()
    expectTypeOf(Sessions.layer({ store, environment: "production" })).toEqualTypeOf<
      Layer.Layer<Sessions.Out, SessionConfigurationError | StorageError, Memory.Memory>
    >()
    expectTypeOf(Sessions.layerConfig({ keyValue: KeyValueStore.layerMemory })).toEqualTypeOf<
      Layer.Layer<Sessions.Out, SessionConfigurationError | ConfigError.ConfigError>
    >()
  })

  it("rejects unknown names", () => {
    // @ts-expect-error
    Sessions.layer({ stores: store })
    // @ts-expect-error
    Sessions.layerConfig({ config: {} })
  })
})
