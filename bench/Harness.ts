/** Rows of results: each is the median of several verified runs. */

export interface Row {
  readonly row: string
  readonly subject: string
  readonly unit: string
  readonly median: number
  readonly min: number
  readonly max: number
  readonly runs: number
}

export interface Sample {
  /** Result of one run. */
  readonly value: number
  /** Expected counts of a run; a row with a difference is void. */
  readonly counts: Readonly<Record<string, number | string>>
}

const round = (value: number): number => Number(value.toPrecision(4))

export const makeRow = (
  row: string,
  subject: string,
  unit: string,
  samples: ReadonlyArray<Sample>,
  expected: Readonly<Record<string, number | string>>
): Row => {
  for (const sample of samples) {
    for (const [name, value] of Object.entries(expected)) {
      if (sample.counts[name] !== value) {
        throw new Error(`${row} / ${subject} is void: ${name} is ${sample.counts[name]}, expected ${value}`)
      }
    }
  }
  const values = samples.map((sample) => sample.value).sort((a, b) => a - b)
  const at = (index: number) => values[index] as number
  return {
    row,
    subject,
    unit,
    median: round(at(Math.floor(values.length / 2))),
    min: round(at(0)),
    max: round(at(values.length - 1)),
    runs: values.length
  }
}

/** CPU time of this process in microseconds, user and system. */
export const cpuMicros = (): number => {
  const usage = process.cpuUsage()
  return usage.user + usage.system
}

/** Runs the subjects in turn, round by round, so that noise of the machine affects all alike. */
export const interleave = async (
  subjects: Readonly<Record<string, () => Promise<Sample>>>,
  options: { readonly warmup: number; readonly runs: number }
): Promise<Record<string, ReadonlyArray<Sample>>> => {
  const samples: Record<string, ReadonlyArray<Sample>> = {}
  for (let round = 0; round < options.warmup + options.runs; round++) {
    for (const [name, run] of Object.entries(subjects)) {
      globalThis.gc?.()
      const sample = await run()
      if (round >= options.warmup) samples[name] = [...(samples[name] ?? []), sample]
    }
  }
  return samples
}
