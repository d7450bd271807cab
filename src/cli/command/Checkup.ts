/**
 * What `lexigram doctor` looks at, one after another.
 *
 * @private
 * @since 0.1.0
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Cause from "effect/Cause"
import * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as AgentExecutor from "../../agent/AgentExecutor.js"
import * as ErrorInfo from "../../domain/ErrorInfo.js"
import * as AgentClient from "../../http/api/AgentClient.js"
import * as ApiModels from "../../http/api/ApiModels.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as Providers from "../../provider/Providers.js"
import { CliError } from "../config/CliError.js"
import * as ModelName from "../config/ModelName.js"
import * as Packages from "../config/Packages.js"
import * as Workspace from "../config/Workspace.js"
import * as Connection from "../connection/Connection.js"

/**
 * What one look found. `wrong` has what to do about it; `skipped` says why nothing was looked at.
 *
 * @category models
 */
export interface Check {
  readonly name: string
  readonly state: "ok" | "wrong" | "skipped"
  readonly detail: string
  readonly hint?: string | undefined
}

/** What a look has at most. */
const PATIENCE = "30 seconds"

const tooLong = new CliError({
  reason: "config",
  message: "It takes longer than 30 seconds",
  hint: "See whether everything that it connects to can be reached from here"
})

const ok = (name: string, detail: string): Check => ({ name, state: "ok", detail })

const skipped = (name: string, detail: string): Check => ({ name, state: "skipped", detail })

const wrong = (name: string, detail: string, hint?: string): Check => ({
  name,
  state: "wrong",
  detail,
  ...(hint === undefined ? {} : { hint })
})

const fromCause = (name: string, cause: Cause.Cause<unknown>): Check => {
  const error = Option.getOrElse(Cause.failureOption(cause), () => Cause.squash(cause))
  const { hint, message } = ErrorInfo.errorInfo(error)
  // A ConfigError names its variable in its text alone.
  if (ConfigError.isConfigError(error)) return wrong(name, String(error), hint ?? "Set the variable that it names")
  return wrong(name, message, hint)
}

/** A look that takes no more than its time, and whose failures and defects are what it found. */
const look = <R>(
  name: string,
  check: Effect.Effect<ReadonlyArray<Check>, unknown, R>
): Effect.Effect<ReadonlyArray<Check>, never, R> =>
  check.pipe(
    Effect.timeoutFail({ duration: PATIENCE, onTimeout: () => tooLong }),
    Effect.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.failCause(cause as Cause.Cause<never>)
        : Effect.succeed([fromCause(name, cause)])
    )
  )

/** Those that the command line starts with. */
const ofCommandLine = new Set(["@effect/platform-node", "@effect/cli", "@effect/printer", "@effect/printer-ansi"])

/**
 * Node, and the packages beside this one.
 *
 * @category execution
 */
export const packages: Effect.Effect<ReadonlyArray<Check>> = Effect.gen(function* () {
  const { engines, peerDependencies, peerDependenciesMeta } = yield* Packages.manifest
  const node = process.versions.node
  const found = yield* Effect.forEach(Object.entries(peerDependencies), ([name, range]) =>
    Effect.map(Packages.versionOf(name), (version) => ({ name, range, version }))
  )
  const checks = found.flatMap(({ name, range, version }) => {
    const install = `npm install "${name}@${range}"`
    if (Option.isSome(version)) {
      return [
        Packages.isIn(version.value, range)
          ? ok(name, `${version.value} is in ${range}`)
          : wrong(name, `${version.value} is installed, and ${range} is needed`, install)
      ]
    }
    const isOptional = peerDependenciesMeta[name]?.optional === true && !ofCommandLine.has(name)
    return isOptional ? [] : [wrong(name, `It is not installed, and ${range} is needed`, install)]
  })
  return [
    Packages.isIn(node, engines.node)
      ? ok("node", `${node} is in ${engines.node}`)
      : wrong("node", `This is ${node}, and ${engines.node} is needed`, "Install a newer Node"),
    ...checks
  ]
})

/** Where the key of a provider comes from. Never the key. */
const keyOf = (provider: string) =>
  Effect.map(Providers.keyOf(provider), (key) => {
    const variable = Providers.keyVariable(provider)
    if (variable === undefined) return ""
    return key === undefined ? `, no key in ${variable}` : `, with the key in ${variable}`
  })

/** The client that the application provides, or that of the name that the flags and the environment have. */
const clientOf = (local: Option.Option<Connection.Local>) =>
  Effect.gen(function* () {
    const { model } = yield* Workspace.Workspace
    const provided = Option.flatMap(local, ({ services }) =>
      Context.getOption(services as Context.Context<unknown>, LlmClient.LlmClient)
    )
    if (Option.isSome(provided) || Option.isNone(model.value)) return provided
    return Option.some(Context.get(yield* Layer.build(ModelName.layer(model.value.value)), LlmClient.LlmClient))
  })

/** A call that costs next to nothing. */
const ping = (client: LlmClient.Service) =>
  Effect.as(
    client.complete({ messages: [{ role: "user", content: "Say ok." }], settings: { maxTokens: 64 } }),
    ", answers a call"
  )

const modelOf = (local: Option.Option<Connection.Local>, pings: boolean) =>
  Effect.gen(function* () {
    const client = yield* clientOf(local)
    if (Option.isNone(client)) {
      const how = "Name it with --model to look at it"
      return [skipped("model", `It is that of the configuration, whose layer does not show it. ${how}`)]
    }
    const { health = Effect.void, model, provider } = client.value
    const key = yield* keyOf(provider)
    yield* health
    const answers = pings ? yield* ping(client.value) : ""
    return [ok("model", `${provider}${model === undefined ? "" : `, ${model}`}${key}${answers}`)]
  })

const database = ({ services }: Connection.Local) =>
  Effect.gen(function* () {
    const loaded = yield* Effect.option(Effect.tryPromise(() => import("./DoctorDatabase.js")))
    if (Option.isNone(loaded)) return [skipped("database", "The packages of SQL are not installed")]
    const found = yield* loaded.value.check(services)
    return [
      Option.match(found, {
        onNone: () => skipped("database", "The layer of the configuration shows none"),
        onSome: (detail) => ok("database", detail)
      })
    ]
  })

const executor = ({ services }: Connection.Local) =>
  Effect.gen(function* () {
    const { parts } = yield* Context.get(services, AgentExecutor.AgentExecutor).health
    return parts.map(({ message = "", name, status }) => {
      const detail = message === "" ? status : `${status}: ${message}`
      return status === "unhealthy" ? wrong(`health of ${name}`, detail) : ok(`health of ${name}`, detail)
    })
  })

const local = (pings: boolean) =>
  Effect.gen(function* () {
    const application = yield* Effect.either(Connection.application(Option.none()))
    if (application._tag === "Left") {
      const found = fromCause("configuration", Cause.fail(application.left))
      return [found, ...(yield* look("model", modelOf(Option.none(), pings)))]
    }
    const agents = application.right.agents.map(({ name }) => name).join(", ")
    const loaded = ok("configuration", `It loads, with ${agents}`)
    const built = yield* Effect.exit(
      Effect.timeoutFail(Connection.build(application.right), { duration: PATIENCE, onTimeout: () => tooLong })
    )
    if (built._tag === "Failure") {
      if (Cause.isInterruptedOnly(built.cause)) return yield* Effect.interrupt
      const found = fromCause("layer", built.cause)
      return [loaded, found, ...(yield* look("model", modelOf(Option.none(), pings)))]
    }
    const all = yield* Effect.all([
      look("model", modelOf(Option.some(built.value), pings)),
      look("database", database(built.value)),
      look("health", executor(built.value))
    ])
    return [loaded, ok("layer", "It is built"), ...all.flat()]
  })

const health = (baseUrl: string) =>
  Effect.gen(function* () {
    const http = yield* HttpClient.HttpClient
    const asked = http.pipe(HttpClient.mapRequest(HttpClientRequest.prependUrl(baseUrl)), HttpClient.filterStatusOk)
    const response = yield* asked.get("/v1/health")
    const { status } = yield* HttpClientResponse.schemaBodyJson(ApiModels.Health)(response)
    return [status === "unhealthy" ? wrong("server", status, "Look at the logs of the server") : ok("server", status)]
  })

const access = (baseUrl: string) =>
  Effect.gen(function* () {
    const { token } = yield* Workspace.Workspace
    const options = { baseUrl, ...(Option.isSome(token) ? { token: token.value } : {}) }
    const { api } = yield* AgentClient.make(options)
    const { agents } = yield* api.agents.listAgents()
    return [ok("access", `It shows ${agents.map(({ name }) => name).join(", ")}`)]
  })

const remote = (baseUrl: string): Effect.Effect<ReadonlyArray<Check>, never, Workspace.Workspace> =>
  Effect.map(Effect.all([look("server", health(baseUrl)), look("access", access(baseUrl))]), (all) => all.flat()).pipe(
    Effect.provide(FetchHttpClient.layer)
  )

/**
 * Looks at everything. `pings` makes one call of the model.
 *
 * @category execution
 */
export const run = (pings: boolean): Effect.Effect<ReadonlyArray<Check>, never, Workspace.Workspace | Scope.Scope> =>
  Effect.gen(function* () {
    const { url } = yield* Workspace.Workspace
    const rest = Option.match(url.value, {
      onNone: (): Effect.Effect<ReadonlyArray<Check>, never, Workspace.Workspace | Scope.Scope> => local(pings),
      onSome: remote
    })
    return [...(yield* packages), ...(yield* rest)]
  })
