/**
 * An in-memory MCP server, for tests and for servers in the same process.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import * as Deadline from "../../internal/fiber/Deadline.js"
import {
  type CallOptions,
  type Change,
  McpClient,
  McpError,
  type Progress,
  type PromptInfo,
  type PromptResult,
  type ResourceContents,
  type ResourceInfo,
  type ResourceTemplateInfo,
  type ServerInfo,
  type Service,
  type ToolInfo,
  type ToolResult
} from "./McpClient.js"
import * as McpOutput from "./McpOutput.js"

/**
 * A tool with its implementation.
 *
 * @since 0.1.0
 * @category models
 */
export interface MemoryTool extends ToolInfo {
  readonly call: (
    args: Readonly<Record<string, unknown>>,
    progress: (progress: Progress) => Effect.Effect<void>
  ) => Effect.Effect<ToolResult, McpError>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryResource extends ResourceInfo {
  readonly contents: ReadonlyArray<ResourceContents>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryPrompt extends PromptInfo {
  readonly get: (args: Readonly<Record<string, string>>) => Effect.Effect<PromptResult, McpError>
}

/**
 * A server. Absent capabilities are not offered.
 *
 * @since 0.1.0
 * @category models
 */
export interface Server {
  /** Default `memory`. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  readonly instructions?: string | undefined
  readonly tools?: ReadonlyArray<MemoryTool> | undefined
  readonly resources?: ReadonlyArray<MemoryResource> | undefined
  readonly resourceTemplates?: ReadonlyArray<ResourceTemplateInfo> | undefined
  readonly prompts?: ReadonlyArray<MemoryPrompt> | undefined
}

/**
 * A client, and a way to change its server.
 *
 * @since 0.1.0
 * @category models
 */
export interface Memory {
  readonly client: Service
  /** Replaces the server and announces the lists that changed. */
  readonly update: (f: (server: Server) => Server) => Effect.Effect<void>
}

const infoOf = (server: Server): ServerInfo => ({
  name: server.name ?? "memory",
  version: server.version ?? "",
  ...(server.instructions === undefined ? {} : { instructions: server.instructions }),
  capabilities: {
    tools: server.tools !== undefined,
    resources: server.resources !== undefined,
    prompts: server.prompts !== undefined
  }
})

const lists = [
  ["tools", "ToolsChanged"],
  ["resources", "ResourcesChanged"],
  ["prompts", "PromptsChanged"]
] as const

/**
 * A client whose connection is never lost. Calls run in the caller's fiber. `name` is the client's name for the server;
 * default: the server's own.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (initial: Server, options?: { readonly name?: string | undefined }): Effect.Effect<Memory> =>
  Effect.gen(function* () {
    const name = options?.name ?? initial.name ?? "memory"
    const changed = yield* PubSub.sliding<Change>(256)
    let server = initial

    const fail = (
      reason: McpError["reason"],
      message: string,
      more: Partial<Pick<McpError, "rpcCode" | "toolName">> = {}
    ): Effect.Effect<never, McpError> =>
      Effect.fail(new McpError({ ...more, server: name, reason, message: `The MCP server "${name}": ${message}` }))

    const timed = <A>(
      toolName: string | undefined,
      call: CallOptions | undefined,
      run: (progress: (progress: Progress) => Effect.Effect<void>) => Effect.Effect<A, McpError>
    ): Effect.Effect<A, McpError> => {
      const timeout = call?.timeout === undefined ? undefined : Duration.toMillis(call.timeout)
      return Deadline.run(
        (pulse) =>
          run((told) =>
            Effect.suspend(() => {
              pulse.beat()
              return call?.onProgress?.(told) ?? Effect.void
            })
          ),
        {
          first: timeout,
          gap: timeout,
          whole: call?.maxTotal === undefined ? undefined : Duration.toMillis(call.maxTotal),
          onTimeout: (_, limit) => limit
        }
      ).pipe(
        Effect.catchIf(
          (error) => typeof error === "number",
          (limit) => fail("Timeout", `it did not answer within ${limit} ms`, toolName === undefined ? {} : { toolName })
        )
      )
    }

    const client: Service = {
      name,
      info: Effect.sync(() => infoOf(server)),
      ping: Effect.void,
      listTools: Effect.sync(() => (server.tools ?? []).map(({ call: _, ...tool }) => tool)),
      callTool: (toolName, args = {}, call) =>
        timed(toolName, call, (progress) => {
          const tool = server.tools?.find((one) => one.name === toolName)
          return tool === undefined
            ? fail("Protocol", "there is no such tool", { rpcCode: -32602, toolName: McpOutput.excerpt(toolName, 128) })
            : tool.call(args, progress)
        }),
      listResources: Effect.sync(() => (server.resources ?? []).map(({ contents: _, ...resource }) => resource)),
      listResourceTemplates: Effect.sync(() => server.resourceTemplates ?? []),
      readResource: (uri) =>
        Effect.suspend(() => {
          const resource = server.resources?.find((one) => one.uri === uri)
          return resource === undefined
            ? fail("Protocol", "there is no such resource", { rpcCode: -32002 })
            : Effect.succeed(resource.contents)
        }),
      listPrompts: Effect.sync(() => (server.prompts ?? []).map(({ get: _, ...prompt }) => prompt)),
      getPrompt: (promptName, args = {}, call) =>
        timed(undefined, call, () => {
          const prompt = server.prompts?.find((one) => one.name === promptName)
          if (prompt === undefined) return fail("Protocol", "there is no such prompt", { rpcCode: -32602 })
          return prompt.arguments.every((argument) => !argument.required || Object.hasOwn(args, argument.name))
            ? prompt.get(args)
            : fail("Protocol", "an argument is missing", { rpcCode: -32602 })
        }),
      changes: Stream.unwrapScoped(
        Effect.map(PubSub.subscribe(changed), (queue) =>
          Stream.concat(Stream.make<[Change]>({ _tag: "Connected" }), Stream.fromQueue(queue))
        )
      )
    }

    return {
      client,
      update: (f) =>
        Effect.suspend(() => {
          const before = server
          server = f(server)
          const told = lists.filter(([list]) => server[list] !== before[list])
          return Effect.forEach(told, ([, _tag]) => PubSub.publish(changed, { _tag }), { discard: true })
        })
    }
  })

/**
 * The client of `make` as a layer.
 *
 * @example
 * ```ts
 * import { McpMemory } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const server = McpMemory.layer({
 *   name: "desk",
 *   tools: [
 *     {
 *       name: "hours",
 *       inputSchema: { type: "object", properties: {} },
 *       call: () => Effect.succeed({ content: [{ type: "text", text: "9 to 5" }], isError: false })
 *     }
 *   ]
 * })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (server: Server, options?: { readonly name?: string | undefined }): Layer.Layer<McpClient> =>
  Layer.effect(
    McpClient,
    Effect.map(make(server, options), ({ client }) => client)
  )
