/** Doubles of all collaborators of an executor, as layers. Each records its calls and has no effects. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as Governance from "../../src/governance/Governance.js"
import * as Guard from "../../src/guard/pipeline/Guard.js"
import type { JsonSchema, LlmRequest, Message, ToolDefinition } from "../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import type { MemoryEntry } from "../../src/memory/entry/MemoryEntry.js"
import { StorageError } from "../../src/memory/entry/MemoryError.js"
import type { Outcome } from "../../src/memory/procedural/ProceduralMemory.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import { begin, type Session, type SessionTurn } from "../../src/session/turn/Session.js"
import { SessionNotFoundError, SessionStorageError } from "../../src/session/turn/SessionError.js"
import * as Skill from "../../src/skill/definition/Skill.js"
import type { SkillDefinition, SkillResult } from "../../src/skill/definition/SkillDefinition.js"
import type { SkillError } from "../../src/skill/definition/SkillError.js"
import * as SkillExecutor from "../../src/skill/execute/SkillExecutor.js"
import * as SkillRegistry from "../../src/skill/execute/SkillRegistry.js"

/** Calls of governance, in order. */
export type Told =
  | { readonly op: "reserve"; readonly request: Governance.ReserveRequest }
  | {
      readonly op: "settle"
      readonly id: string
      readonly total: number | undefined
      readonly cost: number | undefined
    }
  | { readonly op: "refund"; readonly id: string }
  | { readonly op: "audit"; readonly entry: Governance.AuditEntry }
  | { readonly op: "release"; readonly rootRunId: string }

/** Governance that allows and books everything, except the given methods. */
export const governance = (
  over: Partial<Governance.Service> = {}
): { readonly service: Governance.Service; readonly told: Array<Told> } => {
  const told: Array<Told> = []
  const note = (one: Told) => Effect.sync(() => void told.push(one))
  let reserved = 0
  return {
    told,
    service: {
      checkRequest: () => Effect.succeed(Governance.allow()),
      checkBudget: () => Effect.succeed(true),
      checkGuardrail: () => Effect.succeed(Governance.allow()),
      checkToolCall: () => Effect.succeed(Governance.allow()),
      reserve: (request) => Effect.map(note({ op: "reserve", request }), () => ({ id: `r${++reserved}`, ...request })),
      settle: ({ id }, usage, settlement) =>
        note({ op: "settle", id, total: usage.totalTokens, cost: settlement?.cost }),
      refund: ({ id }) => note({ op: "refund", id }),
      trackCost: () => Effect.void,
      audit: (entry) => note({ op: "audit", entry }),
      release: (rootRunId) => note({ op: "release", rootRunId }),
      getBudget: () => Effect.succeed({ spent: 0, reserved: 0 }),
      ...over
    }
  }
}

/** Sessions in memory, owned by their users, that keep each turn id once. */
export const sessions = (over: Partial<SessionManager.Service> = {}) => {
  const kept = new Map<string, Session>()
  const turns = new Map<string, Array<SessionTurn>>()
  const sees = (session: Session, access: SessionManager.Access | undefined) => access?.userId === session.userId
  const find = (id: string, access: SessionManager.Access | undefined) =>
    Effect.suspend(() => {
      const session = kept.get(id)
      return session !== undefined && sees(session, access)
        ? Effect.succeed(session)
        : Effect.fail(new SessionNotFoundError({ sessionId: id, message: "The session was not found" }))
    })
  const unused = () => Effect.dieMessage("not a part of these tests")
  const service: SessionManager.Service = {
    create: (options) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const id = options?.id
        if (id === undefined) return unused()
        if (kept.has(id)) return find(id, options)
        const session: Session = {
          ...begin(id, { at: now, userId: options?.userId }),
          ...(options?.systemPrompt === undefined ? {} : { systemPrompt: options.systemPrompt })
        }
        kept.set(id, session)
        return Effect.succeed(session)
      }),
    beginExchange: () => Effect.void,
    endExchange: (id, { turns, userId }) =>
      Effect.forEach(turns, (turn) => service.addTurn(id, turn, userId === undefined ? {} : { userId })) as ReturnType<
        SessionManager.Service["endExchange"]
      >,
    recover: Effect.succeed([]),
    keepsFiles: false,
    attach: unused,
    file: unused,
    maxTurnBytes: Number.POSITIVE_INFINITY,
    resume: find,
    claim: unused,
    get: (id, access) =>
      Effect.map(
        Effect.option(find(id, access)),
        Option.filter(() => true)
      ),
    list: unused,
    addTurn: (id, turn, access) =>
      Effect.map(find(id, access), () => {
        const list = turns.get(id) ?? []
        turns.set(id, list)
        const known = list.find((one) => one.id === turn.id)
        if (known !== undefined) return known
        const last = list.at(-1)
        const added: SessionTurn = {
          ...turn,
          sessionId: id,
          depth: list.length + 1,
          ...(last === undefined ? {} : { parent: { sessionId: id, turnId: last.id } })
        }
        list.push(added)
        return added
      }),
    turns: (id, options) =>
      Effect.map(find(id, options), () => (options.last === 0 ? [] : (turns.get(id) ?? []).slice(-options.last))),
    update: unused,
    checkpoint: unused,
    checkpoints: unused,
    restore: unused,
    suspend: unused,
    close: unused,
    delete: unused,
    expireIdle: unused,
    health: Effect.void,
    ...over
  }
  return {
    service,
    layer: Layer.succeed(SessionManager.SessionManager, service),
    kept,
    turns: (id: string): ReadonlyArray<SessionTurn> => turns.get(id) ?? []
  }
}

/** A memory that keeps entries by id and recalls all entries of an owner. */
export const memory = (over: Partial<WorkingMemory.Service> = {}) => {
  const entries = new Map<string, MemoryEntry>()
  const asked: Array<WorkingMemory.AssembleOptions> = []
  const learned: Array<Outcome> = []
  const ofOwner = (ownerId: string) => Array.from(entries.values()).filter((entry) => entry.ownerId === ownerId)
  const service: WorkingMemory.Service = {
    assemble: (options) =>
      Effect.sync(() => {
        asked.push(options)
        return { entries: ofOwner(options.ownerId), facts: [], tools: [], tokens: 0, report: [] }
      }),
    add: (entry) => Effect.sync(() => void entries.set(entry.id, entry)),
    addAll: (all) =>
      Effect.sync(() => {
        for (const entry of all) entries.set(entry.id, entry)
      }),
    getContextEntries: ({ ownerId }) => Effect.sync(() => ofOwner(ownerId)),
    flush: () => Effect.void,
    learn: (outcome) => Effect.sync(() => void learned.push(outcome)),
    health: Effect.void,
    ...over
  }
  return {
    service,
    layer: Layer.succeed(WorkingMemory.WorkingMemory, service),
    asked,
    learned,
    entries: (): ReadonlyArray<MemoryEntry> => Array.from(entries.values())
  }
}

export const storageError = new StorageError({ message: "the disk is full" })

/** Skills by definition; `execute` answers. */
export const skills = (
  definitions: ReadonlyArray<
    ToolDefinition & Partial<Pick<SkillDefinition, "requiresConfirmation" | "timeoutSeconds" | "maxRetries">>
  >,
  execute: (request: SkillExecutor.ExecuteRequest) => Effect.Effect<SkillResult, SkillError>,
  over: Partial<SkillRegistry.Service> = {}
) => {
  const executed: Array<SkillExecutor.ExecuteRequest> = []
  const schemas: ReadonlyArray<ToolDefinition> = definitions.map(({ description, name, parameters }) => ({
    name,
    description,
    parameters
  }))
  const made = definitions.map(({ description, maxRetries, name, parameters, requiresConfirmation, timeoutSeconds }) =>
    Skill.fromJsonSchema(name, {
      description,
      parameters,
      maxRetries,
      requiresConfirmation,
      timeout: timeoutSeconds && `${timeoutSeconds} seconds`,
      handler: () => Effect.dieMessage("skills are executed by their executor")
    })
  )
  const registry: SkillRegistry.Service = {
    register: () => Effect.void,
    replace: () => Effect.void,
    unregister: () => Effect.succeed(false),
    changes: Stream.empty,
    get: (name) => Effect.succeed(Option.fromNullable(made.find((one) => one.definition.name === name))),
    list: () => Effect.succeed(made.map((one) => one.definition)),
    schemas: () => Effect.succeed(schemas),
    ...over
  }
  return {
    executed,
    layer: Layer.merge(
      Layer.succeed(SkillRegistry.SkillRegistry, registry),
      Layer.succeed(SkillExecutor.SkillExecutor, {
        execute: (request) =>
          Effect.zipRight(
            Effect.sync(() => executed.push(request)),
            execute(request)
          ),
        run: () => Effect.dieMessage("skills are executed by name here")
      })
    )
  }
}

/** A log that keeps everything in one list. */
export const log = (over: Partial<RunLog.Service> = {}) => {
  const events: Array<AgentEvent> = []
  return {
    events,
    layer: Layer.succeed(RunLog.RunLog, {
      enabled: true,
      append: (more) => Effect.sync(() => void events.push(...more)),
      read: (runId) => Effect.succeed(events.filter((event) => event.runId === runId)),
      ...over
    })
  }
}

/** A guard from a function of the text: `undefined` passes, a string replaces the text, `false` blocks. */
export const guard = (
  name: string,
  stages: ReadonlyArray<Guard.GuardStage>,
  judge: (text: string, context: Guard.GuardContext) => string | false | undefined
): Guard.Guard => ({
  name,
  stages,
  check: (content, context) =>
    Effect.sync(() => {
      const verdict = judge(content, context)
      return verdict === undefined
        ? Guard.pass(name)
        : verdict === false
          ? Guard.block(name, { reason: "forbidden" })
          : Guard.redact(name, verdict, { reason: "private" })
    })
})

/** Texts of messages, by role. */
export const said = (messages: ReadonlyArray<Message>): ReadonlyArray<string> =>
  messages.map(
    (message) =>
      `${message.role}: ${typeof message.content === "string" ? message.content : JSON.stringify(message.content)}`
  )

export const sessionDown = new SessionStorageError({ message: "the disk is full" })

export const overloaded = new LlmUnavailableError({ message: "overloaded", provider: "test", status: 503 })

/** The JSON format requested. */
export const formatOf = (request: LlmRequest): { readonly name: string; readonly schema: JsonSchema } => {
  const format = request.responseFormat
  if (format?.type !== "json") throw new Error("the request asks for no JSON")
  return format
}

/** References of a JSON Schema that do not resolve from its top. */
export const danglingReferences = (schema: JsonSchema): ReadonlyArray<string> =>
  Array.from(JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g), (match) => match[1]!).filter((reference) => {
    const path = reference
      .slice(2)
      .split("/")
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    return path.reduce((value: any, key) => value?.[key], schema) === undefined
  })
