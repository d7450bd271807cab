/**
 * Data for a model to read: one JSON document whose strings nothing in them can close, and in which no token of a chat
 * template and no invisible character survives.
 */
export const stringify = (document: unknown): string =>
  JSON.stringify(document).replace(
    /[<>|\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
  )
