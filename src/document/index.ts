/**
 * Cuts a text into chunks at headings, blocks and sentences, within a bound of tokens. Chunks of one section overlap by
 * whole sentences. Fenced code and tables stay whole where they fit.
 *
 * @since 0.1.0
 */
export * as Chunker from "./text/Chunker.js"

/**
 * Citations in Markdown: `[3]`, `[1, 2]`, `[1-3]`. Text in code is not a citation.
 *
 * @since 0.1.0
 */
export * as CitationMarks from "./text/CitationMarks.js"

/**
 * Checks the citations of an answer (`[2]`, `[1, 3]`) against the sources that were shown: every number is that of a
 * source, and the sources that a sentence cites have its words, its figures and what it quotes.
 *
 * @since 0.1.0
 */
export * as Citations from "./Citations.js"

/**
 * The document index over a memory backend: chunks are entries of a separate space beside the memory of their owner
 * (`OwnerNamespace.documents`), so that every backend of memory holds documents, and what erases or exports the memory
 * of an owner does so with the documents.
 *
 * @since 0.1.0
 */
export * as DefaultDocumentIndex from "./DefaultDocumentIndex.js"

/**
 * Documents as they are given, as they are kept, and passages of them.
 *
 * @since 0.1.0
 */
export * as Document from "./Document.js"

/**
 * Errors of documents. No message contains the text of a document.
 *
 * @since 0.1.0
 */
export * as DocumentError from "./format/DocumentError.js"

/**
 * The document index port: takes documents, cuts them into passages and finds passages by words and by meaning.
 *
 * @since 0.1.0
 */
export * as DocumentIndex from "./DocumentIndex.js"

/**
 * Names the owners of documents: users, and collections that an application shares.
 *
 * @since 0.1.0
 */
export * as DocumentOwner from "./DocumentOwner.js"

/**
 * Reads the text of a document by its format. HTML needs the package `htmlparser2`, PDF the package `unpdf`; each is
 * loaded with the first document of its format.
 *
 * @since 0.1.0
 */
export * as DocumentReader from "./format/DocumentReader.js"

/**
 * The text that is read of a document, with its title and its pages.
 *
 * @since 0.1.0
 */
export * as DocumentText from "./format/DocumentText.js"

/**
 * The tool `search_documents`, by which a model finds passages of documents and cites them by numbers, and the check of
 * what it cites.
 *
 * @since 0.1.0
 */
export * as DocumentTools from "./DocumentTools.js"

/**
 * A document index in this process. Its documents end with the process.
 *
 * @since 0.1.0
 */
export * as InMemoryDocumentIndex from "./InMemoryDocumentIndex.js"
