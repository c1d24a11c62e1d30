//! Folders and buckets as object stores.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig};
use url::Url;

use crate::store::Store;

/// Where instances of a cloud get their credentials if the environment has none.
const METADATA: &str = "169.254.169.254";
/// The schemes of buckets.
const BUCKETS: [&str; 3] = ["s3", "gs", "az"];

/// The address of a store: a folder, or a part of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAddress {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket, or what is below a path in it.
    Bucket(Url),
}

impl StoreAddress {
    /// The store that is meant: a path, `file:///PATH`, `s3://`, `gs://` or `az://`.
    ///
    /// # Errors
    /// There is no such store, in one line.
    pub fn parse(text: &str) -> Result<Self> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(Self::Folder(PathBuf::from(text)));
        };
        match scheme {
            "file" if rest.starts_with('/') => Ok(Self::Folder(PathBuf::from(rest))),
            "file" => bail!("{text}: a file address has a whole path: file:///var/lib/perk"),
            scheme if BUCKETS.contains(&scheme) => {
                Ok(Self::Bucket(Url::parse(text).with_context(|| text.to_owned())?))
            }
            _ => bail!("{text}: a store is a folder, s3://, gs:// or az://"),
        }
    }

    /// The store that an argument is; `None` if it is a file, or a folder of other files.
    ///
    /// # Errors
    /// It is an address of something else, in one line.
    pub fn of_input(input: &std::path::Path) -> Result<Option<Self>> {
        let text = input.to_string_lossy();
        let is_address = text.contains("://") && !input.exists();
        let is_store = is_address || (input.is_dir() && Store::is_at(input));
        is_store.then(|| Self::parse(&text)).transpose()
    }

    /// The same place with the whole path of a folder, as processes with other current folders need it.
    ///
    /// # Errors
    /// The folder is not there, in one line.
    pub(crate) fn whole(&self) -> Result<Self> {
        match self {
            Self::Folder(path) => {
                let whole = path.canonicalize().with_context(|| path.display().to_string())?;
                Ok(Self::Folder(whole))
            }
            Self::Bucket(url) => Ok(Self::Bucket(url.clone())),
        }
    }

    /// The address as text that is parsed again.
    ///
    /// # Errors
    /// The name of the folder is no text.
    pub(crate) fn as_text(&self) -> Result<&str> {
        match self {
            Self::Folder(path) => path
                .to_str()
                .with_context(|| format!("{}: the name of the folder is no text", path.display())),
            Self::Bucket(url) => Ok(url.as_str()),
        }
    }

    /// Whether the text is the address of a bucket.
    pub fn is_bucket(text: &str) -> bool {
        text.split_once("://").is_some_and(|it| BUCKETS.contains(&it.0))
    }

    /// Its objects, and the path below which they are. The environment has the credentials of a bucket.
    ///
    /// # Errors
    /// The folder cannot be made or read, or what the environment has cannot be, in one line.
    pub fn objects(
        &self,
        client: ClientOptions,
        retry: RetryConfig,
    ) -> Result<(Arc<dyn ObjectStore>, Path)> {
        match self {
            Self::Folder(path) => {
                let folder = LocalFileSystem::new_with_prefix(path)
                    .with_context(|| format!("the folder {} cannot be opened", path.display()))?;
                Ok((Arc::new(folder.with_automatic_cleanup(true)), Path::default()))
            }
            Self::Bucket(url) => bucket(url, client, retry),
        }
    }
}

impl std::fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::Bucket(url) => write!(f, "{url}"),
        }
    }
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

fn bucket(
    url: &Url,
    client: ClientOptions,
    retry: RetryConfig,
) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let (scheme, begin) = ObjectStoreScheme::parse(url)?;
    let objects: Arc<dyn ObjectStore> = match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let builder = AmazonS3Builder::new()
                .with_client_options(client.with_allow_http(is_plain("AWS_")))
                .with_retry(retry)
                .with_url(url.to_string());
            let set = |it: AmazonS3Builder, (key, value)| it.with_config(key, value);
            Arc::new(settings("AWS_").fold(builder, set).build()?)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            // The address is Google's, which has TLS, or that of the account.
            let builder = GoogleCloudStorageBuilder::new()
                .with_client_options(client.with_allow_http(true))
                .with_retry(retry)
                .with_url(url.to_string());
            let set = |it: GoogleCloudStorageBuilder, (key, value)| it.with_config(key, value);
            Arc::new(settings("GOOGLE_").fold(builder, set).build()?)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = MicrosoftAzureBuilder::new()
                .with_client_options(client.with_allow_http(is_plain("AZURE_")))
                .with_retry(retry)
                .with_url(url.to_string());
            let set = |it: MicrosoftAzureBuilder, (key, value)| it.with_config(key, value);
            Arc::new(settings("AZURE_").fold(builder, set).build()?)
        }
        _ => bail!("{url} is no object store"),
    };
    Ok((objects, begin))
}

/// What an object store says of a fault, in a line: without the address and the time of the request, and of XML the code
/// and the message.
pub fn reason(error: &str) -> String {
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

    #[test]
    fn addresses_are_stores() {
        let folder = |path: &str| StoreAddress::Folder(PathBuf::from(path));
        assert_eq!(StoreAddress::parse("a/b").unwrap(), folder("a/b"));
        assert_eq!(StoreAddress::parse("file:///a").unwrap(), folder("/a"));
        assert!(matches!(StoreAddress::parse("s3://b/c"), Ok(StoreAddress::Bucket(_))));
        assert!(StoreAddress::parse("file://a").is_err());
        assert!(StoreAddress::parse("http://a").is_err());
    }
}
