/**
 * Keccak-256 as Ethereum uses it (the padding differs from SHA3-256), for texts of one block.
 *
 * @internal
 * @since 0.1.0
 */

const rounds = 24
const rate = 136

// Round constants as pairs of 32 bits (low, high), from the shift register of the specification.
const constants = ((): Uint32Array => {
  const result = new Uint32Array(2 * rounds)
  let register = 1
  for (let round = 0; round < rounds; round++) {
    for (let power = 0; power < 7; power++) {
      const bit = (1 << power) - 1
      if (register & 1) result[2 * round + (bit >> 5)]! ^= (1 << (bit & 31)) >>> 0
      register = register & 0x80 ? (register << 1) ^ 0x171 : register << 1
    }
  }
  return result
})()

// Where each lane goes and how far it is turned, in the order of the walk of ρ and π.
const targets = new Uint8Array(24)
const turns = new Uint8Array(24)
for (let step = 0, x = 1, y = 0; step < 24; step++) {
  const next = (2 * x + 3 * y) % 5
  x = y
  y = next
  targets[step] = x + 5 * y
  turns[step] = (((step + 1) * (step + 2)) / 2) % 64
}

const permute = (lanes: Uint32Array): void => {
  const low = new Uint32Array(5)
  const high = new Uint32Array(5)
  for (let round = 0; round < rounds; round++) {
    for (let x = 0; x < 5; x++) {
      low[x] = lanes[2 * x]! ^ lanes[2 * x + 10]! ^ lanes[2 * x + 20]! ^ lanes[2 * x + 30]! ^ lanes[2 * x + 40]!
      high[x] = lanes[2 * x + 1]! ^ lanes[2 * x + 11]! ^ lanes[2 * x + 21]! ^ lanes[2 * x + 31]! ^ lanes[2 * x + 41]!
    }
    for (let x = 0; x < 5; x++) {
      const right = (x + 1) % 5
      const left = (x + 4) % 5
      const l = low[left]! ^ ((low[right]! << 1) | (high[right]! >>> 31))
      const h = high[left]! ^ ((high[right]! << 1) | (low[right]! >>> 31))
      for (let y = 0; y < 50; y += 10) {
        lanes[2 * x + y]! ^= l
        lanes[2 * x + y + 1]! ^= h
      }
    }
    let l = lanes[2]!
    let h = lanes[3]!
    for (let step = 0; step < 24; step++) {
      const to = targets[step]!
      const by = turns[step]!
      const keptLow = lanes[2 * to]!
      const keptHigh = lanes[2 * to + 1]!
      const a = by < 32 ? l : h
      const b = by < 32 ? h : l
      const turn = by & 31
      lanes[2 * to] = turn === 0 ? a : (a << turn) | (b >>> (32 - turn))
      lanes[2 * to + 1] = turn === 0 ? b : (b << turn) | (a >>> (32 - turn))
      l = keptLow
      h = keptHigh
    }
    for (let y = 0; y < 50; y += 10) {
      for (let x = 0; x < 5; x++) {
        low[x] = lanes[2 * x + y]!
        high[x] = lanes[2 * x + y + 1]!
      }
      for (let x = 0; x < 5; x++) {
        lanes[2 * x + y] = low[x]! ^ (~low[(x + 1) % 5]! & low[(x + 2) % 5]!)
        lanes[2 * x + y + 1] = high[x]! ^ (~high[(x + 1) % 5]! & high[(x + 2) % 5]!)
      }
    }
    lanes[0]! ^= constants[2 * round]!
    lanes[1]! ^= constants[2 * round + 1]!
  }
}

/**
 * The hash of an ASCII text of less than 136 characters, as 64 hexadecimal digits.
 *
 * @since 0.1.0
 * @category hashing
 */
export const hex256 = (text: string): string => {
  const lanes = new Uint32Array(50)
  const put = (place: number, byte: number): void => {
    lanes[place >> 2]! ^= byte << (8 * (place & 3))
  }
  for (let index = 0; index < text.length; index++) put(index, text.charCodeAt(index))
  put(text.length, 0x01)
  put(rate - 1, 0x80)
  permute(lanes)
  let result = ""
  for (let place = 0; place < 32; place++) {
    result += ((lanes[place >> 2]! >>> (8 * (place & 3))) & 255).toString(16).padStart(2, "0")
  }
  return result
}
