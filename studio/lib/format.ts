/** Times, amounts and values as people read them. Times are those of the person's zone. */

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })
const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" })
const number = new Intl.NumberFormat()

const isSameDay = (a: number, b: number): boolean => new Date(a).toDateString() === new Date(b).toDateString()

/** Milliseconds since the epoch: the time of today, and the date with it otherwise. */
export const formatTime = (at: number): string => (isSameDay(at, Date.now()) ? time : dateTime).format(at)

export const formatDateTime = (at: number): string => dateTime.format(at)

/** Milliseconds. */
export const formatDuration = (milliseconds: number): string => {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  const seconds = milliseconds / 1000
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes} min ${Math.round(seconds % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export const formatNumber = (value: number): string => number.format(value)

/** US dollars. */
export const formatCost = (usd: number): string => `$${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`

/** The first characters of a long id, and the last ones. */
export const shortId = (id: string): string => (id.length <= 20 ? id : `${id.slice(0, 10)}…${id.slice(-6)}`)

/** A value as text; what JSON cannot have is shown by its kind. */
export const formatJson = (value: unknown): string => {
  if (typeof value === "string") return value
  try {
    return JSON.stringify(value, null, 2) ?? String(value)
  } catch {
    return String(value)
  }
}
