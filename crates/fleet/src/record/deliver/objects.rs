//! An object store as a destination: the files of a folder, as objects.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as ObjectPath;
use object_store::{
    Certificate, ClientOptions, ObjectStore, ObjectStoreExt, ObjectStoreScheme, RetryConfig,
};
use reqwest::Url;
use tokio::runtime::{Builder, Runtime};

use super::http::{ANSWERS_WITHIN, CONNECTS_WITHIN, pem};
use super::{Destination, Failure};

/// Where instances of a cloud get their credentials if the environment has none.
const METADATA: &str = "169.254.169.254";
/// The longest message of a store, in characters.
const SHOWN_CHARS: usize = 300;

/// The bucket, and the path within it.
#[derive(Debug)]
pub(super) struct Objects {
    store: Box<dyn ObjectStore>,
    begin: ObjectPath,
    runtime: Runtime,
}

/// The variables of the environment that are for a provider.
fn variables(prefix: &str) -> impl Iterator<Item = (String, String)> {
    // Other variables can be no text.
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    env::vars_os().filter_map(text).filter(move |(name, _)| name.starts_with(prefix))
}

/// What they set: `AWS_REGION` is the key `aws_region`.
fn settings<K: FromStr>(prefix: &str) -> impl Iterator<Item = (K, String)> {
    let key = |name: String| name.to_ascii_lowercase().parse().ok();
    variables(prefix).filter_map(move |(name, value)| Some((key(name)?, value)))
}

/// Whether they name an address without TLS, as a store for tests has it.
fn is_plain(prefix: &str) -> bool {
    variables(prefix).any(|(name, value)| name.contains("ENDPOINT") && value.starts_with("http://"))
}

impl Objects {
    /// The objects below an address. The environment has the credentials.
    ///
    /// # Errors
    /// The address or what the environment has for it cannot be, in one line.
    pub(super) fn new(url: &Url, ca: Option<&Path>) -> anyhow::Result<Self> {
        let mut options =
            ClientOptions::new().with_connect_timeout(CONNECTS_WITHIN).with_timeout(ANSWERS_WITHIN);
        if let Some(path) = ca {
            let all = Certificate::from_pem_bundle(&pem(path)?)?;
            options = all.into_iter().fold(options, ClientOptions::with_root_certificate);
        }
        // The queue tries again.
        let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let (scheme, begin) = ObjectStoreScheme::parse(url)?;
        let store: Box<dyn ObjectStore> = match scheme {
            ObjectStoreScheme::AmazonS3 => {
                let builder = AmazonS3Builder::new()
                    .with_client_options(options.with_allow_http(is_plain("AWS_")))
                    .with_retry(retry)
                    .with_url(url.to_string());
                let set = |it: AmazonS3Builder, (key, value)| it.with_config(key, value);
                Box::new(settings("AWS_").fold(builder, set).build()?)
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                let builder = GoogleCloudStorageBuilder::new()
                    .with_client_options(options)
                    .with_retry(retry)
                    .with_url(url.to_string());
                let set = |it: GoogleCloudStorageBuilder, (key, value)| it.with_config(key, value);
                Box::new(settings("GOOGLE_").fold(builder, set).build()?)
            }
            ObjectStoreScheme::MicrosoftAzure => {
                let builder = MicrosoftAzureBuilder::new()
                    .with_client_options(options.with_allow_http(is_plain("AZURE_")))
                    .with_retry(retry)
                    .with_url(url.to_string());
                let set = |it: MicrosoftAzureBuilder, (key, value)| it.with_config(key, value);
                Box::new(settings("AZURE_").fold(builder, set).build()?)
            }
            _ => bail!("{url} is no object store"),
        };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { store, begin, runtime })
    }
}

impl Destination for Objects {
    fn deliver(&mut self, path: &Path, file: &Path) -> Result<(), Failure> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let object = match ObjectPath::parse(format!("{}/{}", self.begin, path.display())) {
            Ok(object) => object,
            Err(error) => return Err(Failure::Refused(error.to_string())),
        };
        let put = self.runtime.block_on(self.store.put(&object, bytes.into()));
        put.map(|_| ()).map_err(|error| {
            let reason = reason(&error.to_string());
            Failure::from(anyhow!(reason.chars().take(SHOWN_CHARS).collect::<String>()))
        })
    }
}

/// What a store says, in a line: without the address and the time of the request, and of XML the code and the
/// message.
fn reason(error: &str) -> String {
    if error.contains(METADATA) {
        return "there are no credentials for it in the environment (perk record --help)"
            .to_owned();
    }
    let answer = error.split_once(" - ").map_or(error, |it| it.1);
    let part = |tag: &str| {
        let after = answer.split_once(&format!("<{tag}>"))?.1;
        Some(after.split_once(&format!("</{tag}>"))?.0)
    };
    let status = answer.split('<').next().unwrap_or_default();
    let parts = [part("Code"), part("Message")].into_iter().flatten();
    let line = parts.fold(status.to_owned(), |line, part| format!("{line} {part}"));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_line_with_their_reason() {
        for (error, line) in [
            (
                "Object at location a not found: Error performing PUT http://h/b/a in 33.3ms - Server returned \
                 non-2xx status code: 404 Not Found: <?xml version=\"1.0\"?>\n<Error><Code>NoSuchBucket</Code>\
                 <Message>The bucket is not there</Message></Error>",
                "Server returned non-2xx status code: 404 Not Found: NoSuchBucket The bucket is not there",
            ),
            (
                "Error performing PUT http://h/ in 1ms - HTTP error: no\nroute",
                "HTTP error: no route",
            ),
            ("something else", "something else"),
        ] {
            assert_eq!(reason(error), line);
        }
    }
}
