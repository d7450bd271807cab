/** Parts of a whole as a bar of colors. The numbers are beside it as text: the bar is for the eye alone. */

export interface Part {
  readonly name: string
  readonly value: number
}

/** Each part by its share of `whole`; what is left of it stays empty. */
export const Stacked = ({ parts, whole }: { readonly parts: ReadonlyArray<Part>; readonly whole: number }) => (
  <div className="stacked" aria-hidden="true">
    {parts.map(({ name, value }, at) => (
      <span
        key={name}
        className={`tone-${at % 6}`}
        title={name}
        style={{ width: `${whole <= 0 ? 0 : Math.max(0, Math.min(100, (100 * value) / whole))}%` }}
      />
    ))}
  </div>
)

/** The color of a part in a bar. */
export const Swatch = ({ at }: { readonly at: number }) => (
  <span className={`swatch tone-${at % 6}`} aria-hidden="true" />
)
