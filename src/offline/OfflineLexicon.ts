/**
 * The few facts the offline model knows beside words: units, currencies, colours, where big cities lie. A request whose
 * words are in none of these tables is understood by its words alone.
 *
 * @internal
 * @since 0.1.0
 */

const table = (lines: ReadonlyArray<string>): ReadonlyMap<string, string> =>
  new Map(
    lines.flatMap((line) => {
      const [head = "", rest = ""] = line.split(":")
      return rest.split(",").map((word) => [word.trim().toLowerCase(), head] as const)
    })
  )

/**
 * What a unit measures: words that a parameter for it is likely to have in its name or description.
 *
 * @since 0.1.0
 * @category constants
 */
export const units: ReadonlyMap<string, string> = table([
  "time duration period year:years,year,yr,yrs,decades,century,centuries",
  "time duration period month:months,month",
  "time duration period week:weeks,week",
  "time duration period day stay:days,day",
  "duration period night stay:nights,night",
  "time duration hour:hours,hour,hr,hrs,h",
  "time duration minute:minutes,minute,min,mins",
  "time duration second:seconds,second,sec,secs,s,ms,milliseconds",
  "distance length height width radius depth size side base diameter wavelength displacement:m,meter,meters,metre,metres,km,kilometers,kilometres,kilometer,cm,centimeters,centimeter,mm,ft,feet,foot,inch,inches,in,yards,mi,miles,mile,nm,nanometers,light-years",
  "weight mass quantity:kg,kilograms,kilogram,g,grams,gram,lb,lbs,pounds,pound,oz,ounces,tons,mg",
  "speed velocity:m/s,km/h,mph,kmph,kph",
  "acceleration gravity:m/s²,m/s^2,m/s2",
  "frequency:hz,khz,mhz,ghz,hertz",
  "temperature:°c,°f,celsius,fahrenheit,kelvin,k",
  "angle degree temperature:degrees,degree,°,radians",
  "volume capacity:l,liters,litres,liter,ml,gallons,cups",
  "area size:m²,m^2,acres,hectares,sqft",
  "force:n,newtons,newton",
  "energy calories:j,joules,calories,kcal,kwh",
  "power:w,watts,watt,kw,mw",
  "voltage potential:v,volts,volt",
  "current:a,amps,amperes,ampere",
  "resistance:ohm,ohms",
  "pressure:pa,pascals,psi,atm",
  "charge:c,coulombs,coulomb",
  "servings people guests persons size adults party:people,persons,guests,person,adults,servings",
  "tempo:bpm",
  "efficiency:mpg"
])

/**
 * @since 0.1.0
 * @category constants
 */
export const currencies: ReadonlyMap<string, string> = table([
  "USD:dollar,dollars,us dollar,us dollars,usd,american dollars,american dollar,united states dollar",
  "EUR:euro,euros,eur",
  "GBP:british pound,british pounds,pounds sterling,sterling,gbp,pound sterling",
  "JPY:yen,japanese yen,jpy",
  "CAD:canadian dollar,canadian dollars,cad",
  "AUD:australian dollar,australian dollars,aud",
  "CHF:swiss franc,swiss francs,chf,francs",
  "CNY:chinese yuan,yuan,renminbi,cny",
  "INR:indian rupee,indian rupees,rupees,rupee,inr",
  "MXN:mexican peso,mexican pesos,mxn",
  "NZD:new zealand dollar,new zealand dollars,nzd",
  "SEK:swedish krona,sek",
  "NOK:norwegian krone,nok",
  "KRW:korean won,south korean won,won,krw",
  "SGD:singapore dollar,singapore dollars,sgd",
  "HKD:hong kong dollar,hong kong dollars,hkd",
  "BRL:brazilian real,reais,brl",
  "BTC:bitcoin,bitcoins,btc",
  "ETH:ethereum,eth"
])

/**
 * @since 0.1.0
 * @category constants
 */
export const currencySigns: ReadonlyMap<string, string> = new Map([
  ["$", "USD"],
  ["€", "EUR"],
  ["£", "GBP"],
  ["¥", "JPY"],
  ["₹", "INR"]
])

/**
 * @since 0.1.0
 * @category constants
 */
export const colors: ReadonlySet<string> = new Set(
  "red green blue yellow black white orange purple pink brown gray grey cyan magenta gold silver beige turquoise violet".split(
    " "
  )
)

/**
 * @since 0.1.0
 * @category constants
 */
export const languages: ReadonlySet<string> = new Set(
  "english french german spanish italian portuguese dutch russian chinese japanese korean arabic hindi turkish polish swedish greek".split(
    " "
  )
)

/**
 * The state of a city of the United States.
 *
 * @since 0.1.0
 * @category constants
 */
export const states: ReadonlyMap<string, string> = table([
  "California:los angeles,san francisco,san diego,san jose,sacramento,oakland,fresno,palo alto,berkeley,la",
  "New York:new york,new york city,buffalo,manhattan,brooklyn,nyc,queens",
  "Texas:houston,dallas,austin,san antonio,fort worth,el paso",
  "Florida:miami,orlando,tampa,jacksonville,tallahassee",
  "Illinois:chicago,springfield",
  "Washington:seattle,spokane,tacoma",
  "Massachusetts:boston,cambridge",
  "Pennsylvania:philadelphia,pittsburgh",
  "Georgia:atlanta,savannah",
  "Colorado:denver,boulder",
  "Nevada:las vegas,reno",
  "Arizona:phoenix,tucson,scottsdale",
  "Oregon:portland,eugene",
  "Michigan:detroit,ann arbor",
  "Minnesota:minneapolis,saint paul",
  "Tennessee:nashville,memphis",
  "Louisiana:new orleans,baton rouge",
  "Ohio:columbus,cleveland,cincinnati",
  "Utah:salt lake city",
  "Hawaii:honolulu",
  "North Carolina:charlotte,raleigh",
  "Missouri:st. louis,kansas city",
  "Wisconsin:milwaukee,madison",
  "Maryland:baltimore",
  "Indiana:indianapolis"
])

/**
 * The country of a city, and the full name behind some abbreviations.
 *
 * @since 0.1.0
 * @category constants
 */
export const countries: ReadonlyMap<string, string> = table([
  "USA:usa,us,united states,america,u.s,new york city",
  "United Kingdom:uk,united kingdom,great britain,london,manchester,edinburgh,liverpool",
  "France:france,paris,lyon,marseille,nice",
  "Germany:germany,berlin,munich,hamburg,frankfurt,cologne",
  "Italy:italy,rome,milan,venice,florence,naples",
  "Spain:spain,madrid,barcelona,seville,valencia",
  "Japan:japan,tokyo,osaka,kyoto,hiroshima",
  "China:china,beijing,shanghai,shenzhen",
  "India:india,delhi,new delhi,mumbai,bangalore,chennai",
  "Australia:australia,sydney,melbourne,brisbane,perth,canberra",
  "Canada:canada,toronto,vancouver,montreal,ottawa",
  "Brazil:brazil,rio de janeiro,sao paulo,brasilia",
  "Netherlands:netherlands,amsterdam,rotterdam",
  "Russia:russia,moscow,saint petersburg",
  "Egypt:egypt,cairo",
  "Greece:greece,athens",
  "Turkey:turkey,istanbul,ankara",
  "South Korea:south korea,seoul",
  "Switzerland:switzerland,zurich,geneva,bern",
  "Austria:austria,vienna",
  "Portugal:portugal,lisbon",
  "Ireland:ireland,dublin",
  "Sweden:sweden,stockholm",
  "Norway:norway,oslo",
  "Denmark:denmark,copenhagen",
  "Finland:finland,helsinki",
  "Mexico:mexico,mexico city",
  "Argentina:argentina,buenos aires",
  "Thailand:thailand,bangkok",
  "Poland:poland,warsaw"
])

const numerals: ReadonlyMap<string, number> = new Map(
  (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
      .split(" ")
      .map((word, value) => [word, value]) as Array<[string, number]>
  ).concat(
    "thirty forty fifty sixty seventy eighty ninety".split(" ").map((word, index) => [word, (index + 3) * 10]) as Array<
      [string, number]
    >,
    [
      ["dozen", 12],
      ["hundred", 100]
    ]
  )
)

/**
 * @since 0.1.0
 * @category getters
 */
export const numeral = (word: string): number | undefined => numerals.get(word)

/**
 * @since 0.1.0
 * @category constants
 */
export const multipliers: ReadonlyMap<string, number> = new Map([
  ["hundred", 100],
  ["thousand", 1e3],
  ["million", 1e6],
  ["billion", 1e9],
  ["trillion", 1e12],
  ["dozen", 12]
])

const ordinals = "first second third fourth fifth sixth seventh eighth ninth tenth".split(" ")

/**
 * `third` and `3rd` are 3, `last` is -1.
 *
 * @since 0.1.0
 * @category getters
 */
export const ordinal = (word: string): number | undefined => {
  if (word === "last") return -1
  const index = ordinals.indexOf(word)
  if (index >= 0) return index + 1
  const digits = /^(\d{1,4})(?:st|nd|rd|th)$/.exec(word)
  return digits === null ? undefined : Number(digits[1])
}

const monthNames = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ")

/**
 * A date as written. `month` and `day` count from 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface CalendarDate {
  readonly year?: number | undefined
  readonly month?: number | undefined
  readonly day?: number | undefined
  /** The rest of an ISO date-time, from its `T`. */
  readonly time?: string | undefined
}

/**
 * What a written date says. A year that is not written stays unknown: the offline model never takes today's.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parseDate = (text: string): CalendarDate => {
  const iso = /^(\d{4})-(\d{2})-(\d{2})(T.+)?$/.exec(text)
  if (iso !== null) return { year: Number(iso[1]), month: Number(iso[2]), day: Number(iso[3]), time: iso[4] }
  const slashed = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text)
  if (slashed !== null) {
    const [a, b] = [Number(slashed[1]), Number(slashed[2])]
    return a > 12 ? { year: Number(slashed[3]), month: b, day: a } : { year: Number(slashed[3]), month: a, day: b }
  }
  const name = /[a-z]{3,}/i.exec(text.replace(/\d(?:st|nd|rd|th)/gi, (match) => match.charAt(0)))
  const month = name === null ? -1 : monthNames.indexOf(name[0].slice(0, 3).toLowerCase())
  const year = /\d{4}/.exec(text)
  const day = /(?<!\d)\d{1,2}(?!\d)/.exec(text)
  return {
    year: year === null ? undefined : Number(year[0]),
    month: month < 0 ? undefined : month + 1,
    day: day === null ? undefined : Number(day[0])
  }
}

/**
 * `2024-05-01`, if the day is known.
 *
 * @since 0.1.0
 * @category conversions
 */
export const isoDate = (date: CalendarDate): string | undefined =>
  date.year === undefined || date.month === undefined || date.day === undefined || date.month > 12 || date.day > 31
    ? undefined
    : `${String(date.year).padStart(4, "0")}-${String(date.month).padStart(2, "0")}-${String(date.day).padStart(2, "0")}`
