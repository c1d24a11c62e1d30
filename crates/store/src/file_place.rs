//! Where sessions of DataFusion find the files of a store.

use anyhow::{Context, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use object_store::path::Path;

use crate::objects::StoreAddress;

/// The objects among which a session has the files of a store, and the folder of these there.
#[derive(Clone, Debug)]
pub(crate) struct FilePlace {
    pub(crate) url: ObjectStoreUrl,
    folder: Option<Path>,
}

impl FilePlace {
    /// The place in a session that has the objects of the store ([`Store::context`](crate::Store)).
    pub(crate) fn of_session() -> Result<Self> {
        Ok(Self { url: ObjectStoreUrl::parse("perk-store://store")?, folder: None })
    }

    /// The place in any session of any machine: the files of a file system, or those of a bucket.
    ///
    /// # Errors
    /// The folder is not there, or its name is no text, in one line.
    pub(crate) fn of_cluster(address: &StoreAddress) -> Result<Self> {
        match address.whole()? {
            StoreAddress::Folder(folder) => {
                let no_text = || format!("{}: the name of the folder is no text", folder.display());
                let folder = Path::from_absolute_path(&folder).with_context(no_text)?;
                Ok(Self { url: ObjectStoreUrl::local_filesystem(), folder: Some(folder) })
            }
            StoreAddress::Bucket(url) => {
                let bucket = url.host_str().with_context(|| format!("{url} names no bucket"))?;
                let url = ObjectStoreUrl::parse(format!("{}://{bucket}", url.scheme()))?;
                Ok(Self { url, folder: None })
            }
        }
    }

    /// The path of a file of the store.
    pub(crate) fn path(&self, file: Path) -> Result<Path> {
        match &self.folder {
            Some(folder) => Ok(Path::parse(format!("{folder}/{file}"))?),
            None => Ok(file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_find_files_by_whole_paths() {
        let place = |address: &str| {
            let place = FilePlace::of_cluster(&StoreAddress::parse(address).unwrap()).unwrap();
            let path = place.path(Path::from("samples/service=a%2Fb/1.parquet")).unwrap();
            (place.url.to_string(), path.to_string())
        };
        let file = "samples/service=a%252Fb/1.parquet";
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap().join("a b é%20");
        std::fs::create_dir(&folder).unwrap();
        let folder = folder.to_str().unwrap();
        assert_eq!(place(folder), ("file:///".into(), format!("{}/{file}", &folder[1..])));
        assert_eq!(place("s3://bucket/part"), ("s3://bucket/".into(), file.into()));
        assert!(FilePlace::of_cluster(&StoreAddress::parse("no/folder").unwrap()).is_err());
    }
}
