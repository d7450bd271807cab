/**
 * Reads names of files in a zip, which tell office documents apart.
 *
 * @private
 * @since 0.1.0
 */

/** Bytes that are searched at the beginning and at the end, where the directory is. */
const searched = 65_536

const localHeader = { mark: 0x03, length: 26, name: 30 }
const directoryHeader = { mark: 0x01, length: 28, name: 46 }

const namesIn = (bytes: Uint8Array, names: Set<string>): void => {
  for (let at = bytes.indexOf(0x50); at !== -1 && at + 30 < bytes.length; at = bytes.indexOf(0x50, at + 1)) {
    if (bytes[at + 1] !== 0x4b) continue
    const header = [localHeader, directoryHeader].find(
      ({ mark }) => bytes[at + 2] === mark && bytes[at + 3] === mark + 1
    )
    if (header === undefined) continue
    const length = (bytes[at + header.length] ?? 0) + 256 * (bytes[at + header.length + 1] ?? 0)
    if (length > 0 && length <= 256)
      names.add(String.fromCharCode(...bytes.subarray(at + header.name, at + header.name + length)))
  }
}

/**
 * The type of an office document, by the folder of its main part; `undefined` for any other zip.
 *
 * @category getters
 */
export const containerType = (bytes: Uint8Array, types: { readonly [folder: string]: string }): string | undefined => {
  const names = new Set<string>()
  namesIn(bytes.subarray(0, searched), names)
  if (bytes.length > searched) namesIn(bytes.subarray(Math.max(searched, bytes.length - searched)), names)
  if (!names.has("[Content_Types].xml")) return undefined
  for (const [folder, type] of Object.entries(types)) {
    for (const name of names) if (name.startsWith(`${folder}/`)) return type
  }
  return undefined
}
