/**
 * Inputs of runs: text, and files beside it.
 *
 * @since 0.1.0
 */
import type { Options, Source, Text } from "../content/Content.js"

/**
 * A file by bytes, base64, a `data:` URL, or an http or https URL. `image` and `audio` refuse files of other kinds.
 *
 * @since 0.1.0
 * @category models
 */
export interface InputFile extends Pick<Options, "mediaType" | "fileName" | "maxBytes"> {
  readonly type: "file" | "image" | "audio"
  readonly data: Source
}

/**
 * @since 0.1.0
 * @category models
 */
export type Input = string | ReadonlyArray<Text | InputFile>
