/** The published examples: the test suite of AWS Signature Version 4, and the S3 documentation of header signatures. */
import { assert, describe, it } from "@effect/vitest"
import * as SigV4 from "../../../src/persistence/blob/SigV4.js"

const empty = SigV4.hashOf("")

const general: SigV4.Signer = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  region: "us-east-1",
  service: "service",
  at: Date.UTC(2015, 7, 30, 12, 36)
}

const s3: SigV4.Signer = {
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  region: "us-east-1",
  service: "s3",
  at: Date.UTC(2013, 4, 24)
}

const inGeneral = (method: string, path: string, headers: SigV4.Request["headers"] = {}, payloadHash = empty) =>
  SigV4.sign({ method, url: new URL(`https://example.amazonaws.com${path}`), headers, payloadHash }, general)

const inS3 = (method: string, path: string, headers: SigV4.Request["headers"] = {}, payloadHash = empty) =>
  SigV4.sign(
    {
      method,
      url: new URL(`https://examplebucket.s3.amazonaws.com${path}`),
      headers: { "x-amz-content-sha256": payloadHash, ...headers },
      payloadHash
    },
    s3
  )

describe("SigV4", () => {
  it("signs get-vanilla", () => {
    const signed = inGeneral("GET", "/")
    assert.strictEqual(
      signed.stringToSign.split("\n")[3],
      "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63"
    )
    assert.strictEqual(
      signed.headers.authorization,
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
    )
  })

  it("signs get-vanilla-query-order-key-case", () => {
    assert.strictEqual(
      inGeneral("GET", "/?Param2=value2&Param1=value1").signature,
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
    )
  })

  it("makes the canonical request of get-utf8", () => {
    assert.strictEqual(
      SigV4.hashOf(inGeneral("GET", "/\u1234").canonicalRequest),
      "2a0a97d02205e45ce2e994789806b19270cfbbb0921b278ccf58f5249ac42102"
    )
  })

  it("signs post-x-www-form-urlencoded", () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" }
    assert.strictEqual(
      inGeneral("POST", "/", headers, SigV4.hashOf("Param1=value1")).signature,
      "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
    )
  })

  it("signs the examples of S3", () => {
    const date = { date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" }
    assert.deepStrictEqual(
      [
        inS3("GET", "/test.txt", { range: "bytes=0-9" }),
        inS3("PUT", "/test$file.text", date, SigV4.hashOf("Welcome to Amazon S3.")),
        inS3("GET", "/?lifecycle"),
        inS3("GET", "/?prefix=J&max-keys=2")
      ].map(({ signature }) => signature),
      [
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
      ]
    )
  })

  it("does not show the secret", () => {
    assert.notInclude(JSON.stringify(inS3("GET", "/")), s3.secretAccessKey)
  })
})
