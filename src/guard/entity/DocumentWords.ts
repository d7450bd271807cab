/**
 * Words by which people announce documents and their numbers: English, German, French, Spanish, Italian, Dutch,
 * Portuguese, Polish, Swedish, Danish, Norwegian and Finnish, written with and without accents where both are common.
 *
 * @private
 * @since 0.1.0
 */

const words = (list: string): ReadonlyArray<string> => list.split("|")

/**
 * @since 0.1.0
 * @category words
 */
export const passport = words(
  "passport*|travel document|travel doc|reisedokument|reisepass*|passnummer*|passnr|pass nr|passeport*|pasaporte*|" +
    "passaport*|paspoort*|paszport*|pasnummer*|passinumero*|passin numero"
)

/**
 * @since 0.1.0
 * @category words
 */
export const drivingLicense = words(
  "driver*|driving licen*|licen*|*führerschein*|*fuehrerschein*|fahrerlaubnis*|permis de conduire|" +
    "carnet de conducir|permiso de conducir|patente*|rijbewijs*|carta de condução|carta de conducao|carteira de motorista|" +
    "prawo jazdy|prawa jazdy|körkort*|kørekort*|førerkort*|ajokort*"
)

/**
 * @since 0.1.0
 * @category words
 */
export const plate = words(
  "plate*|number plate|license plate|licence plate|vehicle*|*kennzeichen*|kfz*|nummernschild*|fahrzeug*|immatriculation*|" +
    "plaque*|véhicule*|matrícula*|matricula*|placa*|targa|veicolo|kenteken*|voertuig*|tablica rejestracyjna|" +
    "numer rejestracyjny|pojazd*|registreringsnummer*|nummerplade*|nummerskilt*|rekisterinumero*|rekisteritunnus*"
)

/**
 * @since 0.1.0
 * @category words
 */
export const tax = words(
  "tax id*|tax no|tax nr|tax number|tax file|taxpayer*|tin|*steuernummer*|*steuer id*|*steueridentifikation*|numéro fiscal|" +
    "numero fiscal|identifiant fiscal|número fiscal|identificación fiscal|identificacion fiscal|codice fiscale|" +
    "fiscaal nummer|belastingnummer*|número de contribuinte|contribuinte|numer podatkowy|identyfikacji podatkowej|" +
    "skattenummer*|skatte id*|verotunnus*|veronumero*"
)

/**
 * @since 0.1.0
 * @category words
 */
export const vat = words("vat*|value added tax|ust id*|ustid*|umsatzsteuer*|mwst*|tva|iva|btw*|moms*|mva|alv|nip")

/**
 * Identity cards, and numbers that persons have for life.
 *
 * @since 0.1.0
 * @category words
 */
export const identity = words(
  "national id*|identity card*|identity number*|identity code|identity no|id card*|id number*|id no|id nr|" +
    "personal id*|citizen id*|identification number*|*ausweis*|perso|personenkennzahl|carte d'identité|carte d'identite|" +
    "pièce d'identité|documento de identidad|documento nacional|número de identidad|cédula|cedula|carta d'identità|" +
    "carta di identità|documento d'identità|identiteitskaart*|identiteitsbewijs*|persoonsnummer*|bilhete de identidade|" +
    "cartão de cidadão|número de identificação|dowód osobisty|dowodu osobistego|numer dowodu|id kort*|identitetskort*|" +
    "personnummer*|fødselsnummer*|henkilökort*|henkilötunnu*"
)

/**
 * @since 0.1.0
 * @category words
 */
export const social = words(
  "social security|social insurance|national insurance|insurance number*|*sozialversicher*|*rentenversicher*|" +
    "sécurité sociale|securite sociale|assurance sociale|seguridad social|seguro social|previdenza sociale|" +
    "sociale zekerheid|segurança social|ubezpieczenia społecznego|socialförsäkring*|socialsikring*|trygdenummer*|" +
    "sosiaaliturvatunnus*"
)

/**
 * @since 0.1.0
 * @category words
 */
export const health = words(
  "health card*|health insurance|health service|patient*|*krankenversicher*|krankenkasse*|*gesundheitskarte*|" +
    "assurance maladie|carte vitale|tarjeta sanitaria|tessera sanitaria|zorgverzekering*|zorgpas*|cartão de saúde|" +
    "ubezpieczenie zdrowotne|sjukförsäkring*|sygesikring*|helsekort*|terveydenhuol*"
)

/**
 * @since 0.1.0
 * @category words
 */
export const doctor = words(
  "physician*|prescriber*|clinician*|provider*|doctor*|*arzt*|*ärzt*|médecin*|médico*|medico|huisarts|lekarz*|" +
    "läkare*|læge*|lege|lääkäri*"
)

/**
 * @since 0.1.0
 * @category words
 */
export const bank = words(
  "bank*|account*|acct*|konto*|*kontonummer*|compte*|cuenta*|conto|rekening*|conta|rachun*|tilinumero*"
)

/**
 * @since 0.1.0
 * @category words
 */
export const company = words(
  "company*|business number*|business registration*|corporation|firma*|firmen*|unternehmen*|entreprise*|" +
    "société*|empresa*|azienda*|impresa|bedrijf*|kvk*|przedsiębiorstw*|företag*|bolag*|virksomhed*|foretak*|yritys*"
)

/**
 * @since 0.1.0
 * @category words
 */
export const address = words(
  "address*|postcode*|post code|postal code|zip*|mailing|delivery|plz|postleitzahl*|adresse*|anschrift*|wohnhaft|" +
    "code postal|dirección|direccion|código postal|codigo postal|indirizzo|adres*|morada|endereço|kod pocztowy|" +
    "postnummer*|osoite*|postinumero*"
)

/**
 * Numbers of goods, messages and machines: what stands behind such a word is no identifier of a person.
 *
 * @since 0.1.0
 * @category words
 */
export const other = words(
  "order|orders|order no|order number|order id|ordernumber|invoice*|receipt*|ticket*|ref|reference*|tracking*|shipment*|parcel*|" +
    "consignment*|sku|part no|part number|p/n|model*|serial*|s/n|version*|build|revision|commit*|issue|isbn*|issn|ean|gtin|" +
    "upc|doi|page|pages|phone*|telephone*|tel|fax|port|pid|timestamp*|epoch|batch*|lot|item*|product*|catalog*|stock|" +
    "total|amount|price|*bestellung|*bestellnummer*|bestellnr|*rechnung|*rechnungsnummer*|rechnungsnr|*auftrag|*auftragsnummer*|" +
    "artikel*|*sendung|*sendungsnummer*|*seriennummer*|aktenzeichen|*telefon*|commande*|facture*|référence*|colis|téléphone*|" +
    "pedido*|factura*|referencia*|envío|teléfono*|ordine*|fattura*|riferimento|spedizione|telefono|bestelling*|" +
    "factuur*|zending*|encomenda*|fatura*|zamówieni*|faktura*|faktury|przesyłk*|ordernummer*|fakturanummer*|sändning*|" +
    "ordrenummer*|forsendelse*|tilaus*|laskun*|puhelin*|lähety*"
)
