/**
 * Folds Unicode forms and diacritics of a text.
 *
 * @private
 * @since 0.1.0
 */

const letters: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ß: "ss",
    ẞ: "SS",
    æ: "ae",
    Æ: "AE",
    œ: "oe",
    Œ: "OE",
    ø: "o",
    Ø: "O",
    đ: "d",
    Đ: "D",
    ð: "d",
    Ð: "D"
  }).concat(Object.entries({ ł: "l", Ł: "L", þ: "th", Þ: "TH", ı: "i", ħ: "h", Ħ: "H" }))
)

/**
 * Maps texts that read alike to one form: width and ligatures by NFKC, Latin, Greek and Cyrillic letters without
 * diacritics, Arabic and Hebrew without vowel signs. Marks that make another letter (Indic and Thai vowels, Japanese
 * voicing) stay. Cuts the text to `maxCharacters`.
 *
 * @category conversions
 */
export const fold = (text: string, maxCharacters: number): string =>
  text
    // Sorting the marks of one letter takes quadratic time.
    .replace(/(\p{M}{16})\p{M}+/gu, "$1")
    .normalize("NFKC")
    .slice(0, maxCharacters)
    .normalize("NFD")
    .replace(
      /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670\u00ad\u200b\u200c\u2060]+/g,
      ""
    )
    .normalize("NFC")
    .replace(/[ßẞæÆœŒøØđĐðÐłŁþÞıħĦ]/g, (letter) => letters.get(letter) ?? letter)
