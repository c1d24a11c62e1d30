//! Class names: conversions between the JVM's signatures and the form of Java source.

mod generated;
mod short;

pub(crate) use generated::without_address;
pub use generated::{lambda_class, stable};
pub use short::shorten;

/// Returns the source form of a type signature: `Ljava/lang/String;` is `java.lang.String`, `[I` is
/// `int[]`, `[[Lx/Y;` is `x.Y[][]`; the `.` that JDK 15 and later put before a hidden class's
/// suffix stays. Text that is not a signature is returned unchanged.
pub fn from_signature(signature: &str) -> String {
    let element = signature.trim_start_matches('[');
    let dimensions = signature.len() - element.len();
    let name = match element {
        "Z" => "boolean".to_owned(),
        "B" => "byte".to_owned(),
        "C" => "char".to_owned(),
        "S" => "short".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        "F" => "float".to_owned(),
        "D" => "double".to_owned(),
        "V" => "void".to_owned(),
        _ => match element.strip_prefix('L').and_then(|name| name.strip_suffix(';')) {
            Some(name) => name.replace('/', "."),
            None => return signature.to_owned(),
        },
    };
    name + &"[]".repeat(dimensions)
}

/// Returns the signature of a class in source form, the reverse of [`from_signature`].
pub fn to_signature(class: &str) -> String {
    let element = class.trim_end_matches("[]");
    let dimensions = (class.len() - element.len()) / 2;
    let element = match primitive_code(element) {
        Some(code) => code.to_owned(),
        None if element == "void" => "V".to_owned(),
        // The suffix of a hidden class follows a dot.
        None => match element.rsplit_once('.').filter(|(_, end)| end.starts_with("0x")) {
            Some((name, suffix)) => format!("L{}.{suffix};", name.replace('.', "/")),
            None => format!("L{};", element.replace('.', "/")),
        },
    };
    "[".repeat(dimensions) + &element
}

/// The letter of a primitive type in signatures (JVM specification 4.3.2).
pub fn primitive_code(name: &str) -> Option<&'static str> {
    Some(match name {
        "boolean" => "Z",
        "byte" => "B",
        "char" => "C",
        "short" => "S",
        "int" => "I",
        "long" => "J",
        "float" => "F",
        "double" => "D",
        _ => return None,
    })
}

/// The parameter types of a method signature, in source form; `None` if the text is not a
/// signature.
pub fn parameters(signature: &str) -> Option<Vec<String>> {
    let (mut rest, _) = signature.strip_prefix('(')?.split_once(')')?;
    let mut types = Vec::new();
    while !rest.is_empty() {
        let element = rest.trim_start_matches('[');
        let dimensions = rest.len() - element.len();
        let length = match element.chars().next()? {
            'L' => element.find(';')? + 1,
            c => c.len_utf8(),
        };
        let (this, next) = rest.split_at(dimensions + length);
        types.push(from_signature(this));
        rest = next;
    }
    Some(types)
}

/// The package of a class name in source form (`java.util` of `java.util.Map$Entry`), empty for
/// the unnamed package.
pub fn package(class: &str) -> &str {
    // A hidden class's suffix (`A$$Lambda.0x0000…` or `A$$Lambda/0x…`) is not part of the package.
    let end = class.find(['$', '/']).unwrap_or(class.len());
    class[..end].rfind('.').map_or("", |dot| &class[..dot])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_form() {
        for (signature, name) in [
            ("Ljava/lang/String;", "java.lang.String"),
            ("[I", "int[]"),
            ("[[Lx/Y;", "x.Y[][]"),
            ("LA$$Lambda$1.0x0000000800c03000;", "A$$Lambda$1.0x0000000800c03000"),
            ("LMain;", "Main"),
            ("nonsense", "nonsense"),
            ("[", "["),
        ] {
            assert_eq!(from_signature(signature), name);
            if signature.ends_with([';', 'I']) {
                assert_eq!(to_signature(name), signature);
            }
        }
    }

    #[test]
    fn package_of_a_class() {
        assert_eq!(package("java.util.Map$Entry"), "java.util");
        assert_eq!(package("Main"), "");
        assert_eq!(package("a.B$$Lambda.0x00ff"), "a");
    }
}
