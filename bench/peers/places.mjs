/** The folders of the comparison. */
import * as Path from "node:path"
import { fileURLToPath } from "node:url"

export const here = Path.dirname(fileURLToPath(import.meta.url))
export const root = Path.resolve(here, "../..")
