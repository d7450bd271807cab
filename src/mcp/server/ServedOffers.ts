/**
 * The prompts and resources of a server, as one caller sees them.
 *
 * @private
 * @since 0.1.0
 */
import type {
  CompleteRequest,
  CompleteResult,
  GetPromptResult,
  ReadResourceResult
} from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { Identity } from "../../http/api/Authentication.js"
import type { Item } from "../offer/McpDefinition.js"
import type { Complete, Prompt, Request, Resource, ResourceTemplate, Source } from "../offer/McpOffers.js"
import { McpServerError } from "../offer/McpServerError.js"
import * as ServedContent from "./ServedContent.js"
import type { Sdk } from "./ServedSdk.js"

const MOST_URI = 2_048
const MOST_VALUES = 100

type Permits = (caller: Identity, item: Item) => boolean

interface Matched {
  readonly template: ResourceTemplate<any>
  readonly variables: Readonly<Record<string, string>>
}

const unknown = (what: string): McpServerError =>
  new McpServerError({ reason: "unknown", message: `This server has no such ${what}` })

const invalid = (message: string): McpServerError => new McpServerError({ reason: "invalid", message })

/** Variables of a template are single texts here: lists are joined as they came. */
const textsOf = (
  matched: Readonly<Record<string, string | ReadonlyArray<string>>>
): Record<string, string> | undefined => {
  const texts: Array<[string, string]> = []
  for (const [name, value] of Object.entries(matched)) {
    try {
      texts.push([name, decodeURIComponent(typeof value === "string" ? value : value.join(","))])
    } catch {
      return undefined
    }
  }
  return Object.fromEntries(texts)
}

/**
 * @category models
 */
export class ServedOffers {
  private readonly matchers: ReadonlyArray<readonly [ResourceTemplate<any>, InstanceType<Sdk["UriTemplate"]>]>

  constructor(
    sdk: Sdk,
    private readonly sources: ReadonlyArray<Source<any>>,
    private readonly permits: Permits
  ) {
    this.matchers = sources.flatMap(({ templates = [] }) =>
      templates.map((template) => [template, new sdk.UriTemplate(template.uriTemplate)] as const)
    )
  }

  private all<A>(
    of: (source: Source<any>) => Effect.Effect<ReadonlyArray<A>, McpServerError, any> | undefined,
    isPermitted: (item: A) => boolean
  ): Effect.Effect<ReadonlyArray<A>, McpServerError, any> {
    return Effect.map(
      Effect.forEach(this.sources, (source) => of(source) ?? Effect.succeed([])),
      (lists) => lists.flat().filter(isPermitted)
    )
  }

  prompts(request: Request) {
    return this.all(
      (source) => source.prompts?.(request),
      ({ name }) => this.permits(request.caller, { kind: "prompt", name })
    )
  }

  resources(request: Request) {
    return this.all(
      (source) => source.resources?.(request),
      ({ uri }) => this.permits(request.caller, { kind: "resource", name: uri })
    )
  }

  templates({ caller }: Request): ReadonlyArray<ResourceTemplate<any>> {
    return this.matchers
      .map(([template]) => template)
      .filter(({ uriTemplate }) => this.permits(caller, { kind: "resource", name: uriTemplate }))
  }

  private prompt(name: string, request: Request): Effect.Effect<Prompt<any>, McpServerError, any> {
    return Effect.flatMap(this.prompts(request), (all) => {
      const found = all.find((prompt) => prompt.name === name)
      return found === undefined ? invalid("This server has no such prompt") : Effect.succeed(found)
    })
  }

  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    request: Request
  ): Effect.Effect<GetPromptResult, McpServerError, any> {
    return Effect.flatMap(this.prompt(name, request), (prompt) => {
      const known = prompt.arguments ?? []
      const missing = known.find(({ name, required }) => required === true && !Object.hasOwn(args, name))
      if (missing !== undefined) return invalid(`The prompt needs the argument ${missing.name}`)
      const given = known.flatMap(({ name }) => (Object.hasOwn(args, name) ? [[name, args[name] as string]] : []))
      return Effect.map(prompt.get(Object.fromEntries(given), request), (messages) =>
        ServedContent.toPromptResult(prompt.description, messages)
      )
    })
  }

  private find(uri: string, request: Request): Effect.Effect<Resource<any> | Matched, McpServerError, any> {
    if (uri.length > MOST_URI) return unknown("resource")
    return Effect.flatMap(this.resources(request), (all): Effect.Effect<Resource<any> | Matched, McpServerError> => {
      const own = all.find((resource) => resource.uri === uri)
      if (own !== undefined) return Effect.succeed(own)
      for (const [template, matcher] of this.matchers) {
        if (!this.permits(request.caller, { kind: "resource", name: template.uriTemplate })) continue
        const matched = matcher.match(uri)
        const variables = matched === null ? undefined : textsOf(matched)
        if (variables !== undefined) return Effect.succeed({ template, variables })
      }
      return unknown("resource")
    })
  }

  read(uri: string, request: Request): Effect.Effect<ReadResourceResult, McpServerError, any> {
    return Effect.flatMap(this.find(uri, request), (found) => {
      const [mimeType, read] =
        "template" in found
          ? [found.template.mimeType, found.template.read(found.variables, { ...request, uri })]
          : [found.mimeType, found.read(request)]
      return Effect.map(read, (contents) => ServedContent.toReadResult(uri, mimeType, contents))
    })
  }

  /** The changes of a resource that the caller may read. */
  changes(
    uri: string,
    request: Request
  ): Effect.Effect<Stream.Stream<unknown, never, any> | undefined, McpServerError, any> {
    return Effect.map(this.find(uri, request), (found) =>
      "template" in found ? found.template.changes?.(found.variables, { ...request, uri }) : found.changes?.(request)
    )
  }

  complete(
    { argument, context, ref }: CompleteRequest["params"],
    request: Request
  ): Effect.Effect<CompleteResult, McpServerError, any> {
    const found: Effect.Effect<Complete<any> | undefined, McpServerError, any> =
      ref.type === "ref/prompt"
        ? Effect.map(
            this.prompt(ref.name, request),
            ({ arguments: known = [] }) => known.find(({ name }) => name === argument.name)?.complete
          )
        : Effect.suspend(() => {
            const template = this.templates(request).find(({ uriTemplate }) => uriTemplate === ref.uri)
            if (template === undefined) return unknown("template of resources")
            const { complete = {} } = template
            return Effect.succeed(Object.hasOwn(complete, argument.name) ? complete[argument.name] : undefined)
          })
    return Effect.flatMap(
      found,
      (complete): Effect.Effect<CompleteResult, McpServerError, any> =>
        complete === undefined
          ? Effect.succeed({ completion: { values: [] } })
          : Effect.map(complete(argument.value, { ...request, others: context?.arguments ?? {} }), (values) => ({
              completion: {
                values: values.slice(0, MOST_VALUES),
                total: values.length,
                hasMore: values.length > MOST_VALUES
              }
            }))
    )
  }
}
