const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/** The numbers of a segment: in base 64, five bits a digit, the lowest first, and the sign as the lowest bit. */
const decode = (segment: string): ReadonlyArray<number> => {
  const numbers: Array<number> = []
  let value = 0
  let shift = 0
  for (const char of segment) {
    const digit = digits.indexOf(char)
    value += (digit & 31) << shift
    shift += 5
    if (digit >= 32) continue
    numbers.push(value & 1 ? -(value >> 1) : value >> 1)
    value = 0
    shift = 0
  }
  return numbers
}

const encode = (number: number): string => {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1
  let text = ""
  do {
    text += digits[(rest & 31) | (rest > 31 ? 32 : 0)]
    rest >>= 5
  } while (rest > 0)
  return text
}

/**
 * The mappings of a source map with one segment a line, which names the file and the line. That is what a stack trace shows, in a third of
 * the bytes.
 */
export const perLine = (mappings: string): string => {
  let [file, line] = [0, 0]
  let [lastFile, lastLine] = [0, 0]
  return mappings
    .split(";")
    .map((segments) => {
      let kept = ""
      for (const segment of segments === "" ? [] : segments.split(",")) {
        const [, fileStep, lineStep] = decode(segment)
        if (fileStep === undefined || lineStep === undefined) continue
        file += fileStep
        line += lineStep
        if (kept !== "") continue
        kept = `A${encode(file - lastFile)}${encode(line - lastLine)}A`
        lastFile = file
        lastLine = line
      }
      return kept
    })
    .join(";")
}
