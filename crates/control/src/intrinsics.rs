//! Intrinsics: methods of the JDK in whose place the JIT compilers put code of their own, so that
//! the probes in them do not run once their callers are compiled.
//!
//! An option of the JVM switches intrinsics off by name. A JVM does not start if it does not know a
//! name, so each has the versions that know it.

use std::fmt::Write as _;

/// The beginning of `docs/intrinsics.md`.
const PAGE: &str = "\
# Intrinsics

The JIT compilers put code of their own in the place of methods of the JDK that they know, such as `String.equals`,
`Arrays.equals` and `BigInteger.multiply`. The accesses of this code are not counted by `fields=shared`. These options of the
JVM, before the others, switch it off where the Java code of the method accesses fields of objects or components of arrays.
[shared-fields.md](shared-fields.md) has their effect. A JVM does not start with a name that it does not know, so each version
has its own.
";

/// The JVM's flag that has the names of the intrinsics that are off.
pub const NAMES_FLAG: &str = "DisableIntrinsic";
/// The JVM's flag that switches the intrinsics of `CRC32C` on. The interpreter uses them, too, and
/// does not look at the names.
pub const CRC32C_FLAG: &str = "UseCRC32CIntrinsics";

/// The intrinsics whose code in Java accesses fields of objects or components of arrays, each with
/// the first and the last version that is known to have it. `Reference.get` is not one of them: its
/// Java code does not do the same.
const INTRINSICS: [(&str, u32, u32); 81] = [
    ("_aescrypt_decryptBlock", 17, 25),
    ("_aescrypt_encryptBlock", 17, 25),
    ("_arrayPartition", 25, 25),
    ("_arraySort", 25, 25),
    ("_base64_decodeBlock", 17, 25),
    ("_base64_encodeBlock", 17, 25),
    ("_bigIntegerLeftShiftWorker", 17, 25),
    ("_bigIntegerRightShiftWorker", 17, 25),
    ("_chacha20Block", 21, 25),
    ("_checkIndex", 17, 17),
    ("_cipherBlockChaining_decryptAESCrypt", 17, 25),
    ("_cipherBlockChaining_encryptAESCrypt", 17, 25),
    ("_compareToL", 17, 25),
    ("_compareToLU", 17, 25),
    ("_compareToU", 17, 25),
    ("_compareToUL", 17, 25),
    ("_compressStringB", 17, 25),
    ("_compressStringC", 17, 25),
    ("_copyOf", 17, 25),
    ("_copyOfRange", 17, 25),
    ("_countPositives", 21, 25),
    ("_counterMode_AESCrypt", 17, 25),
    ("_digestBase_implCompressMB", 17, 25),
    ("_dilithiumAlmostInverseNtt", 25, 25),
    ("_dilithiumAlmostNtt", 25, 25),
    ("_dilithiumDecomposePoly", 25, 25),
    ("_dilithiumMontMulByConstant", 25, 25),
    ("_dilithiumNttMult", 25, 25),
    ("_double_keccak", 25, 25),
    ("_electronicCodeBook_decryptAESCrypt", 17, 25),
    ("_electronicCodeBook_encryptAESCrypt", 17, 25),
    ("_encodeAsciiArray", 17, 25),
    ("_encodeByteISOArray", 17, 25),
    ("_encodeISOArray", 17, 25),
    ("_equalsB", 17, 25),
    ("_equalsC", 17, 25),
    ("_equalsL", 17, 25),
    ("_equalsU", 17, 21),
    ("_galoisCounterMode_AESCrypt", 21, 25),
    ("_getCharStringU", 17, 25),
    ("_getCharsStringU", 17, 25),
    ("_ghash_processBlocks", 17, 25),
    ("_hasNegatives", 17, 17),
    ("_indexOfIL", 17, 25),
    ("_indexOfIU", 17, 25),
    ("_indexOfIUL", 17, 25),
    ("_indexOfL", 17, 25),
    ("_indexOfL_char", 17, 25),
    ("_indexOfU", 17, 25),
    ("_indexOfUL", 17, 25),
    ("_indexOfU_char", 17, 25),
    ("_inflateStringB", 17, 25),
    ("_inflateStringC", 17, 25),
    ("_intpoly_assign", 25, 25),
    ("_intpoly_montgomeryMult_P256", 25, 25),
    ("_isLowerCase", 17, 25),
    ("_isUpperCase", 17, 25),
    ("_isWhitespace", 17, 25),
    ("_kyber12To16", 25, 25),
    ("_kyberAddPoly_2", 25, 25),
    ("_kyberAddPoly_3", 25, 25),
    ("_kyberBarrettReduce", 25, 25),
    ("_kyberInverseNtt", 25, 25),
    ("_kyberNtt", 25, 25),
    ("_kyberNttMult", 25, 25),
    ("_md5_implCompress", 17, 25),
    ("_montgomeryMultiply", 17, 25),
    ("_montgomerySquare", 17, 25),
    ("_mulAdd", 17, 25),
    ("_multiplyToLen", 17, 25),
    ("_poly1305_processBlocks", 21, 25),
    ("_profileBoolean", 17, 25),
    ("_putCharStringU", 17, 25),
    ("_sha2_implCompress", 17, 25),
    ("_sha3_implCompress", 17, 25),
    ("_sha5_implCompress", 17, 25),
    ("_sha_implCompress", 17, 25),
    ("_squareToLen", 17, 25),
    ("_toBytesStringU", 17, 25),
    ("_vectorizedHashCode", 21, 25),
    ("_vectorizedMismatch", 17, 25),
];

/// Returns the names of the intrinsics that access fields or components, for a feature version; none
/// for a version that is not known.
pub fn names(feature_version: u32) -> impl Iterator<Item = &'static str> {
    let is_known = move |first, last| first <= feature_version && feature_version <= last;
    INTRINSICS
        .into_iter()
        .filter_map(move |(name, first, last)| is_known(first, last).then_some(name))
}

/// Returns the options of a JVM of a feature version that switch these intrinsics off; none for a
/// version that is not known.
pub fn jvm_options(feature_version: u32) -> Vec<String> {
    let names: Vec<&str> = names(feature_version).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let unlock = "-XX:+UnlockDiagnosticVMOptions".to_owned();
    vec![unlock, format!("-XX:{NAMES_FLAG}={}", names.join(",")), format!("-XX:-{CRC32C_FLAG}")]
}

/// Returns the contents of `docs/intrinsics.md`. A test compares them with the file.
pub fn markdown() -> String {
    let mut text = PAGE.to_owned();
    for version in [17, 21, 25] {
        let options = jvm_options(version).join(" ");
        let _ = write!(text, "\n## JDK {version}\n\n```\n{options}\n```\n");
    }
    text
}
