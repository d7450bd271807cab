import type * as SqlClient from "@effect/sql/SqlClient"
import { describe, expectTypeOf, it } from "@effect/vitest"
import type * as ConfigError from "effect/ConfigError"
import type * as Layer from "effect/Layer"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import type { LlmClient } from "../../src/llm/model/LlmClient.js"
import type { StorageError } from "../../src/memory/entry/MemoryError.js"
import * as Lexigram from "../../src/persistence/Lexigram.js"
import type * as OwnerData from "../../src/persistence/OwnerData.js"
import type * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import type * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"
import type * as Tool from "../../src/tool/ToolRunner.js"

declare const approvals: Layer.Layer<ApprovalGate.ApprovalGate, StorageError, Tool.ToolRunner>

type InSqlite = Lexigram.Out | OwnerData.OwnerData | SqlClient.SqlClient | SqliteClient.SqliteClient
type InPostgres = Lexigram.Out | OwnerData.OwnerData | SqlClient.SqlClient | PostgresClient.PostgresClient

describe("Lexigram", () => {
  it("requires a model and nothing else", () => {
    expectTypeOf(Lexigram.layerMemory()).toEqualTypeOf<
      Layer.Layer<Lexigram.Out, Lexigram.ConfigurationFailure, LlmClient>
    >()
    expectTypeOf(Lexigram.layerSqlite({ file: "agents.db" })).toEqualTypeOf<
      Layer.Layer<InSqlite, Lexigram.ConfigurationFailure | Lexigram.DatabaseFailure, LlmClient>
    >()
    expectTypeOf(Lexigram.layerPostgres({ host: "localhost", sessions: { sessionTtl: 0 } })).toEqualTypeOf<
      Layer.Layer<InPostgres, Lexigram.ConfigurationFailure | Lexigram.DatabaseFailure, LlmClient>
    >()
    expectTypeOf(Lexigram.layerConfig()).toEqualTypeOf<
      Layer.Layer<
        Lexigram.Out | CostEstimator.CostEstimator,
        Lexigram.ConfigurationFailure | Lexigram.DatabaseFailure | ConfigError.ConfigError,
        LlmClient
      >
    >()
  })

  it("has the failures and requirements of the given layers, except for its own ports", () => {
    expectTypeOf(Lexigram.layerSqlite({ file: "agents.db", approvals })).toEqualTypeOf<
      Layer.Layer<
        InSqlite,
        Lexigram.ConfigurationFailure | Lexigram.DatabaseFailure | StorageError,
        LlmClient | Tool.ToolRunner
      >
    >()
    expectTypeOf(Lexigram.layerSqlite({ file: "agents.db", approvals: PendingApprovals.layer() })).toEqualTypeOf<
      Layer.Layer<InSqlite, Lexigram.ConfigurationFailure | Lexigram.DatabaseFailure, LlmClient>
    >()
  })

  it("requires prices when money is limited, unless they are given", () => {
    const governance = { monthlyBudget: 100 }
    expectTypeOf(Lexigram.layerMemory({ governance })).toEqualTypeOf<
      Layer.Layer<Lexigram.Out, Lexigram.ConfigurationFailure, LlmClient | CostEstimator.CostEstimator>
    >()
    expectTypeOf(Lexigram.layerMemory({ governance, prices: CostEstimator.layerPrices({}) })).toEqualTypeOf<
      Layer.Layer<Lexigram.Out | CostEstimator.CostEstimator, Lexigram.ConfigurationFailure, LlmClient>
    >()
  })

  it("rejects unknown names", () => {
    // @ts-expect-error
    Lexigram.layerSqlite({ file: "agents.db", approval: ApprovalGate.layerDeny })
    // @ts-expect-error
    Lexigram.layerSqlite({})
    // @ts-expect-error
    Lexigram.layerConfig({ file: "agents.db" })
  })
})
