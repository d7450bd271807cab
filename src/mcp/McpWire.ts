/**
 * Decodes answers of servers. Invalid entries of a list are left out, so that one bad entry does not hide the others.
 *
 * @private
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import type * as McpClient from "../skill/mcp/McpClient.js"

export type Fields = Readonly<Record<string, unknown>>

export const text = (u: unknown): string | undefined => (typeof u === "string" ? u : undefined)
const flag = (u: unknown): boolean | undefined => (typeof u === "boolean" ? u : undefined)
export const amount = (u: unknown): number | undefined => (typeof u === "number" && Number.isFinite(u) ? u : undefined)

/** Absent fields stay absent. */
export const defined = <A extends object>(fields: A): A => {
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) result[key] = value
  return result as A
}

/** The valid entries of a list; `undefined` if it is not a list. */
export const entries = <A>(u: unknown, read: (entry: Fields) => A | undefined): ReadonlyArray<A> | undefined => {
  if (!Array.isArray(u)) return undefined
  const result: Array<A> = []
  for (const entry of u) {
    const value = Predicate.isReadonlyRecord(entry) ? read(entry) : undefined
    if (value !== undefined) result.push(value)
  }
  return result
}

const described = (fields: Fields) => ({
  title: text(fields["title"]),
  description: text(fields["description"])
})

const annotations = (u: unknown): McpClient.ToolAnnotations | undefined =>
  Predicate.isReadonlyRecord(u)
    ? defined({
        title: text(u["title"]),
        readOnlyHint: flag(u["readOnlyHint"]),
        destructiveHint: flag(u["destructiveHint"]),
        idempotentHint: flag(u["idempotentHint"]),
        openWorldHint: flag(u["openWorldHint"])
      })
    : undefined

/** `hasTasks`: the server says that tools can be called as tasks. */
export const tool =
  (hasTasks: boolean) =>
  (fields: Fields): McpClient.ToolInfo | undefined => {
    const { execution, inputSchema, name, outputSchema } = fields
    if (typeof name !== "string" || name === "" || !Predicate.isReadonlyRecord(inputSchema)) return undefined
    const support = Predicate.isReadonlyRecord(execution) ? execution["taskSupport"] : undefined
    const asTask: McpClient.ToolInfo["task"] =
      hasTasks && (support === "required" || support === "optional") ? support : undefined
    return defined({
      name,
      ...described(fields),
      inputSchema,
      outputSchema: Predicate.isReadonlyRecord(outputSchema) ? outputSchema : undefined,
      annotations: annotations(fields["annotations"]),
      task: asTask,
      requiresTask: !hasTasks && support === "required" ? true : undefined
    })
  }

export const resource = (fields: Fields): McpClient.ResourceInfo | undefined => {
  const { name, uri } = fields
  if (typeof uri !== "string") return undefined
  return defined({
    uri,
    name: text(name) ?? uri,
    ...described(fields),
    mimeType: text(fields["mimeType"]),
    size: amount(fields["size"])
  })
}

export const resourceTemplate = (fields: Fields): McpClient.ResourceTemplateInfo | undefined => {
  const { name, uriTemplate } = fields
  if (typeof uriTemplate !== "string") return undefined
  return defined({
    uriTemplate,
    name: text(name) ?? uriTemplate,
    ...described(fields),
    mimeType: text(fields["mimeType"])
  })
}

export const prompt = (fields: Fields): McpClient.PromptInfo | undefined => {
  const { name } = fields
  if (typeof name !== "string" || name === "") return undefined
  const read = (argument: Fields): McpClient.PromptInfo["arguments"][number] | undefined =>
    typeof argument["name"] === "string"
      ? defined({
          name: argument["name"],
          description: text(argument["description"]),
          required: argument["required"] === true
        })
      : undefined
  return defined({ name, ...described(fields), arguments: entries(fields["arguments"], read) ?? [] })
}

const contents = (fields: Fields): McpClient.ResourceContents | undefined => {
  const { uri } = fields
  if (typeof uri !== "string") return undefined
  const body = defined({ text: text(fields["text"]), blob: text(fields["blob"]) })
  if (body.text === undefined && body.blob === undefined) return undefined
  return defined({ uri, mimeType: text(fields["mimeType"]), ...body })
}

/** Unknown kinds, present or future, are named instead of dropped. */
export const content = (fields: Fields): McpClient.ContentBlock => {
  const { data, mimeType, type } = fields
  switch (type) {
    case "text":
      if (typeof fields["text"] === "string") return { type, text: fields["text"] }
      break
    case "image":
    case "audio":
      if (typeof data === "string") return { type, data, mimeType: text(mimeType) ?? "application/octet-stream" }
      break
    case "resource": {
      const inner = Predicate.isReadonlyRecord(fields["resource"]) ? contents(fields["resource"]) : undefined
      if (inner !== undefined) return { type, resource: inner }
      break
    }
    case "resource_link": {
      const link = resource(fields)
      if (link !== undefined) return { type, ...link }
      break
    }
  }
  return { type: "text", text: `[content of the kind ${JSON.stringify(text(type)?.slice(0, 64) ?? "unknown")}]` }
}

export const toolResult = (u: unknown): McpClient.ToolResult | undefined => {
  if (!Predicate.isReadonlyRecord(u)) return undefined
  const { structuredContent } = u
  // Servers commonly answer with structured content alone; an answer with neither is invalid.
  const blocks = entries(u["content"], content) ?? (Predicate.isReadonlyRecord(structuredContent) ? [] : undefined)
  if (blocks === undefined) return undefined
  return defined({
    content: blocks,
    structuredContent: Predicate.isReadonlyRecord(structuredContent) ? structuredContent : undefined,
    isError: u["isError"] === true
  })
}

export interface Task {
  readonly taskId: string
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled"
  readonly statusMessage?: string | undefined
  /** Milliseconds. */
  readonly pollInterval?: number | undefined
}

const MAX_TASK_ID = 1024

export const task = (u: unknown): Task | undefined => {
  if (!Predicate.isReadonlyRecord(u)) return undefined
  const { status, taskId } = u
  if (typeof taskId !== "string" || taskId === "" || taskId.length > MAX_TASK_ID) return undefined
  switch (status) {
    case "working":
    case "input_required":
    case "completed":
    case "failed":
    case "cancelled":
      return defined({
        taskId,
        status,
        statusMessage: text(u["statusMessage"]),
        pollInterval: amount(u["pollInterval"])
      })
  }
  return undefined
}

/** The answer to a request that became a task. */
export const createdTask = (u: unknown): Task | undefined =>
  Predicate.isReadonlyRecord(u) ? task(u["task"]) : undefined

export const promptResult = (u: unknown): McpClient.PromptResult | undefined => {
  if (!Predicate.isReadonlyRecord(u)) return undefined
  const messages = entries(u["messages"], (message): McpClient.PromptResult["messages"][number] | undefined => {
    const { role } = message
    if ((role !== "user" && role !== "assistant") || !Predicate.isReadonlyRecord(message["content"])) return undefined
    return { role, content: content(message["content"]) }
  })
  return messages === undefined ? undefined : defined({ description: text(u["description"]), messages })
}

export const readContents = (u: unknown): ReadonlyArray<McpClient.ResourceContents> | undefined =>
  Predicate.isReadonlyRecord(u) ? entries(u["contents"], contents) : undefined

export const progress = (fields: Fields): McpClient.Progress | undefined => {
  const done = amount(fields["progress"])
  return done === undefined
    ? undefined
    : defined({ progress: done, total: amount(fields["total"]), message: text(fields["message"]) })
}

/** One page of a list, and the cursor of the next. */
export const page = <A>(
  u: unknown,
  key: string,
  read: (entry: Fields) => A | undefined
): { readonly items: ReadonlyArray<A>; readonly next: string | undefined } | undefined => {
  const items = Predicate.isReadonlyRecord(u) ? entries(u[key], read) : undefined
  return items === undefined ? undefined : { items, next: text((u as Fields)["nextCursor"]) }
}

const hasToolTasks = ({ tasks }: Fields): boolean => {
  const requests = Predicate.isReadonlyRecord(tasks) ? tasks["requests"] : undefined
  const tools = Predicate.isReadonlyRecord(requests) ? requests["tools"] : undefined
  return Predicate.isReadonlyRecord(tools) && Predicate.isReadonlyRecord(tools["call"])
}

/** The parts of `initialize` that the SDK keeps separately. */
export const serverInfo = (given: {
  readonly version: unknown
  readonly capabilities: unknown
  readonly instructions: unknown
  readonly protocolVersion: unknown
}): McpClient.ServerInfo => {
  const version = Predicate.isReadonlyRecord(given.version) ? given.version : {}
  const capabilities = Predicate.isReadonlyRecord(given.capabilities) ? given.capabilities : {}
  return defined({
    name: text(version["name"]) ?? "",
    version: text(version["version"]) ?? "",
    title: text(version["title"]),
    protocolVersion: text(given.protocolVersion),
    instructions: text(given.instructions),
    capabilities: {
      tools: Predicate.isReadonlyRecord(capabilities["tools"]),
      resources: Predicate.isReadonlyRecord(capabilities["resources"]),
      prompts: Predicate.isReadonlyRecord(capabilities["prompts"]),
      ...(hasToolTasks(capabilities) ? { tasks: true } : {})
    }
  })
}
