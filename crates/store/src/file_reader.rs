//! Reads parts of data files for the Parquet reader.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::store::INDEX_BYTES;

/// A data file.
pub(crate) struct FileReader {
    pub(crate) objects: Arc<dyn ObjectStore>,
    pub(crate) file: ObjectMeta,
}

fn fault(error: object_store::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

impl AsyncFileReader for FileReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        self.objects.get_range(&self.file.location, range).map_err(fault).boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        async move { self.objects.get_ranges(&self.file.location, &ranges).await.map_err(fault) }
            .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        async move {
            let options = options.map(|it| it.metadata_options().clone());
            let reader = ParquetMetaDataReader::new()
                .with_metadata_options(options)
                .with_prefetch_hint(Some(INDEX_BYTES));
            let size = self.file.size;
            Ok(Arc::new(reader.load_and_finish(self, size).await?))
        }
        .boxed()
    }
}
