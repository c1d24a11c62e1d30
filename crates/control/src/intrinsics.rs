//! Intrinsics: methods of the JDK in whose place the JIT compilers put code of their own, so that
//! the probes in them do not run once their callers are compiled.
//!
//! An option of the JVM switches intrinsics off by name. A JVM does not start if it does not know a
//! name, so each has the versions that know it.

use std::fmt::Write as _;

use IntrinsicCode::{Accesses, Executes};

/// The beginning of `docs/intrinsics.md`.
const PAGE: &str = "\
# Intrinsics

The JIT compilers replace some methods of the JDK by code of their own, such as `String.equals`,
`Arrays.equals` and `BigInteger.multiply`. `fields=shared` does not count the accesses of this code,
and `jamaica` does not count its bytecodes. These options of the JVM switch the replacement off; put
them before the other options. The first lists concern methods whose Java code accesses fields of
objects or components of arrays, the last ones all methods whose Java code does the same. `perk run
--fields shared --accesses extended` and `perk run --jamaica` set them.
[shared-fields.md](shared-fields.md) has their effect. A JVM does not start if a name is unknown to
it, so each version has its own list.
";

/// The JVM's flag that has the names of the intrinsics that are off.
pub const NAMES_FLAG: &str = "DisableIntrinsic";
/// The JVM's flag that switches the intrinsics of `CRC32C` on. The interpreter uses them, too, and
/// does not look at the names.
pub const CRC32C_FLAG: &str = "UseCRC32CIntrinsics";

/// What is counted in the code of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeMetric {
    /// Accesses of fields and of components of arrays.
    Accesses,
    /// Executed bytecodes.
    Bytecodes,
}

/// The Java code of an intrinsic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntrinsicCode {
    /// It accesses fields of objects or components of arrays.
    Accesses,
    /// It only computes.
    Executes,
}

/// The intrinsics that have code in Java, each with the first and the last version that is known to
/// have it. Those are left out whose Java code does not do the same (`Reference.get`, the functions
/// of `Math` whose results may differ), or which the interpreter replaces, too.
const INTRINSICS: [(&str, IntrinsicCode, u32, u32); 170] = [
    ("_Boolean_valueOf", Executes, 17, 25),
    ("_Byte_valueOf", Executes, 17, 25),
    ("_Character_valueOf", Executes, 17, 25),
    ("_Class_cast", Executes, 17, 25),
    ("_Double_valueOf", Executes, 17, 25),
    ("_Float_valueOf", Executes, 17, 25),
    ("_Integer_toString", Executes, 17, 25),
    ("_Integer_valueOf", Executes, 17, 25),
    ("_Long_valueOf", Executes, 17, 25),
    ("_Preconditions_checkIndex", Executes, 17, 25),
    ("_Preconditions_checkLongIndex", Executes, 17, 25),
    ("_Short_valueOf", Executes, 17, 25),
    ("_addExactI", Executes, 17, 25),
    ("_addExactL", Executes, 17, 25),
    ("_aescrypt_decryptBlock", Accesses, 17, 25),
    ("_aescrypt_encryptBlock", Accesses, 17, 25),
    ("_arrayPartition", Accesses, 25, 25),
    ("_arraySort", Accesses, 25, 25),
    ("_base64_decodeBlock", Accesses, 17, 25),
    ("_base64_encodeBlock", Accesses, 17, 25),
    ("_bigIntegerLeftShiftWorker", Accesses, 17, 25),
    ("_bigIntegerRightShiftWorker", Accesses, 17, 25),
    ("_bitCount_i", Executes, 17, 25),
    ("_bitCount_l", Executes, 17, 25),
    ("_booleanValue", Executes, 17, 25),
    ("_byteValue", Executes, 17, 25),
    ("_ceil", Executes, 17, 25),
    ("_chacha20Block", Accesses, 21, 25),
    ("_charValue", Executes, 17, 25),
    ("_checkIndex", Accesses, 17, 17),
    ("_cipherBlockChaining_decryptAESCrypt", Accesses, 17, 25),
    ("_cipherBlockChaining_encryptAESCrypt", Accesses, 17, 25),
    ("_compareToL", Accesses, 17, 25),
    ("_compareToLU", Accesses, 17, 25),
    ("_compareToU", Accesses, 17, 25),
    ("_compareToUL", Accesses, 17, 25),
    ("_compareUnsigned_i", Executes, 21, 25),
    ("_compareUnsigned_l", Executes, 21, 25),
    ("_compressStringB", Accesses, 17, 25),
    ("_compressStringC", Accesses, 17, 25),
    ("_compress_i", Executes, 21, 25),
    ("_compress_l", Executes, 21, 25),
    ("_copyOf", Accesses, 17, 25),
    ("_copyOfRange", Accesses, 17, 25),
    ("_countPositives", Accesses, 21, 25),
    ("_counterMode_AESCrypt", Accesses, 17, 25),
    ("_dcopySign", Executes, 17, 25),
    ("_decrementExactI", Executes, 17, 25),
    ("_decrementExactL", Executes, 17, 25),
    ("_digestBase_implCompressMB", Accesses, 17, 25),
    ("_dilithiumAlmostInverseNtt", Accesses, 25, 25),
    ("_dilithiumAlmostNtt", Accesses, 25, 25),
    ("_dilithiumDecomposePoly", Accesses, 25, 25),
    ("_dilithiumMontMulByConstant", Accesses, 25, 25),
    ("_dilithiumNttMult", Accesses, 25, 25),
    ("_divideUnsigned_i", Executes, 21, 25),
    ("_divideUnsigned_l", Executes, 21, 25),
    ("_doubleIsFinite", Executes, 21, 25),
    ("_doubleIsInfinite", Executes, 21, 25),
    ("_doubleToLongBits", Executes, 17, 25),
    ("_doubleValue", Executes, 17, 25),
    ("_double_keccak", Accesses, 25, 25),
    ("_dsignum", Executes, 17, 25),
    ("_electronicCodeBook_decryptAESCrypt", Accesses, 17, 25),
    ("_electronicCodeBook_encryptAESCrypt", Accesses, 17, 25),
    ("_encodeAsciiArray", Accesses, 17, 25),
    ("_encodeByteISOArray", Accesses, 17, 25),
    ("_encodeISOArray", Accesses, 17, 25),
    ("_equalsB", Accesses, 17, 25),
    ("_equalsC", Accesses, 17, 25),
    ("_equalsL", Accesses, 17, 25),
    ("_equalsU", Accesses, 17, 21),
    ("_expand_i", Executes, 21, 25),
    ("_expand_l", Executes, 21, 25),
    ("_fabs", Executes, 17, 25),
    ("_fcopySign", Executes, 17, 25),
    ("_floatIsFinite", Executes, 21, 25),
    ("_floatIsInfinite", Executes, 21, 25),
    ("_floatToIntBits", Executes, 17, 25),
    ("_floatValue", Executes, 17, 25),
    ("_floor", Executes, 17, 25),
    ("_fsignum", Executes, 17, 25),
    ("_galoisCounterMode_AESCrypt", Accesses, 21, 25),
    ("_getCharStringU", Accesses, 17, 25),
    ("_getCharsStringU", Accesses, 17, 25),
    ("_ghash_processBlocks", Accesses, 17, 25),
    ("_hasNegatives", Accesses, 17, 17),
    ("_iabs", Executes, 17, 25),
    ("_incrementExactI", Executes, 17, 25),
    ("_incrementExactL", Executes, 17, 25),
    ("_indexOfIL", Accesses, 17, 25),
    ("_indexOfIU", Accesses, 17, 25),
    ("_indexOfIUL", Accesses, 17, 25),
    ("_indexOfL", Accesses, 17, 25),
    ("_indexOfL_char", Accesses, 17, 25),
    ("_indexOfU", Accesses, 17, 25),
    ("_indexOfUL", Accesses, 17, 25),
    ("_indexOfU_char", Accesses, 17, 25),
    ("_inflateStringB", Accesses, 17, 25),
    ("_inflateStringC", Accesses, 17, 25),
    ("_intValue", Executes, 17, 25),
    ("_intpoly_assign", Accesses, 25, 25),
    ("_intpoly_montgomeryMult_P256", Accesses, 25, 25),
    ("_isDigit", Executes, 17, 25),
    ("_isLowerCase", Accesses, 17, 25),
    ("_isUpperCase", Accesses, 17, 25),
    ("_isWhitespace", Accesses, 17, 25),
    ("_kyber12To16", Accesses, 25, 25),
    ("_kyberAddPoly_2", Accesses, 25, 25),
    ("_kyberAddPoly_3", Accesses, 25, 25),
    ("_kyberBarrettReduce", Accesses, 25, 25),
    ("_kyberInverseNtt", Accesses, 25, 25),
    ("_kyberNtt", Accesses, 25, 25),
    ("_kyberNttMult", Accesses, 25, 25),
    ("_labs", Executes, 17, 25),
    ("_longValue", Executes, 17, 25),
    ("_max", Executes, 17, 25),
    ("_maxD", Executes, 17, 25),
    ("_maxD_strict", Executes, 21, 25),
    ("_maxF", Executes, 17, 25),
    ("_maxF_strict", Executes, 21, 25),
    ("_maxL", Executes, 25, 25),
    ("_max_strict", Executes, 21, 25),
    ("_md5_implCompress", Accesses, 17, 25),
    ("_min", Executes, 17, 25),
    ("_minD", Executes, 17, 25),
    ("_minD_strict", Executes, 21, 25),
    ("_minF", Executes, 17, 25),
    ("_minF_strict", Executes, 21, 25),
    ("_minL", Executes, 25, 25),
    ("_min_strict", Executes, 21, 25),
    ("_montgomeryMultiply", Accesses, 17, 25),
    ("_montgomerySquare", Accesses, 17, 25),
    ("_mulAdd", Accesses, 17, 25),
    ("_multiplyExactI", Executes, 17, 25),
    ("_multiplyExactL", Executes, 17, 25),
    ("_multiplyHigh", Executes, 17, 25),
    ("_multiplyToLen", Accesses, 17, 25),
    ("_negateExactI", Executes, 17, 25),
    ("_negateExactL", Executes, 17, 25),
    ("_numberOfLeadingZeros_i", Executes, 17, 25),
    ("_numberOfLeadingZeros_l", Executes, 17, 25),
    ("_numberOfTrailingZeros_i", Executes, 17, 25),
    ("_numberOfTrailingZeros_l", Executes, 17, 25),
    ("_poly1305_processBlocks", Accesses, 21, 25),
    ("_profileBoolean", Accesses, 17, 25),
    ("_putCharStringU", Accesses, 17, 25),
    ("_remainderUnsigned_i", Executes, 21, 25),
    ("_remainderUnsigned_l", Executes, 21, 25),
    ("_reverseBytes_c", Executes, 17, 25),
    ("_reverseBytes_i", Executes, 17, 25),
    ("_reverseBytes_l", Executes, 17, 25),
    ("_reverseBytes_s", Executes, 17, 25),
    ("_reverse_i", Executes, 21, 25),
    ("_reverse_l", Executes, 21, 25),
    ("_rint", Executes, 17, 25),
    ("_roundD", Executes, 21, 25),
    ("_roundF", Executes, 21, 25),
    ("_sha2_implCompress", Accesses, 17, 25),
    ("_sha3_implCompress", Accesses, 17, 25),
    ("_sha5_implCompress", Accesses, 17, 25),
    ("_sha_implCompress", Accesses, 17, 25),
    ("_shortValue", Executes, 17, 25),
    ("_squareToLen", Accesses, 17, 25),
    ("_subtractExactI", Executes, 17, 25),
    ("_subtractExactL", Executes, 17, 25),
    ("_toBytesStringU", Accesses, 17, 25),
    ("_unsignedMultiplyHigh", Executes, 21, 25),
    ("_vectorizedHashCode", Accesses, 21, 25),
    ("_vectorizedMismatch", Accesses, 17, 25),
];

/// Returns the names of the intrinsics whose Java code does something that is counted, for a feature
/// version; none for a version that is not known.
pub fn names(feature_version: u32, counted: CodeMetric) -> impl Iterator<Item = &'static str> {
    INTRINSICS.into_iter().filter_map(move |(name, code, first, last)| {
        let is_known = first <= feature_version && feature_version <= last;
        let is_wanted = counted == CodeMetric::Bytecodes || code == Accesses;
        (is_known && is_wanted).then_some(name)
    })
}

/// Returns the options of a JVM of a feature version that switch these intrinsics off; none for a
/// version that is not known.
pub fn jvm_options(feature_version: u32, counted: CodeMetric) -> Vec<String> {
    let names: Vec<&str> = names(feature_version, counted).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let unlock = "-XX:+UnlockDiagnosticVMOptions".to_owned();
    vec![unlock, format!("-XX:{NAMES_FLAG}={}", names.join(",")), format!("-XX:-{CRC32C_FLAG}")]
}

/// Returns the contents of `docs/intrinsics.md`. A test compares them with the file.
pub fn markdown() -> String {
    let mut text = PAGE.to_owned();
    for (counted, heading) in [
        (CodeMetric::Accesses, "accesses of fields and components"),
        (CodeMetric::Bytecodes, "executed bytecodes"),
    ] {
        for version in [17, 21, 25] {
            let options = jvm_options(version, counted).join(" ");
            let _ = write!(text, "\n## JDK {version}, {heading}\n\n```\n{options}\n```\n");
        }
    }
    text
}
