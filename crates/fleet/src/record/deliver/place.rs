//! The places of `--to`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::env;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, bail};
use perk_store::{Store, StoreAddress};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rustc_hash::FxHasher;
use serde::Deserialize;

/// The schemes of addresses.
const SCHEMES: [&str; 12] = [
    "file",
    "s3",
    "gs",
    "az",
    "store+file",
    "store+s3",
    "store+gs",
    "store+az",
    "pyroscope+http",
    "pyroscope+https",
    "otlp+http",
    "otlp+https",
];
/// What the scheme of a store of tables begins with.
const STORE: &str = "store+";
/// The header with the tenant, which distinguishes two places of one address.
const TENANT: &str = "x-scope-orgid";

/// A place as it is asked for: a path or an address. The file of `--config` can give it headers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a path or an address, or a table with url and headers")]
pub(crate) enum PlaceArg {
    /// A path or an address.
    Text(String),
    /// An address with headers of its own.
    Table(PlaceTable),
}

/// See [`PlaceArg`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceTable {
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, Secret>,
}

impl FromStr for PlaceArg {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::Text(text.to_owned()))
    }
}

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// What a place is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket of an object store, or a part of one.
    Objects(Url),
    /// A store, which has tables of what files have.
    Store(StoreAddress),
    /// A server of a protocol.
    Server(Protocol, Url),
}

/// What a server speaks, over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The service `push.v1.PusherService` of Pyroscope.
    Push,
    /// Pyroscope's older `/ingest`.
    Ingest,
    /// OpenTelemetry's profiles.
    Otlp,
}

/// A place that files are delivered to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: PlaceKind,
    /// Its name in messages, without secrets.
    pub(crate) name: String,
    /// The headers of requests.
    pub(crate) headers: HeaderMap,
}

impl Place {
    /// The place that is meant. `${NAME}` is a variable of the environment.
    ///
    /// # Errors
    /// There is no such place, in one line.
    pub(crate) fn of(arg: &PlaceArg, headers: &[Secret]) -> anyhow::Result<Self> {
        let (text, own) = match arg {
            PlaceArg::Text(text) => (text, BTreeMap::new()),
            PlaceArg::Table(PlaceTable { url, headers }) => (url, headers.clone()),
        };
        // A user and a password may stand before the host.
        let as_typed = match (text.find("://"), text.rfind('@')) {
            (Some(begin), Some(end)) => format!("{}://***{}", &text[..begin], &text[end..]),
            _ => text.clone(),
        };
        let cannot = || format!("--to {as_typed}");
        // A user and a password keep their characters, whatever a variable has; what stands elsewhere may be an address.
        let login_end = text.rfind('@').unwrap_or(0);
        let login = expanded(&text[..login_end], percent_encoded).with_context(cannot)?;
        let whole = login + &expanded(&text[login_end..], str::to_owned).with_context(cannot)?;
        let Some((scheme, rest)) = whole.split_once("://") else {
            if let Some(scheme) = SCHEMES.iter().find(|it| whole.starts_with(&format!("{it}:"))) {
                bail!("--to {as_typed}: an address begins with {scheme}://");
            }
            let path = std::path::absolute(&whole).with_context(cannot)?;
            return Ok(Self::folder(path));
        };
        if scheme == "file" {
            if !rest.starts_with('/') {
                bail!("--to {as_typed}: a file address has a whole path: file:///var/perk");
            }
            return Ok(Self::folder(rest.into()));
        }
        if let Some(address) = whole.strip_prefix(STORE) {
            let address = StoreAddress::parse(address).with_context(cannot)?;
            return Ok(Self::new(STORE, PlaceKind::Store(address)));
        }
        let url = |url: &str| Url::parse(url).with_context(cannot);
        let kind = match scheme {
            "pyroscope+http" | "pyroscope+https" => {
                let mut url = url(&whole["pyroscope+".len()..])?;
                let path = url.path().trim_end_matches('/').to_owned();
                match path.strip_suffix("/ingest") {
                    Some(base) => {
                        url.set_path(base);
                        PlaceKind::Server(Protocol::Ingest, url)
                    }
                    None => PlaceKind::Server(Protocol::Push, url),
                }
            }
            "otlp+http" | "otlp+https" => {
                PlaceKind::Server(Protocol::Otlp, url(&whole["otlp+".len()..])?)
            }
            "s3" | "gs" | "az" => PlaceKind::Objects(url(&whole)?),
            _ => bail!(
                "--to {as_typed}: use a folder, s3://, gs://, az://, store+s3://, pyroscope+https:// or otlp+https://"
            ),
        };
        let mut place = Self::new(scheme, kind);
        if matches!(place.kind, PlaceKind::Objects(_)) {
            return Ok(place);
        }
        for Secret(line) in headers {
            let (name, value) = line.split_once(':').with_context(|| {
                "--header has a name, a colon and a value, such as X-Scope-OrgID: shop".to_owned()
            })?;
            place.add_header(name, value)?;
        }
        for (name, Secret(value)) in own {
            place.add_header(&name, &value)?;
        }
        if let Some(tenant) = place.headers.get(TENANT).and_then(|it| it.to_str().ok()) {
            place.name += &format!(" ({tenant})");
        }
        Ok(place)
    }

    fn new(scheme: &str, kind: PlaceKind) -> Self {
        Self { name: shown(scheme, &kind), kind, headers: HeaderMap::new() }
    }

    /// The folder, or the store that it is.
    fn folder(path: PathBuf) -> Self {
        match Store::is_at(&path) {
            true => Self::new(STORE, PlaceKind::Store(StoreAddress::Folder(path))),
            false => Self::new("", PlaceKind::Folder(path)),
        }
    }

    fn add_header(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        let cannot = || format!("the header \"{}\"", name.trim());
        let key = HeaderName::from_bytes(name.trim().as_bytes()).with_context(cannot)?;
        let value = expanded(value.trim(), str::to_owned).with_context(cannot)?;
        let mut value = HeaderValue::from_str(&value).with_context(cannot)?;
        value.set_sensitive(true);
        self.headers.insert(key, value);
        Ok(())
    }

    /// The folder of its queue in the spool. Places with the same one are the same.
    pub(crate) fn key(&self) -> String {
        let user = match &self.kind {
            PlaceKind::Server(_, url) => url.username(),
            PlaceKind::Folder(_) | PlaceKind::Objects(_) | PlaceKind::Store(_) => "",
        };
        let mut hasher = FxHasher::default();
        [&*self.name, user].hash(&mut hasher);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        let text: String = self.name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let begin = text.len().saturating_sub(150);
        format!("to{}-{:08x}", &text[begin..], hasher.finish() as u32)
    }
}

/// An address without what may be secret.
fn shown(scheme: &str, kind: &PlaceKind) -> String {
    let (url, end) = match kind {
        PlaceKind::Folder(path) => return path.display().to_string(),
        PlaceKind::Store(StoreAddress::Folder(path)) => {
            return format!("{STORE}file://{}", path.display());
        }
        PlaceKind::Store(StoreAddress::Bucket(url)) => {
            return shown(&format!("{scheme}{}", url.scheme()), &PlaceKind::Objects(url.clone()));
        }
        PlaceKind::Server(Protocol::Ingest, url) => (url, "/ingest"),
        PlaceKind::Objects(url) | PlaceKind::Server(_, url) => (url, ""),
    };
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    let path = url.path().trim_end_matches('/');
    format!("{scheme}://{}{port}{path}{end}", url.host_str().unwrap_or_default())
}

/// `text` with the values of the variables that it names, in the form that `form` gives them.
fn expanded(text: &str, form: fn(&str) -> String) -> anyhow::Result<String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').context("a ${ has no }")?;
        let value =
            env::var(name).ok().with_context(|| format!("the variable {name} is not set"))?;
        whole += before;
        whole += &form(&value);
        rest = after;
    }
    Ok(whole + rest)
}

/// `text` as a part of an address: `%XX` in place of what has a meaning there.
fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encoded = text.bytes().map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    encoded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> anyhow::Result<Place> {
        Place::of(&PlaceArg::Text(text.to_owned()), &[])
    }

    #[test]
    fn addresses_are_places() {
        for (text, name, key) in [
            ("/var/perk", "/var/perk", "to_var_perk"),
            ("file:///var/perk", "/var/perk", "to_var_perk"),
            ("s3://bucket/a", "s3://bucket/a", "tos3___bucket_a"),
            (
                "pyroscope+https://me:secret@host:4040/",
                "pyroscope+https://host:4040",
                "topyroscope_https___host_4040",
            ),
            (
                "pyroscope+http://host/x/ingest",
                "pyroscope+http://host/x/ingest",
                "topyroscope_http___host_x_ingest",
            ),
            ("otlp+http://h:4318?key=secret", "otlp+http://h:4318", "tootlp_http___h_4318"),
            ("store+s3://bucket/a/", "store+s3://bucket/a", "tostore_s3___bucket_a"),
            ("store+file:///var/a", "store+file:///var/a", "tostore_file____var_a"),
        ] {
            let place = place(text).unwrap();
            assert_eq!(place.name, name, "{text}");
            assert_eq!(place.key().rsplit_once('-').unwrap().0, key, "{text}");
        }
    }

    #[test]
    fn what_is_no_place_is_one_line() {
        for (text, message) in [
            ("http://a", "--to http://a: use a folder, s3://, "),
            ("htp://me:secret@a", "--to htp://***@a: use a folder"),
            ("file://a", "a file address has a whole path"),
            ("${PERK_NO_SUCH}/a", "the variable PERK_NO_SUCH is not set"),
            ("otlp+http://", "--to otlp+http://: "),
            ("s3:bucket", "--to s3:bucket: an address begins with s3://"),
        ] {
            let error = format!("{:#}", place(text).unwrap_err());
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn places_differ_by_path_and_user() {
        let keys = ["/a/b", "/a_b", "pyroscope+http://a:1@h", "pyroscope+http://b:1@h"];
        let mut keys: Vec<_> = keys.iter().map(|text| place(text).unwrap().key()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 4);
        assert_eq!(percent_encoded("p@ss/w:rd%41#é~"), "p%40ss%2Fw%3Ard%2541%23%C3%A9~");
    }

    #[test]
    fn a_tenant_has_a_queue_of_its_own_and_headers_are_not_shown() {
        let table = "url = \"pyroscope+http://h\"\nheaders = { X-Scope-OrgID = \"a\", Authorization = \"Bearer ${PATH}\" }";
        let table = PlaceArg::Table(toml::from_str(table).unwrap());
        let place = Place::of(&table, &[Secret("X-Scope-OrgID: b".to_owned())]).unwrap();
        assert_eq!(place.name, "pyroscope+http://h (a)");
        let path = env::var("PATH").unwrap();
        assert_eq!(place.headers["authorization"], format!("Bearer {path}"));
        assert!(!format!("{table:?} {place:?}").contains("Bearer"));
    }
}
