/** How people announce the number of a document in twelve languages, in prose, forms, data and logs. */

type Language = "en" | "de" | "fr" | "es" | "it" | "nl" | "pt" | "pl" | "sv" | "da" | "no" | "fi"

/** `{w}` is the name of the number, `{v}` the number. */
const prose: { readonly [L in Language]: ReadonlyArray<string> } = {
  en: ["My {w} is {v}.", "Please note the {w} ({v}) on the form.", "{w} – {v}, issued last year"],
  de: ["Meine {w} lautet {v}.", "Bitte tragen Sie die {w} {v} in das Formular ein."],
  fr: ["Mon {w} est le {v}.", "Le dossier indique : {w} {v}."],
  es: ["Mi {w} es {v}.", "Anote el {w} {v} en la solicitud."],
  it: ["Il mio {w} è {v}.", "Nel modulo ho scritto {w} {v}."],
  nl: ["Mijn {w} is {v}.", "Vul {w} {v} in op het formulier."],
  pt: ["O meu {w} é {v}.", "Indique o {w} {v} no formulário."],
  pl: ["Mój {w} to {v}.", "W formularzu wpisano {w} {v}."],
  sv: ["Mitt {w} är {v}.", "Skriv {w} {v} på blanketten."],
  da: ["Mit {w} er {v}.", "Skriv {w} {v} på blanketten."],
  no: ["Mitt {w} er {v}.", "Skriv {w} {v} i skjemaet."],
  fi: ["Minun {w} on {v}.", "Kirjoita lomakkeeseen {w} {v}."]
}

/** Those that need no grammar. */
const forms: ReadonlyArray<string> = [
  "{w}: {v}",
  "{w} = {v};",
  '{"{w}": "{v}", "checked": true}',
  "| {w} | {v} |",
  "name;{w}\nSara Holm;{v}",
  "<label>{w}</label><input value='{v}'>",
  "<td>{w}</td>\n<td>{v}</td>",
  '2024-05-17T09:12:44Z INFO intake field="{w}" value={v}',
  "- {w}\n  {v}",
  "{w}\t{v}\n"
]

type Names = Partial<{ readonly [L in Language]: ReadonlyArray<string> }>

const passport: Names = {
  en: ["passport number", "passport no.", "passportNumber"],
  de: ["Reisepassnummer", "Passnummer"],
  fr: ["numéro de passeport"],
  es: ["número de pasaporte"],
  it: ["numero di passaporto"],
  nl: ["paspoortnummer"],
  pt: ["número do passaporte"],
  pl: ["numer paszportu"],
  sv: ["passnummer"],
  da: ["pasnummer"],
  no: ["passnummer"],
  fi: ["passin numero"]
}

const license: Names = {
  en: ["driver's license", "driving licence number", "driver_license"],
  de: ["Führerscheinnummer"],
  fr: ["permis de conduire"],
  es: ["permiso de conducir"],
  it: ["patente di guida"],
  nl: ["rijbewijsnummer"],
  pt: ["carta de condução"],
  pl: ["prawo jazdy"],
  sv: ["körkortsnummer"],
  da: ["kørekortnummer"],
  no: ["førerkortnummer"],
  fi: ["ajokortin numero"]
}

const plate: Names = {
  en: ["license plate", "number plate", "vehicle registration"],
  de: ["Kfz-Kennzeichen", "Nummernschild"],
  fr: ["plaque d'immatriculation"],
  es: ["matrícula"],
  it: ["targa"],
  nl: ["kenteken"],
  pt: ["matrícula"],
  pl: ["numer rejestracyjny"],
  sv: ["registreringsnummer"],
  da: ["nummerplade"],
  no: ["registreringsnummer"],
  fi: ["rekisterinumero"]
}

const tax: Names = {
  en: ["tax ID", "tax number", "taxpayer number", "tax_id"],
  de: ["Steuernummer"],
  fr: ["numéro fiscal"],
  es: ["número de identificación fiscal"],
  it: ["codice fiscale"],
  nl: ["fiscaal nummer"],
  pt: ["número de contribuinte"],
  pl: ["numer podatkowy"],
  sv: ["skattenummer"],
  da: ["skattenummer"],
  no: ["skattenummer"],
  fi: ["verotunnus"]
}

const vat: Names = {
  en: ["VAT number", "VAT ID", "vat_id"],
  de: ["USt-IdNr.", "Umsatzsteuer-ID"],
  fr: ["numéro de TVA"],
  es: ["IVA"],
  it: ["partita IVA"],
  nl: ["btw-nummer"],
  pt: ["IVA"],
  pl: ["NIP"],
  sv: ["momsnummer"],
  da: ["momsnummer"],
  no: ["MVA"],
  fi: ["ALV"]
}

const identity: Names = {
  en: ["national ID", "identity card number", "ID number", "national_id"],
  de: ["Ausweisnummer", "Personalausweis"],
  fr: ["numéro de carte d'identité"],
  es: ["documento de identidad"],
  it: ["carta d'identità"],
  nl: ["identiteitskaart"],
  pt: ["bilhete de identidade"],
  pl: ["numer dowodu"],
  sv: ["personnummer"],
  da: ["ID-kort"],
  no: ["fødselsnummer"],
  fi: ["henkilötunnus"]
}

const social: Names = {
  en: ["social security number", "social insurance number"],
  de: ["Sozialversicherungsnummer"],
  fr: ["numéro de sécurité sociale"],
  es: ["número de la seguridad social"],
  it: ["previdenza sociale"],
  pt: ["segurança social"],
  sv: ["socialförsäkringsnummer"],
  da: ["socialsikring"],
  no: ["trygdenummer"],
  fi: ["sosiaaliturvatunnus"]
}

const health: Names = {
  en: ["health insurance number", "patient number", "health card"],
  de: ["Krankenversichertennummer", "Krankenversicherung"],
  fr: ["assurance maladie"],
  es: ["tarjeta sanitaria"],
  it: ["tessera sanitaria"],
  nl: ["zorgverzekering"],
  pt: ["cartão de saúde"],
  sv: ["sjukförsäkring"],
  da: ["sygesikring"]
}

const doctor: Names = {
  en: ["physician", "prescriber ID", "provider number"],
  de: ["Arztnummer", "behandelnder Arzt"],
  fr: ["médecin"],
  es: ["médico"],
  it: ["medico"],
  nl: ["huisarts"],
  pl: ["lekarz"],
  sv: ["läkare"]
}

const bank: Names = {
  en: ["bank account", "account number", "account_no"],
  de: ["Kontonummer", "Bankkonto"],
  fr: ["numéro de compte"],
  es: ["número de cuenta"],
  it: ["numero di conto"],
  nl: ["rekeningnummer"],
  pt: ["número da conta"],
  pl: ["numer rachunku"],
  sv: ["kontonummer"],
  da: ["kontonummer"],
  no: ["kontonummer"],
  fi: ["tilinumero"]
}

const company: Names = {
  en: ["company number", "business registration number"],
  de: ["Firmennummer", "Unternehmensnummer"],
  fr: ["numéro d'entreprise"],
  es: ["número de empresa"],
  nl: ["bedrijfsnummer"],
  sv: ["företagsnummer"],
  da: ["virksomhedsnummer"],
  no: ["foretaksnummer"]
}

const address: Names = {
  en: ["postcode", "postal code", "address"],
  de: ["Postleitzahl", "PLZ", "Anschrift"],
  fr: ["code postal"],
  es: ["código postal"],
  it: ["indirizzo"],
  nl: ["postcode"],
  pt: ["código postal"],
  pl: ["kod pocztowy"],
  sv: ["postnummer"],
  da: ["postnummer"],
  no: ["postnummer"],
  fi: ["postinumero"]
}

const none: Names = {}

/** The kind of document, and names of the number at home and in English. */
const announced: { readonly [type: string]: readonly [kind: Names, own: Names] } = {
  AU_ABN: [company, { en: ["ABN", "Australian Business Number"] }],
  AU_ACN: [company, { en: ["ACN", "Australian Company Number"] }],
  AU_TFN: [tax, { en: ["TFN", "tax file number"] }],
  AU_MEDICARE: [health, { en: ["Medicare number", "Medicare card"] }],
  CA_SIN: [social, { en: ["SIN"], fr: ["NAS", "numéro d'assurance sociale"] }],
  DE_TAX_ID: [tax, { de: ["Steuer-ID", "Steueridentifikationsnummer", "IdNr."], en: ["German tax ID"] }],
  DE_TAX_NUMBER: [tax, { de: ["Steuernummer", "St.-Nr.", "Steuernr."] }],
  DE_VAT_ID: [vat, { de: ["USt-IdNr.", "Umsatzsteuer-Identifikationsnummer"] }],
  DE_ID_CARD: [identity, { de: ["Personalausweisnummer", "Ausweis-Nr."] }],
  DE_PASSPORT: [passport, { de: ["Reisepass", "Pass-Nr."] }],
  DE_FUEHRERSCHEIN: [license, { de: ["Führerschein", "Fahrerlaubnis"] }],
  DE_HEALTH_INSURANCE: [health, { de: ["KVNR", "Versichertennummer"] }],
  DE_SOCIAL_SECURITY: [social, { de: ["Rentenversicherungsnummer", "SV-Nummer", "RVNR"] }],
  DE_LANR: [doctor, { de: ["LANR", "lebenslange Arztnummer"] }],
  DE_BSNR: [none, { de: ["BSNR", "Betriebsstättennummer", "Praxisnummer"] }],
  DE_HANDELSREGISTER: [none, { de: ["Handelsregister", "Amtsgericht Köln", "Registernummer"] }],
  DE_KFZ: [plate, { de: ["Kennzeichen", "Kfz-Kennzeichen"] }],
  DE_PLZ: [address, { de: ["PLZ", "Wohnort"] }],
  ES_NIF: [tax, { es: ["NIF", "DNI", "documento nacional de identidad"] }],
  ES_NIE: [identity, { es: ["NIE", "número de identidad de extranjero"] }],
  ES_PASSPORT: [passport, { es: ["pasaporte"] }],
  FI_PERSONAL_IDENTITY_CODE: [social, { fi: ["henkilötunnus", "hetu"], en: ["Finnish personal identity code"] }],
  IN_AADHAAR: [identity, { en: ["Aadhaar", "aadhaar_number", "UIDAI number"] }],
  IN_PAN: [tax, { en: ["PAN", "PAN card", "permanent account number"] }],
  IN_GSTIN: [tax, { en: ["GSTIN", "GST number"] }],
  IN_PASSPORT: [passport, { en: ["Indian passport"] }],
  IN_VEHICLE_REGISTRATION: [plate, { en: ["RTO", "registration number", "car"] }],
  IN_VOTER: [none, { en: ["voter ID", "EPIC", "election card"] }],
  IT_FISCAL_CODE: [tax, { it: ["codice fiscale", "C.F."] }],
  IT_VAT_CODE: [vat, { it: ["partita IVA", "P.IVA"] }],
  IT_DRIVER_LICENSE: [license, { it: ["patente"] }],
  IT_PASSPORT: [passport, { it: ["passaporto"] }],
  IT_IDENTITY_CARD: [identity, { it: ["carta d'identità", "documento"] }],
  KR_RRN: [identity, { en: ["RRN", "resident registration number", "주민등록번호"] }],
  KR_FRN: [identity, { en: ["alien registration number", "외국인등록번호"] }],
  KR_BRN: [company, { en: ["BRN", "사업자등록번호"] }],
  KR_DRIVER_LICENSE: [license, { en: ["운전면허번호"] }],
  KR_PASSPORT: [passport, { en: ["여권번호"] }],
  NG_NIN: [identity, { en: ["NIN", "national identification number"] }],
  NG_VEHICLE_REGISTRATION: [plate, { en: ["plate number", "car registration"] }],
  PH_MOBILE_NUMBER: [none, { en: ["mobile number", "cellphone", "CP no.", "contact"] }],
  PL_PESEL: [identity, { pl: ["PESEL", "numer PESEL"] }],
  SE_PERSONNUMMER: [identity, { sv: ["personnummer", "samordningsnummer"] }],
  SE_ORGANISATIONSNUMMER: [company, { sv: ["organisationsnummer", "org.nr"] }],
  SG_FIN: [identity, { en: ["NRIC", "FIN"] }],
  SG_UEN: [company, { en: ["UEN", "unique entity number"] }],
  TH_TNIN: [identity, { en: ["Thai ID", "บัตรประชาชน"] }],
  TR_NATIONAL_ID: [identity, { en: ["TC Kimlik No", "TCKN"] }],
  TR_LICENSE_PLATE: [plate, { en: ["plaka"] }],
  UK_NHS: [health, { en: ["NHS number", "patient"] }],
  UK_NINO: [social, { en: ["National Insurance number", "NI number", "NINO"] }],
  UK_POSTCODE: [address, { en: ["postcode"] }],
  UK_PASSPORT: [passport, { en: ["British passport"] }],
  UK_DRIVING_LICENCE: [license, { en: ["DVLA", "driving licence"] }],
  UK_VEHICLE_REGISTRATION: [plate, { en: ["registration", "VRM", "car reg"] }],
  US_ABA_ROUTING: [bank, { en: ["routing number", "ABA", "RTN"] }],
  US_BANK_NUMBER: [bank, { en: ["checking account", "savings account"] }],
  US_DRIVER_LICENSE: [license, { en: ["DL", "driver license", "DMV"] }],
  US_ITIN: [tax, { en: ["ITIN", "individual taxpayer identification number"] }],
  US_MBI: [health, { en: ["MBI", "Medicare beneficiary"] }],
  US_NPI: [doctor, { en: ["NPI", "national provider identifier"] }],
  US_DEA: [doctor, { en: ["DEA", "DEA registration"] }],
  US_PASSPORT: [passport, { en: ["US passport"] }],
  US_SSN: [social, { en: ["SSN", "social security no."] }],
  URL: [none, { en: ["website", "link", "homepage"], de: ["Webseite"] }],
  DATE: [none, { en: ["date of birth", "born", "DOB"], de: ["Geburtsdatum"] }]
}

const named = (type: string): ReadonlyArray<readonly [Language, ReadonlyArray<string>]> => {
  const [kind, own] = announced[type]!
  return [...Object.entries(own), ...Object.entries(kind)] as ReadonlyArray<readonly [Language, ReadonlyArray<string>]>
}

/** What its number is called. */
export const names = (type: string): ReadonlyArray<string> => named(type).flatMap(([, names]) => names)

/** Frames with `{v}`: every name in prose of its language, and in a form. */
export const frames = (type: string): ReadonlyArray<string> =>
  named(type).flatMap(([language, names], place) =>
    names.flatMap((name, index) =>
      [prose[language][(place + index) % prose[language].length]!, forms[(3 * place + index) % forms.length]!].map(
        (frame) => frame.replace("{w}", () => name)
      )
    )
  )
