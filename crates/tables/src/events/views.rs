//! The views of the JDK's `jfr view` under the same names, with underscores, in the schema `view`.

mod queries;

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::datasource::ViewTable;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::session_state::SessionState;
use datafusion::prelude::SessionContext;

use self::queries::{VIEWS, View};
use super::names::Names;
use crate::table::TableInfo;

/// The schema of the views.
const SCHEMA: &str = "view";

/// The views for people. Their columns are those of their queries.
pub(super) fn tables(names: &Names) -> Vec<TableInfo> {
    let views = VIEWS.iter().filter(|it| names.has_all(it.query));
    let info = |it: &View| TableInfo {
        name: format!("{SCHEMA}.{}", it.name).into(),
        about: it.about.into(),
        columns: Vec::new(),
    };
    views.map(info).collect()
}

/// Makes the views known to a session.
pub(super) fn register(context: &SessionContext, names: Names) -> Result<()> {
    let missing = || DataFusionError::Internal("there is no catalog".to_owned());
    let catalog = context.catalog("datafusion").ok_or_else(missing)?;
    // The session holds the views, and not the other way round, too.
    let session = context.state_weak_ref();
    let session = Box::new(move || Some(session.upgrade()?.read().clone()));
    let views = Views { session, names };
    catalog.register_schema(SCHEMA, Arc::new(views)).map(|_| ())
}

/// The views whose types of events the files have. A view is planned when a query names it.
struct Views {
    session: Box<dyn Fn() -> Option<SessionState> + Send + Sync>,
    names: Names,
}

impl Views {
    fn find(&self, name: &str) -> Option<&'static View> {
        VIEWS.iter().find(|it| it.name == name && self.names.has_all(it.query))
    }
}

impl std::fmt::Debug for Views {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Views")
    }
}

#[async_trait]
impl SchemaProvider for Views {
    fn table_names(&self) -> Vec<String> {
        let views = VIEWS.iter().filter(|it| self.names.has_all(it.query));
        views.map(|it| it.name.to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some((view, session)) = self.find(name).zip((self.session)()) else {
            return Ok(None);
        };
        // Events of older JDKs and other programs lack fields: there is no such view of them.
        let plan = session.statement_to_plan(self.names.parse(view.query)?).await.ok();
        Ok(plan.map(|plan| Arc::new(ViewTable::new(plan, Some(view.query.to_owned()))) as _))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}
