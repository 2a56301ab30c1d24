//! Tables in memory, as other programs hand them over and take them: batches of Arrow, without a file between.

use std::{collections::HashMap, path::Path, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::{
    Table, TableError,
    formats::{COLUMNS_KEY, of_batches},
};

impl Table {
    /// The table of batches, all of this schema, of which types are taken as of a Parquet file; the schema's metadata are the table's.
    /// `name` is what messages call it.
    ///
    /// # Errors
    /// [`TableError::DuplicateColumn`], [`TableError::ColumnType`] and [`TableError::NotFinite`].
    pub fn from_batches(name: &str, schema: &Schema, batches: &[RecordBatch]) -> Result<Table, TableError> {
        let metadata = schema.metadata().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        of_batches(Path::new(name), schema, batches, metadata)
    }

    /// The columns as one batch, which shares them with the table. Its schema's metadata are the table's, and what [`Table::from_batches`]
    /// needs to give the same table; a Parquet file that Arrow makes of it says the same as one of [`Table::write`].
    ///
    /// # Errors
    /// Never as yet: what a column is called and holds always makes JSON.
    pub fn to_batch(&self) -> Result<RecordBatch, serde_json::Error> {
        let mut metadata: HashMap<String, String> = self.metadata.clone().into_iter().collect();
        metadata.insert(COLUMNS_KEY.to_owned(), self.columns_text()?);
        let schema = Schema::new_with_metadata(self.batch.schema().fields().clone(), metadata);
        Ok(self.batch.clone().with_schema(Arc::new(schema)).expect("the fields are the same"))
    }

    /// What the table remembers of its columns, as JSON.
    pub(super) fn columns_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&self.columns)
    }
}
