/**
 * The skills of a catalog for MCP clients: each a prompt that activates it, and its files as resources.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Identity } from "../../http/api/Authentication.js"
import type { LoadedSkill } from "../../skill/definition/SkillFile.js"
import * as SkillCatalog from "../../skill/folder/SkillCatalog.js"
import type { Prompt, Request, Resource, Source } from "./McpOffers.js"
import { McpServerError } from "./McpServerError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The skills that a caller sees; default all. */
  readonly only?: ((caller: Identity, skill: Parameters<SkillCatalog.Choice>[0]) => boolean) | undefined
}

const FILE = "SKILL.md"

const uriOf = (name: string, path: string): string =>
  `skill://${encodeURIComponent(name)}/${path.split("/").map(encodeURIComponent).join("/")}`

/** What the folder of a skill looks like, and why a file cannot be read, is not the client's business. */
const unknown = () => new McpServerError({ reason: "unknown", message: "This server has no such skill or file" })

const mimeTypeOf = (path: string): string => (path.endsWith(".md") ? "text/markdown" : "text/plain")

/**
 * The catalog in the context of the server (`SkillCatalog`); without one, nothing. A skill is the prompt of its name,
 * whose argument `arguments` replaces `$ARGUMENTS`, and its files are the resources `skill://<name>/<path>`.
 *
 * @example
 * ```ts
 * import { McpServer, McpSkills } from "effect-lexigram/mcp"
 *
 * const desk = McpServer.make({
 *   name: "desk",
 *   version: "1.0.0",
 *   sources: [McpSkills.make({ only: ({ scopes = [] }, { name }) => name !== "deploy" || scopes.includes("admin") })]
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = ({ only = () => true }: Options = {}): Source => {
  const catalogOf = ({ caller }: Request): Effect.Effect<SkillCatalog.Service> =>
    Effect.map(
      Effect.serviceOption(SkillCatalog.SkillCatalog),
      Option.match({
        onNone: () => SkillCatalog.noop,
        onSome: (catalog) => SkillCatalog.filtered(catalog, (skill) => only(caller, skill))
      })
    )
  const promptOf =
    (catalog: SkillCatalog.Service) =>
    ({ file }: LoadedSkill): Prompt => ({
      name: file.name,
      description: file.description,
      arguments: [{ name: "arguments", description: "What the skill is used for" }],
      get: ({ arguments: given }) =>
        Effect.mapBoth(catalog.activate(file.name, given), { onFailure: unknown, onSuccess: ({ text }) => text })
    })
  const resourcesOf = ({ file, files }: LoadedSkill): ReadonlyArray<Resource> =>
    [FILE, ...files].map((path) => ({
      uri: uriOf(file.name, path),
      name: `${file.name}/${path}`,
      ...(path === FILE ? { description: file.description } : {}),
      mimeType: mimeTypeOf(path),
      read: (request) => Effect.flatMap(catalogOf(request), (catalog) => read(catalog, file.name, path))
    }))
  const read = (catalog: SkillCatalog.Service, name: string, path: string): Effect.Effect<string, McpServerError> =>
    Effect.mapError(
      path === FILE ? Effect.map(catalog.skill(name), ({ file }) => file.body) : catalog.readFile(name, path),
      unknown
    )
  return {
    prompts: (request) =>
      Effect.flatMap(catalogOf(request), (catalog) =>
        Effect.map(catalog.skills, (skills) => skills.map(promptOf(catalog)))
      ),
    resources: (request) =>
      Effect.flatMap(catalogOf(request), ({ skills }) => Effect.map(skills, (all) => all.flatMap(resourcesOf)))
  }
}
