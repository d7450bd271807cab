/**
 * The sources that results of tools name, such as those of `search_documents`, as chunks of AI SDK UI.
 *
 * @private
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { UiChunk } from "./UiChunk.js"

/** As `DocumentTools` shows them. `cite` is what the answer has where it uses the source. */
const decode = Schema.decodeUnknownOption(
  Schema.Struct({
    sources: Schema.Array(Schema.Struct({ cite: Schema.String, title: Schema.String, source: Schema.String }))
  })
)

const isLink = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

/**
 * The sources of one message, each once.
 *
 * @category models
 */
export class UiSources {
  private readonly known = new Set<string>()

  /** The sources of a result that were not shown yet. */
  of(result: unknown): ReadonlyArray<UiChunk> {
    const { sources } = Option.getOrElse(decode(result), () => ({ sources: [] }))
    return sources.flatMap(({ cite, source, title }): ReadonlyArray<UiChunk> => {
      const sourceId = cite.replace(/^\[(.+)\]$/, "$1")
      if (this.known.has(sourceId)) return []
      this.known.add(sourceId)
      return isLink(source)
        ? [{ type: "source-url", sourceId, url: source, title }]
        : [{ type: "source-document", sourceId, mediaType: "text/plain", title, filename: source }]
    })
  }
}
