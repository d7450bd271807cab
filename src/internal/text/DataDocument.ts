/**
 * Renders data for a model: one JSON document whose strings cannot be closed by their content, without chat template
 * tokens and invisible characters.
 */
export const stringify = (document: unknown): string =>
  JSON.stringify(document).replace(
    /[<>|\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
  )
