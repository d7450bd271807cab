/**
 * Fences text of skills, so that nothing in it can pass for the end of it.
 *
 * @private
 * @since 0.1.0
 */
import * as Sha256 from "../../internal/text/Sha256.js"

/**
 * Puts a text between two marker lines. The marker is derived from the text until it does not occur in it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fenced = (label: string, text: string): string => {
  let mark = ""
  for (let attempt = 0; mark === "" || text.includes(mark); attempt++) {
    mark = Sha256.hex(`${attempt}\n${text}`).slice(0, 16)
  }
  return `[${label} ${mark} begins]\n${text}${text.endsWith("\n") ? "" : "\n"}[${label} ${mark} ends]`
}
