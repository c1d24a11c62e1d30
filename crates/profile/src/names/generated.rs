//! The names of classes that are generated while a program runs: lambdas, hidden classes, proxies,
//! accessors. They contain addresses, hashes and counters, which differ from run to run.

use std::borrow::Cow;

/// Marks of names that a random number follows, up to the next `$` or the end.
const MARKS: [&str; 13] = [
    // CGLIB, as it is and as part of Spring, and Guice.
    "CGLIB$$",
    "FastClass$$",
    "ByGuice$$",
    // Byte Buddy and its users.
    "$ByteBuddy$",
    "$MockitoMock$",
    "$HibernateProxy$",
    "$HibernateBasicProxy$",
    "$HibernateInstantiator$",
    "$HibernateAccessOptimizer$",
    "$auxiliary$",
    // Javassist.
    "_$$_jvst",
    "_$$_javassist_",
    "$$Lambda$",
];

/// The end of the stable name of the class of lambdas.
const LAMBDA: &str = "$$Lambda";

/// The name of Byte Buddy's helper classes, after the number of the class that they help.
const AUXILIARY: &str = "auxiliary";

/// Classes by which the JDK calls methods by reflection, with a counter after them.
const ACCESSORS: [&str; 3] = [
    "GeneratedMethodAccessor",
    "GeneratedConstructorAccessor",
    "GeneratedSerializationConstructorAccessor",
];

/// A number of at least as many digits is a time: Groovy names scripts by it.
const TIME_DIGITS: usize = 10;

/// Returns the name of a class without the parts that differ from run to run: the address of a hidden
/// class (`Main$$Lambda/0x00ff` is `Main$$Lambda`) and the number in the name of a lambda (before
/// JDK 21), a proxy (`jdk.proxy2.$Proxy7` is `jdk.proxy.$Proxy`), an accessor of reflection or a class
/// made by CGLIB, Byte Buddy, Javassist or Groovy. All lambdas of a class have the same stable name.
pub fn stable(class: &str) -> Cow<'_, str> {
    if !class.bytes().any(|byte| byte == b'$' || byte.is_ascii_digit()) {
        return Cow::Borrowed(class);
    }
    let element = class.trim_end_matches("[]");
    let mut name = Cow::Borrowed(without_address(element));
    for mark in MARKS {
        while let Some(shorter) = without_number_after(&name, mark) {
            name = Cow::Owned(shorter);
        }
    }
    if let Some(shorter) = without_counter(&name) {
        name = Cow::Owned(shorter);
    }
    match name {
        name if name.len() == element.len() => Cow::Borrowed(class),
        Cow::Borrowed(name) if element.len() == class.len() => Cow::Borrowed(name),
        name => Cow::Owned(name.into_owned() + &class[element.len()..]),
    }
}

/// Returns the class that a lambda or a method reference is in, for the [`stable`] name of the class
/// of its objects; `None` for other classes.
pub fn lambda_class(class: &str) -> Option<&str> {
    class.strip_suffix(LAMBDA).filter(|outer| !outer.is_empty())
}

/// Returns a class name without the address of a hidden class after it (`Main$$Lambda/0x00ff`). It is
/// a hash without `0x` before JDK 15 (`Main$$Lambda$1/1234`).
pub(crate) fn without_address(class: &str) -> &str {
    let Some(at) = class.rfind(['.', '/', '+']) else { return class };
    let is_address = match class[at + 1..].strip_prefix("0x") {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit()),
        // Java's names have no such part, but those of libraries (`libc.so.6`) do.
        None => class[..at].contains('$') && is_number(&class[at + 1..]),
    };
    if is_address { &class[..at] } else { class }
}

/// Returns a name without the number that follows `mark`, and without the separators at the mark's
/// end; `None` if there is none.
fn without_number_after(name: &str, mark: &str) -> Option<String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // Byte Buddy's are of any letters; those of the others are of digits.
    let is_any = matches!(mark.as_bytes(), [b'$', b'A'..=b'Z' | b'a', ..]);
    let is_part = |token: &str| match is_any {
        true => !token.is_empty() && token != AUXILIARY,
        false => {
            token.contains(|c: char| c.is_ascii_digit())
                && token.bytes().all(|it| it.is_ascii_hexdigit() || it == b'_')
        }
    };
    let ends = name.match_indices(mark).map(|(at, _)| at + mark.len());
    let found = ends.map(|start| {
        let rest = &name[start..];
        (start, start + rest.find(|c| !is_token(c)).unwrap_or(rest.len()))
    });
    let is_end = |end: usize| end == name.len() || name[end..].starts_with('$');
    let mut found = found.filter(|&(start, end)| is_part(&name[start..end]) && is_end(end));
    let (start, end) = found.next()?;
    let kept = name[..start].trim_end_matches(['$', '_']);
    Some(format!("{kept}{}", &name[end..]))
}

/// Returns a name without the counter after the name of a proxy, an accessor or a script.
fn without_counter(name: &str) -> Option<String> {
    let simple = name.rfind('.').map_or(0, |dot| dot + 1);
    let (package, simple) = name.split_at(simple);
    let stem = simple.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem == "$Proxy" && stem.len() < simple.len() {
        // The modules of proxies are numbered as well.
        let module = package.strip_prefix("jdk.proxy").and_then(|it| it.strip_suffix('.'));
        let package = if module.is_some_and(is_number) { "jdk.proxy." } else { package };
        return Some(format!("{package}{stem}"));
    }
    if ACCESSORS.contains(&stem) && stem.len() < simple.len() && package.ends_with(".reflect.") {
        return Some(format!("{package}{stem}"));
    }
    let (script, inner) = simple.split_at(simple.find('$').unwrap_or(simple.len()));
    let digits = script.strip_prefix("script").or(script.strip_prefix("Script"))?;
    let is_time = digits.len() >= TIME_DIGITS && is_number(digits);
    let stem = &script[..script.len() - digits.len()];
    is_time.then(|| format!("{package}{stem}{inner}"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_classes_have_a_stable_name() {
        for (class, name) in [
            ("a.B$$Lambda$14/0x0000000800c03000", "a.B$$Lambda"),
            ("a.B$$Lambda$14.0x0000000800c03000", "a.B$$Lambda"),
            ("a.B$$Lambda$14+0x0000000800c03000", "a.B$$Lambda"),
            ("a.B$$Lambda$14/1787079037", "a.B$$Lambda"),
            ("a.B$$Lambda$14", "a.B$$Lambda"),
            ("a.B$$Lambda/0x00007f10", "a.B$$Lambda"),
            ("a.B$$Lambda/0x00007f10[][]", "a.B$$Lambda[][]"),
            ("a.B$$$Lambda$7/0x00ff", "a.B$$$Lambda"),
            ("a.B$$Lambda", "a.B$$Lambda"),
            ("java.lang.invoke.LambdaForm$MH/0x00ff", "java.lang.invoke.LambdaForm$MH"),
            ("java.lang.invoke.LambdaForm$DMH/1324119927", "java.lang.invoke.LambdaForm$DMH"),
            ("java.lang.String$$StringConcat/0x00ff", "java.lang.String$$StringConcat"),
            ("Main/0x0000000800c03000", "Main"),
            (
                "jdk.internal.reflect.GeneratedMethodAccessor12",
                "jdk.internal.reflect.GeneratedMethodAccessor",
            ),
            (
                "sun.reflect.GeneratedConstructorAccessor1",
                "sun.reflect.GeneratedConstructorAccessor",
            ),
            (
                "jdk.internal.reflect.GeneratedSerializationConstructorAccessor3",
                "jdk.internal.reflect.GeneratedSerializationConstructorAccessor",
            ),
            ("jdk.proxy2.$Proxy7", "jdk.proxy.$Proxy"),
            ("com.sun.proxy.$Proxy17", "com.sun.proxy.$Proxy"),
            ("com.acme.$Proxy1[]", "com.acme.$Proxy[]"),
            ("$Proxy7", "$Proxy"),
            ("a.User$$EnhancerBySpringCGLIB$$3f2a1b4c", "a.User$$EnhancerBySpringCGLIB"),
            (
                "a.User$$EnhancerBySpringCGLIB$$3f2a1b4c$$FastClassBySpringCGLIB$$12ab",
                "a.User$$EnhancerBySpringCGLIB$$FastClassBySpringCGLIB",
            ),
            ("a.User$$SpringCGLIB$$0", "a.User$$SpringCGLIB"),
            ("a.User$$SpringCGLIB$$FastClass$$1", "a.User$$SpringCGLIB$$FastClass"),
            ("a.User$$EnhancerByCGLIB$$abcd12_2", "a.User$$EnhancerByCGLIB"),
            ("a.User$$EnhancerByGuice$$51e2d", "a.User$$EnhancerByGuice"),
            ("a.User$ByteBuddy$aBcDeFgH", "a.User$ByteBuddy"),
            ("a.User$ByteBuddy$aBcDeFgH$auxiliary$x1Y2z3W4", "a.User$ByteBuddy$auxiliary"),
            ("a.User$MockitoMock$123456789", "a.User$MockitoMock"),
            ("a.User$HibernateProxy$kXvbPq1Z", "a.User$HibernateProxy"),
            ("a.User_$$_jvst4a2_0", "a.User_$$_jvst"),
            ("a.User_$$_javassist_12", "a.User_$$_javassist"),
            ("script16999999999991234567.run", "script16999999999991234567.run"),
            ("script16999999999991234567", "script"),
            ("Script16999999999991234567$_run_closure1", "Script$_run_closure1"),
        ] {
            assert_eq!(stable(class), name);
            assert_eq!(stable(name), name);
        }
    }

    #[test]
    fn lambdas_are_of_a_class() {
        assert_eq!(lambda_class("a.B$$Lambda"), Some("a.B"));
        assert_eq!(lambda_class("a.B$$$Lambda"), Some("a.B$"));
        for class in ["a.B", "a.Lambda", "$$Lambda", "a.B$$Lambda[]", "a.B$$Lambda$1", ""] {
            assert_eq!(lambda_class(class), None, "{class}");
        }
    }

    #[test]
    fn names_of_source_are_kept() {
        for class in [
            "a.B$1",
            "a.B$1$Inner2",
            "a.B1",
            "a.0x",
            "a.B",
            "int[]",
            "",
            "libc.so.6",
            "gopkg.in/yaml.v3",
            "Script12",
            "a.GeneratedMethodAccessor12",
            "a.Foo$Proxy7",
            "a.Proxy7",
            "jdk.internal.reflect.DirectMethodHandleAccessor",
            "java.lang.invoke.LambdaForm$MH",
            "java.lang.invoke.BoundMethodHandle$Species_LLL",
            "clojure.core$map$fn__5931",
            "MainKt$main$1",
            "a.User$$SpringCGLIB$$Beans",
            "a.Lambda$1",
            "<class 0x12>",
            "[]",
        ] {
            assert!(matches!(stable(class), Cow::Borrowed(it) if it == class), "{class}");
        }
    }
}
