/**
 * The client of the SDK, with what it offers to servers: folders, answers of a person, answers of a model.
 *
 * @private
 * @since 0.1.0
 */
import * as Version from "../domain/Version.js"
import type { Flights } from "./McpFlights.js"
import * as McpSampleWire from "./McpSampleWire.js"
import type { Sdk } from "./McpSdk.js"

export interface Options {
  readonly roots: ReadonlyArray<{ readonly uri: string; readonly name?: string | undefined }> | undefined
  readonly elicitation: boolean
  /** Absent: no model answers. */
  readonly sampling: McpSampleWire.Options | undefined
}

/** The code of the protocol for a request that was refused. */
const REFUSED = -1
const INVALID = -32602

export const makeClient = (
  { elicitation, roots, sampling, sdk }: Options & { readonly sdk: Sdk },
  flights: Flights
): InstanceType<Sdk["Client"]> => {
  const client = new sdk.Client(
    { name: "effect-lexigram", version: Version.version },
    {
      capabilities: {
        ...(roots === undefined ? {} : { roots: {} }),
        ...(elicitation ? { elicitation: { form: { applyDefaults: true } } } : {}),
        ...(sampling === undefined ? {} : { sampling: sampling.tools ? { tools: {} } : {} })
      }
    }
  )
  if (elicitation) {
    client.setRequestHandler(sdk.ElicitRequestSchema, async ({ params }, { signal }) => {
      if (!("requestedSchema" in params)) return { action: "cancel" }
      const answer = await flights.elicit({ message: params.message, schema: params.requestedSchema }, signal)
      return answer.action === "accept" ? { action: "accept", content: answer.content as never } : answer
    })
  }
  if (sampling !== undefined) {
    client.setRequestHandler(sdk.CreateMessageRequestSchema, async ({ params }, { signal }) => {
      const request = McpSampleWire.request(params, sampling)
      if (request === undefined) throw new sdk.McpError(INVALID, "The client takes no such tools, or no such content")
      const sampled = await flights.sample(request, signal)
      if (sampled === undefined) throw new sdk.McpError(REFUSED, "The request was refused")
      return McpSampleWire.result(sampled, request.tools !== undefined)
    })
  }
  if (roots !== undefined) {
    const list = roots.map(({ name, uri }) => (name === undefined ? { uri } : { uri, name }))
    client.setRequestHandler(sdk.ListRootsRequestSchema, () => ({ roots: list }))
  }
  return client
}
