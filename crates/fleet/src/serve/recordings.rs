//! A store, as the page asks it.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use perk_profile::Profile;
use perk_store::{Detail, KeptLabels, KeptTimes, Question, ServiceSpan, Store, StoreAddress};
use perk_tables::Limits;
use perk_web::{RecordingStore, Service, ServicePart};
use tokio::runtime::Runtime;

use crate::cluster::ClusterArg;
use crate::store::args::now_ms;

/// How long a list of services holds: a page asks for it every few seconds, and a bucket takes money for each list.
const LIST_AGE: Duration = Duration::from_secs(15);
const MINUTE_MS: i64 = 60_000;

/// A store that is served.
pub(super) struct ServedStore {
    store: Store,
    limits: Limits,
    runtime: Runtime,
    known: Mutex<Option<(Instant, Vec<ServiceSpan>)>>,
}

impl fmt::Debug for ServedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServedStore").field(&self.store).finish()
    }
}

impl ServedStore {
    /// Opens a store.
    ///
    /// # Errors
    /// There is none, or it cannot be read, in one line.
    pub(super) fn open(
        address: &StoreAddress,
        cluster: &ClusterArg,
        limits: Limits,
    ) -> anyhow::Result<Self> {
        let runtime = Runtime::new()?;
        let store = cluster.of_store(runtime.block_on(Store::open(address))?, &limits)?;
        Ok(Self { store, limits, runtime, known: Mutex::default() })
    }
}

impl RecordingStore for ServedStore {
    fn name(&self) -> String {
        self.store.to_string()
    }

    fn services(&self) -> anyhow::Result<Vec<Service>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let spans = match &*known {
            Some((listed, spans)) if listed.elapsed() < LIST_AGE => spans.clone(),
            _ => {
                let spans = self.runtime.block_on(self.store.service_spans())?;
                *known = Some((Instant::now(), spans.clone()));
                spans
            }
        };
        Ok(spans.into_iter().map(service).collect())
    }

    fn profile(&self, part: &ServicePart) -> anyhow::Result<Profile> {
        self.runtime.block_on(self.store.profile(&question(part), &self.limits))
    }

    fn labels(&self, part: &ServicePart) -> anyhow::Result<Vec<(String, Vec<String>)>> {
        let labels = self.runtime.block_on(self.store.labels(&question(part), &self.limits))?;
        Ok(labels.into_iter().map(|(key, values)| (key, values.into_iter().collect())).collect())
    }
}

/// A service with its time. Of the running hour there is nothing after this minute.
fn service(span: ServiceSpan) -> Service {
    let next_minute_ms = now_ms().saturating_add(MINUTE_MS).div_euclid(MINUTE_MS) * MINUTE_MS;
    Service {
        begin_unix_ms: span.first.begin_ms(),
        // A clock of another machine may be fast.
        end_unix_ms: match span.last.begin_ms() < next_minute_ms {
            true => span.last.end_ms().min(next_minute_ms),
            false => span.last.end_ms(),
        },
        name: span.service,
    }
}

/// What is asked of the store.
fn question(part: &ServicePart) -> Question {
    let ServicePart { service, from_ms, to_ms, labels, detail } = part;
    let length_ms = to_ms.saturating_sub(*from_ms);
    let times = |count: u64| {
        KeptTimes::intervals(length_ms / i64::try_from(count.max(1)).unwrap_or(i64::MAX))
    };
    Question {
        service: Some(service.clone()),
        from_ms: Some(*from_ms),
        to_ms: Some(*to_ms),
        labels: labels.clone(),
        metric: None,
        detail: Detail {
            times: detail.interval_count.map_or(KeptTimes::Nothing, times),
            has_stacks: detail.has_stacks,
            has_threads: detail.has_threads,
            labels: KeptLabels::Of(detail.label_keys.clone()),
            is_cpu_time: false,
        },
    }
}
