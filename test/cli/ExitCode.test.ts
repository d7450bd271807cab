import { assert, describe, it } from "@effect/vitest"
import { LlmError } from "effect-lexigram"
import { RunError } from "effect-lexigram/agent"
import { CliError } from "effect-lexigram/cli"
import { ApiError } from "effect-lexigram/http"
import * as ExitCode from "../../src/cli/terminal/ExitCode.js"

const fails = { message: "no", provider: "test" }

describe("exit codes", () => {
  const rows: ReadonlyArray<readonly [unknown, number]> = [
    [new CliError.CliError({ reason: "usage", message: "" }), 2],
    [new CliError.CliError({ reason: "config", message: "" }), 3],
    [new CliError.CliError({ reason: "package", message: "" }), 3],
    [new CliError.CliError({ reason: "absent", message: "" }), 3],
    [new CliError.CliError({ reason: "unknown", message: "" }), 4],
    [new CliError.CliError({ reason: "file", message: "" }), 1],
    [new CliError.CliError({ reason: "gate", message: "" }), 7],
    [new ApiError.ApiError({ reason: "invalid", message: "" }), 2],
    [new ApiError.ApiError({ reason: "unsupported", message: "" }), 3],
    [new ApiError.ApiError({ reason: "unknown", message: "" }), 4],
    [new ApiError.ApiError({ reason: "unauthenticated", message: "" }), 5],
    [new ApiError.ApiError({ reason: "forbidden", message: "" }), 5],
    [new ApiError.ApiError({ reason: "rate", message: "" }), 6],
    [new ApiError.ApiError({ reason: "conflict", message: "" }), 1],
    [new RunError.RunError({ reason: "unknown-run", message: "" }), 4],
    [new RunError.RunError({ reason: "storage", message: "" }), 6],
    [new LlmError.LlmAuthenticationError(fails), 3],
    [new LlmError.LlmConfigurationError(fails), 3],
    [new LlmError.LlmConnectionError(fails), 6],
    [new LlmError.LlmCallRefusedError(fails as never), 5],
    // What a run says of its failure is no instance.
    [{ _tag: "InputGuardError", message: "no" }, 5],
    [{ _tag: "SessionNotFoundError" }, 4],
    [{ _tag: "RequestError" }, 6],
    [{ _tag: "ToolExecutionError" }, 1],
    [new Error("no"), 1],
    ["no", 1],
    [null, 1]
  ]
  for (const [error, code] of rows) {
    it(`${typeof error === "object" && error !== null ? JSON.stringify(error) : String(error)} ends with ${code}`, () => {
      assert.strictEqual(ExitCode.fromFailure(error), code)
    })
  }
})
