//! What a JVM is: its service, and where it runs. The sources are tried in an order that
//! `docs/record.md` has.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::DeflateDecoder;
use perk_attach::jvms::Jvm;
use perk_attach::open_file;
use perk_profile::secrets;

use super::args::LabelArg;
use super::{machine, settings::Settings};

/// The folders in which a downward API is usually mounted, as the JVM sees them.
const DOWNWARD: [&str; 2] = ["/etc/podinfo", "/etc/pod-info"];
/// The file with the pod's namespace.
const NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// The longest value of a label, in characters.
const LONGEST: usize = 200;
/// The most that is read of a jar's directory, of its manifest and of a small file.
const MOST_BYTES: u64 = 1 << 20;

/// The labels of a JVM, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity(BTreeMap<String, String>);

impl Identity {
    /// The key of the service.
    pub(crate) const SERVICE: &str = "service";

    /// Looks at a JVM.
    pub(crate) fn of(jvm: &Jvm, settings: &Settings) -> Self {
        let line = jvm.process.command_line();
        let variable = |name: &str| {
            let value = jvm.process.variable(name)?.into_string().ok()?;
            Some(value).filter(|it| !it.trim().is_empty())
        };
        let attributes = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let attribute = |key: &str| attribute(&attributes, key);
        let jar = jar(&line).and_then(|jar| open_file(jvm, Path::new(&jar)).ok());
        let manifest = jar.and_then(manifest).unwrap_or_default();
        let downward = |name: &str| {
            DOWNWARD.iter().find_map(|folder| small_file(jvm, &format!("{folder}/{name}")))
        };
        let host = machine::host();
        let mut this = Self::default();
        this.put(
            Self::SERVICE,
            &[
                &|| settings.service.clone(),
                &|| variable("OTEL_SERVICE_NAME"),
                &|| attribute("service.name"),
                &|| spring_name(&line).or_else(|| variable("SPRING_APPLICATION_NAME")),
                &|| manifest_value(&manifest, "Implementation-Title"),
                &|| Some(short_name(&jvm.program)),
            ],
        );
        this.put(
            "version",
            &[&|| attribute("service.version"), &|| {
                manifest_value(&manifest, "Implementation-Version")
            }],
        );
        this.put("host", &[&|| Some(host.clone())]);
        this.put(
            "container",
            &[&|| attribute("container.id"), &|| jvm.container.as_ref()?.id.clone()],
        );
        let is_in_pod = variable("KUBERNETES_SERVICE_HOST").is_some();
        this.put(
            "pod",
            &[
                &|| attribute("k8s.pod.name"),
                &|| downward("name"),
                // Kubernetes gives the pod's name to its containers as that of the machine.
                &|| variable("HOSTNAME").filter(|_| is_in_pod),
            ],
        );
        this.put(
            "namespace",
            &[
                &|| attribute("k8s.namespace.name").or_else(|| attribute("service.namespace")),
                &|| downward("namespace"),
                &|| small_file(jvm, NAMESPACE),
            ],
        );
        let pid = jvm.process.pid;
        this.put(
            "instance",
            &[&|| attribute("service.instance.id"), &|| Some(format!("{host}:{pid}"))],
        );
        for LabelArg { key, value } in &settings.labels {
            this.put(key, &[&|| Some(value.clone())]);
        }
        this
    }

    /// Sets a label to the first value that there is.
    fn put(&mut self, key: &str, sources: &[&dyn Fn() -> Option<String>]) {
        let found = sources.iter().find_map(|source| source());
        let Some(value) = found.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()) else {
            return;
        };
        // By the key as well: a label can be called password.
        let masked = secrets::mask(&format!("{key}={}", secrets::mask(&value)));
        let value = masked.split_once('=').map_or(&*value, |it| it.1);
        self.0.insert(key.to_owned(), value.chars().take(LONGEST).collect());
    }

    /// The labels as lines, for a later recorder.
    pub(crate) fn text(&self) -> String {
        self.labels().map(|(key, value)| format!("{key}={}\n", value.replace('\n', " "))).collect()
    }

    /// The labels of such lines.
    pub(crate) fn of_text(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Self(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    /// The labels.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The service.
    pub(crate) fn service(&self) -> &str {
        self.0.get(Self::SERVICE).map_or("java", |it| it)
    }
}

/// The value of a key in `KEY=VALUE,KEY=VALUE`, whose values may be percent-encoded.
fn attribute(attributes: &str, key: &str) -> Option<String> {
    let mut pairs = attributes.split(',').filter_map(|pair| pair.split_once('='));
    let value = pairs.find(|pair| pair.0.trim() == key)?.1.trim();
    Some(decoded(value)).filter(|it| !it.is_empty())
}

/// `text` with the bytes that `%XX` names.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, others @ ..] = rest {
        let code = others.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => (bytes.push(byte), rest = &others[2..]),
            None => (bytes.push(*first), rest = others),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The name that Spring's property gives, as a property of the JVM or an argument of the program.
fn spring_name(line: &[String]) -> Option<String> {
    let mut values = line.iter().filter_map(|word| {
        let word = word.strip_prefix("-D").or_else(|| word.strip_prefix("--"))?;
        word.strip_prefix("spring.application.name=")
    });
    values.next_back().map(str::to_owned)
}

/// The jar of a command line.
fn jar(line: &[String]) -> Option<String> {
    let at = line.iter().position(|word| word == "-jar")?;
    line.get(at + 1).cloned()
}

/// A main class without its package, or a jar without its folder and ending.
fn short_name(program: &str) -> String {
    let file = program.rsplit('/').next().unwrap_or(program);
    let name = file.strip_suffix(".jar").unwrap_or_else(|| file.rsplit('.').next().unwrap_or(file));
    if name.is_empty() { "java".to_owned() } else { name.to_owned() }
}

fn small_file(jvm: &Jvm, path: &str) -> Option<String> {
    let mut text = String::new();
    let file = open_file(jvm, Path::new(path)).ok()?;
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|it| !it.is_empty())
}

/// Reads `META-INF/MANIFEST.MF` of a zip: the end record, the directory, and the entry.
fn manifest(mut file: File) -> Option<String> {
    let bytes = file.metadata().ok()?.len();
    let mut read_at = |offset: u64, length: u64| {
        let mut part = Vec::new();
        file.seek(SeekFrom::Start(offset)).ok()?;
        (&mut file).take(length).read_to_end(&mut part).ok()?;
        Some(part)
    };
    let u2 =
        |part: &[u8], at: usize| Some(u16::from_le_bytes(part.get(at..at + 2)?.try_into().ok()?));
    let u4 =
        |part: &[u8], at: usize| Some(u32::from_le_bytes(part.get(at..at + 4)?.try_into().ok()?));
    // The end record has 22 bytes and a comment.
    let tail_at = bytes.saturating_sub(22 + 65_535);
    let tail = read_at(tail_at, bytes - tail_at)?;
    let end = tail.windows(4).rposition(|it| it == b"PK\x05\x06")?;
    let (directory_bytes, directory_at) = (u4(&tail, end + 12)?, u4(&tail, end + 16)?);
    let directory = read_at(directory_at.into(), u64::from(directory_bytes).min(16 * MOST_BYTES))?;
    let mut at = 0;
    while directory.get(at..at + 4)? == b"PK\x01\x02" {
        let name_length = usize::from(u2(&directory, at + 28)?);
        let name = directory.get(at + 46..at + 46 + name_length)?;
        if name.eq_ignore_ascii_case(b"META-INF/MANIFEST.MF") {
            let method = u2(&directory, at + 10)?;
            let packed_bytes = u64::from(u4(&directory, at + 20)?).min(MOST_BYTES);
            let header_at = u64::from(u4(&directory, at + 42)?);
            let header = read_at(header_at, 30)?;
            let data_at =
                header_at + 30 + u64::from(u2(&header, 26)?) + u64::from(u2(&header, 28)?);
            let packed = read_at(data_at, packed_bytes)?;
            let mut text = Vec::new();
            match method {
                0 => text = packed,
                8 => drop(DeflateDecoder::new(&*packed).take(MOST_BYTES).read_to_end(&mut text)),
                _ => return None,
            }
            return Some(String::from_utf8_lossy(&text).into_owned());
        }
        at += 46
            + name_length
            + usize::from(u2(&directory, at + 30)?)
            + usize::from(u2(&directory, at + 32)?);
    }
    None
}

/// The value of a name in the main section of a manifest, whose long lines continue after a blank.
fn manifest_value(manifest: &str, name: &str) -> Option<String> {
    let whole = manifest.replace("\r\n", "\n").replace("\n ", "");
    let main = whole.split("\n\n").next().unwrap_or_default();
    let mut pairs = main.lines().filter_map(|line| line.split_once(": "));
    let value = pairs.find(|pair| pair.0.eq_ignore_ascii_case(name))?.1.trim();
    Some(value.to_owned()).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_and_decoded() {
        let text = "service.name=a%20b, service.version = 1.2,x=%,y=%C3%BC";
        for (key, value) in [
            ("service.name", Some("a b")),
            ("service.version", Some("1.2")),
            ("x", Some("%")),
            ("y", Some("ü")),
            ("z", None),
        ] {
            assert_eq!(attribute(text, key).as_deref(), value, "{key}");
        }
    }

    #[test]
    fn programs_have_short_names() {
        for (program, name) in [
            ("org.acme.Main", "Main"),
            ("/opt/shop-1.2.jar", "shop-1.2"),
            ("m/org.acme.Main", "Main"),
            ("", "java"),
        ] {
            assert_eq!(short_name(program), name);
        }
    }

    #[test]
    fn manifests_have_lines_that_continue() {
        let text = "Manifest-Version: 1.0\r\nImplementation-Title: a long\r\n  name\r\n\r\nName: x\r\n\
                    Implementation-Version: 2\r\n";
        assert_eq!(manifest_value(text, "Implementation-Title").as_deref(), Some("a long name"));
        assert_eq!(manifest_value(text, "Implementation-Version"), None);
    }

    #[test]
    fn a_jar_has_a_manifest() {
        for method in [0_u16, 8] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.jar");
            let text = "Implementation-Title: shop\n";
            std::fs::write(&path, jar_of(text, method)).unwrap();
            assert_eq!(manifest(File::open(&path).unwrap()).as_deref(), Some(text));
            // A jar that is cut has this manifest or none.
            let bytes = std::fs::read(&path).unwrap();
            for length in 0..bytes.len() {
                std::fs::write(&path, &bytes[..length]).unwrap();
                let found = manifest(File::open(&path).unwrap());
                assert!(found.is_none_or(|it| it == text), "{length}");
            }
        }
    }

    /// A zip of one entry, which is stored or deflated.
    fn jar_of(text: &str, method: u16) -> Vec<u8> {
        use std::io::Write;
        let name = b"META-INF/MANIFEST.MF";
        let mut packer =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        let data = if method == 0 { text.as_bytes().to_vec() } else { packer.finish().unwrap() };
        let numbers = |all: &[(u32, usize)]| -> Vec<u8> {
            all.iter().flat_map(|(number, size)| number.to_le_bytes()[..*size].to_vec()).collect()
        };
        let (method, size, name_size) = (method.into(), data.len() as u32, name.len() as u32);
        let common = numbers(&[
            (20, 2),
            (0, 2),
            (method, 2),
            (0, 8 - 4),
            (0, 4),
            (size, 4),
            (text.len() as u32, 4),
            (name_size, 2),
            (0, 2),
        ]);
        let mut jar = [&b"PK\x03\x04"[..], &common, name, &data].concat();
        let directory_at = jar.len() as u32;
        let tail = numbers(&[(0, 2), (0, 2), (0, 2), (0, 4), (0, 4)]);
        jar.extend([&b"PK\x01\x02\x14\x00"[..], &common, &tail, name].concat());
        let directory = jar.len() as u32 - directory_at;
        jar.extend(b"PK\x05\x06");
        jar.extend(numbers(&[
            (0, 2),
            (0, 2),
            (1, 2),
            (1, 2),
            (directory, 4),
            (directory_at, 4),
            (0, 2),
        ]));
        jar
    }

    #[test]
    fn spring_s_property_is_one_of_the_jvm_or_an_argument() {
        let line = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let jvm = line("java -Dspring.application.name=shop -jar a.jar");
        assert_eq!(spring_name(&jvm).as_deref(), Some("shop"));
        let both =
            line("java -Dspring.application.name=shop -jar a.jar --spring.application.name=b");
        assert_eq!(spring_name(&both).as_deref(), Some("b"));
        assert_eq!(spring_name(&line("java Main")), None);
    }
}
