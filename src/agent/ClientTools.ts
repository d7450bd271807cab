/**
 * Adds the tools of a request to those of its agent: their calls wait for what the caller answers.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as CanonicalJson from "../internal/text/CanonicalJson.js"
import * as PageTool from "../tool/client/PageTool.js"
import * as ClientTool from "../tool/definition/ClientTool.js"
import * as Tool from "../tool/definition/Tool.js"
import { ofCaller } from "../tool/definition/ToolCombinators.js"
import * as ToolSet from "../tool/definition/ToolSet.js"
import * as Agent from "./definition/Agent.js"

const make = (tool: ClientTool.ClientTool): Tool.Any =>
  Either.match(
    Tool.fromJsonSchema(tool.name, {
      description: tool.description ?? "",
      parameters: tool.parameters ?? { type: "object", properties: {} },
      // A question that is asked again gets the same answer.
      idempotent: true,
      retries: 0,
      handler: (params) => PageTool.call({ name: tool.name, params, expiresAfter: tool.expiresAfter, declared: false })
    }),
    {
      onLeft: Tool.invalid,
      onRight: ofCaller
    }
  )

const MOST = 256
/** Values of larger texts are not kept. */
const LARGEST = 16_384

/** The values that were made last, by their texts. */
export class RecentValues<A> {
  private readonly known = new Map<string, A>()

  constructor(private readonly isKept: (value: A) => boolean) {}

  get(text: string, make: () => A): A {
    const value = this.known.get(text) ?? make()
    if (text.length > LARGEST || !this.isKept(value)) return value
    this.known.delete(text)
    this.known.set(text, value)
    const oldest = this.known.keys().next()
    if (this.known.size > MOST && oldest.done !== true) this.known.delete(oldest.value)
    return value
  }
}

/** Many requests have the same tools: their schemas are compiled once. */
const known = new RecentValues<Tool.Any>(({ problem }) => problem === undefined)

/** The agent with the tools of a request in addition, or why it cannot have them. */
export const apply = (
  agent: Agent.Any,
  given: ReadonlyArray<ClientTool.ClientTool>
): Either.Either<Agent.Any, string> =>
  ClientTool.fromUnknown(given).pipe(
    Either.flatMap((tools) =>
      Either.try({
        try: () => tools.map((tool) => known.get(CanonicalJson.stringify(tool), () => make(tool))),
        catch: () => "one of them nests too deep"
      })
    ),
    Either.mapBoth({
      onLeft: (problem) => `The tools of the client are not valid: ${problem}`,
      onRight: (tools) => Agent.withTools(ToolSet.make(...tools))(agent)
    })
  )

const nobody = Agent.make("nobody")

/** Why a request cannot have these tools. The agent may be unknown: another process runs it. */
export const problemOf = (
  agent: Agent.Any | undefined,
  given: ReadonlyArray<ClientTool.ClientTool>
): string | undefined => {
  const equipped = apply(agent ?? nobody, given)
  if (Either.isLeft(equipped)) return equipped.left
  const own = agent?.definition.tools.problems ?? []
  return equipped.right.definition.tools.problems.find((problem) => !own.includes(problem))?.message
}
