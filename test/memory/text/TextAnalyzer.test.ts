import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as IrregularWords from "../../../src/memory/text/IrregularWords.js"
import * as TextAnalyzer from "../../../src/memory/text/TextAnalyzer.js"
import * as Growth from "../../support/Growth.js"

const english = (text: string) => TextAnalyzer.english.analyze(text)

const same = (a: string, b: string) => assert.deepStrictEqual(english(a), english(b))

describe("TextAnalyzer.english", () => {
  it("stems words and keeps their order and number", () => {
    assert.deepStrictEqual(english("Running runs: the runner RAN, connected connections"), [
      "run",
      "run",
      "runner",
      "run",
      "connect",
      "connect"
    ])
  })

  it("leaves out function words, including contractions", () => {
    assert.deepStrictEqual(english("he him his she her they them their you your we us our I me my"), [])
    assert.deepStrictEqual(english("It is what they've been; I'm not, we couldn't, don't, he'll, it's"), [])
  })

  it("keeps words that queries use and entries are about", () => {
    assert.deepStrictEqual(english("The planning task failed first in May"), ["plan", "task", "fail", "first", "mai"])
  })

  it("removes possessives with any apostrophe", () => {
    same("Caroline's dog", "caroline dog")
    same("Caroline’s dog", "Carolineʼs dog")
  })

  it("finds names and elisions with an apostrophe by both forms", () => {
    assert.includeMembers([...english("O'Brien")], ["obrien", "brien"])
    assert.includeMembers([...english("L’avion")], ["avion"])
  })

  it("equates Unicode forms, widths, cases and missing diacritics of a word", () => {
    same("résumé", "re\u0301sume\u0301")
    same("résumé", "resume")
    same("ＡＢＣ ﬁle", "abc file")
    same("STRASSE Müller", "straße muller")
    same("İstanbul", "istanbul")
    same("ЁЛКА", "елка")
    same("Ἀθῆναι", "αθηναι")
    same("مُحَمَّد", "محمد")
    same("שָׁלוֹם", "שלום")
    same("so\u00adft\u200bware", "software")
  })

  it("keeps marks that make another letter", () => {
    assert.notDeepEqual(english("が"), english("か"))
    assert.deepStrictEqual(english("हिन्दी"), ["हिन्दी".normalize("NFC")])
  })

  it("splits words at hyphens, underscores and capitals, and also keeps the whole", () => {
    assert.deepStrictEqual(english("getUserName"), ["get", "user", "name", "getusernam"])
    assert.deepStrictEqual(english("XMLHttpRequest"), ["xml", "http", "request", "xmlhttprequest"])
    assert.deepStrictEqual(english("snake_case"), ["snake", "case", "snakecas"])
    assert.deepStrictEqual(english("e-mail GPT-4"), ["e", "mail", "email", "gpt", "4", "gpt4"])
    assert.deepStrictEqual(english("state-of-the-art"), ["state", "art", "stateoftheart"])
    assert.deepStrictEqual(english("WiFi iPhone NASA B2B"), ["wi", "fi", "wifi", "phone", "iphon", "nasa", "b2b"])
  })

  it("distinguishes languages that differ in a sign", () => {
    assert.deepStrictEqual(english("C, C++ and C# (F#)"), ["c", "c++", "c#", "f#"])
    assert.deepStrictEqual(english("c + c"), ["c", "c"])
  })

  it("keeps numbers, dates, times and versions", () => {
    assert.deepStrictEqual(english("1,000.50 3.14 42% $7"), ["1000.50", "3.14", "42", "7"])
    assert.deepStrictEqual(english("2024-01-15"), ["2024-01-15", "2024", "01", "15"])
    same("2024/01/15", "2024-01-15")
    assert.deepStrictEqual(english("15.01.2024, 10:30"), ["15.01.2024", "15", "01", "2024", "10:30", "10", "30"])
    assert.deepStrictEqual(english("1,2,3 and 1,0000"), ["1", "2", "3", "1", "0000"])
    assert.deepStrictEqual(english("v1.2.3"), ["v1", "2.3"])
  })

  it("reads scripts without spaces as pairs of characters", () => {
    assert.deepStrictEqual(english("東京タワー"), ["東京", "京タ", "タワ", "ワー", "東", "京"])
    assert.deepStrictEqual(english("東"), ["東"])
    assert.deepStrictEqual(english("Tokyo東京2020年"), ["tokyo", "東京", "東", "京", "2020", "年"])
    assert.deepStrictEqual(english("𠮷野家"), ["𠮷野", "野家", "𠮷", "野", "家"])
    assert.includeMembers([...english("สวัสดีครับ")], [...english("ครับ")])
    assert.includeMembers([...english("今日は東京タワーに行きました。")], [...english("東京タワー")])
  })

  it("searches single characters only if a query has one alone", () => {
    const query = (text: string) => TextAnalyzer.queryTerms(TextAnalyzer.english, text)
    assert.deepStrictEqual(query("猫"), ["猫"])
    assert.deepStrictEqual(query("東京タワー"), ["東京", "京タ", "タワ", "ワー"])
    assert.deepStrictEqual(query("犬 猫 running"), ["犬", "猫", "run"])
    assert.includeMembers([...english("我的猫很可爱")], [...query("猫")])
    assert.includeMembers([...english("うちの猫は黒い")], [...query("猫")])
    assert.deepStrictEqual(TextAnalyzer.queryTerms({ name: "own", analyze: (text) => [text] }, "猫"), ["猫"])
  })

  it("reads Korean as words and as pairs", () => {
    assert.deepStrictEqual(english("한국어"), ["한국어", "한국", "국어"])
    assert.deepStrictEqual(english("나 한국"), ["나", "한국"])
  })

  it("reads each pictogram by itself, without color modifiers", () => {
    assert.deepStrictEqual(english("🎉party🎉"), ["🎉", "parti", "🎉"])
    assert.deepStrictEqual(english("❤️"), ["❤"])
    assert.deepStrictEqual(english("👩‍👧"), ["👩", "👧"])
  })

  it("leaves words of other languages alone except for English-looking endings", () => {
    assert.deepStrictEqual(english("Die Wohnung über dem Bäcker"), ["die", "wohnung", "uber", "dem", "backer"])
    assert.deepStrictEqual(english("Привет мир"), ["привет", "мир"])
    assert.deepStrictEqual(english("مرحبا بالعالم"), ["مرحبا", "بالعالم"])
  })

  it("finds nothing in an empty text", () => {
    assert.deepStrictEqual(english(""), [])
    assert.deepStrictEqual(english(" \t\n -- ... !? \ud800 \udc00 \u0301"), [])
  })

  it("reads property names of objects as words", () => {
    assert.deepStrictEqual(TextAnalyzer.plain.analyze("__proto__ constructor toString hasOwnProperty"), [
      "proto",
      "constructor",
      "to",
      "string",
      "tostring",
      "has",
      "own",
      "property",
      "hasownproperty"
    ])
  })

  it("returns non-empty terms of bounded length for any text", () => {
    const piece = FastCheck.oneof(
      FastCheck.string({ unit: "binary", maxLength: 40 }),
      FastCheck.constantFrom(
        "'",
        "-",
        "_",
        ".",
        ",",
        "a",
        "A",
        "1",
        "東",
        "한",
        "ー",
        "\u0301",
        "\ud83d",
        "👩",
        "#",
        "+",
        "s"
      )
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("")
        for (const analyzer of [TextAnalyzer.english, TextAnalyzer.plain]) {
          const terms = analyzer.analyze(text)
          for (const term of terms) {
            assert.isAbove(term.length, 0)
            assert.isAtMost(term.length, TextAnalyzer.maxTerm + 2)
          }
          assert.deepStrictEqual(analyzer.analyze(text), terms)
        }
      }),
      { numRuns: 300 }
    )
  })

  const repeated = {
    "one word": "a",
    hyphens: "a-",
    capitals: "aB",
    apostrophes: "x'",
    figures: "1,",
    "grouped figures": "1,000,",
    dots: "1.",
    Han: "東",
    Hangul: "한",
    ligatures: "\ufdfa",
    marks: "\u0301",
    "marks out of order": "\u0327\u0301",
    "marks of three scripts": "\u064b\u0301\u05b0",
    "letters with marks": "a\u0301\u0302",
    "Thai vowels": "\u0e34",
    pictograms: "👩",
    "halves of pairs": "\ud800",
    spaces: " ",
    signs: "+#"
  }
  for (const [name, unit] of Object.entries(repeated)) {
    it(`takes linear time for a text of only ${name}`, () => {
      Growth.assertLinearTexts([unit], TextAnalyzer.english.analyze, 100_000)
    })
  }

  it("reads a bounded part of a text", () => {
    const text = `${"x ".repeat(TextAnalyzer.maxCharacters / 2)}zebra`
    assert.notInclude(english(text), "zebra")
    assert.include(english(text.slice(10)), "zebra")
  })
})

describe("TextAnalyzer.english and irregular words", () => {
  it("takes a form for its base, and nothing else for another word", () => {
    const same = (one: string, other: string) =>
      assert.deepStrictEqual(TextAnalyzer.english.analyze(one), TextAnalyzer.english.analyze(other), `${one} ${other}`)
    same("I bought knives", "buying a knife")
    same("Children SWAM", "a child swims")
    same("it broke and was broken", "it breaks and was breaking")
    const own = ["found", "saw", "left", "lay", "wound", "rose", "bit", "drew", "constructor", "__proto__", "toString"]
    assert.strictEqual(new Set(own.map((word) => TextAnalyzer.english.analyze(word).join())).size, own.length)
  })

  it("has no base that is a form of another", () => {
    for (const base of IrregularWords.bases.values()) assert.isFalse(IrregularWords.bases.has(base), base)
    assert.isAtLeast(IrregularWords.bases.size, 150)
  })
})

describe("TextAnalyzer.make", () => {
  it("uses the given stop words and stems", () => {
    const german = TextAnalyzer.make({
      name: "german",
      stopWords: ["DIE", "über", "c'est"],
      stem: (word) => word.replace(/(?:en|er|e)$/, "")
    })
    assert.strictEqual(german.name, "german")
    assert.deepStrictEqual(german.analyze("Die Häuser über den Hause, c'est"), ["haus", "d", "haus"])
  })

  it("keeps every word with plain", () => {
    assert.deepStrictEqual(TextAnalyzer.plain.analyze("The Running of it"), ["the", "running", "of", "it"])
  })
})
