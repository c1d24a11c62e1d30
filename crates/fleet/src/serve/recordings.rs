//! A store, as the page asks it.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;
use perk_profile::Profile;
use perk_store::{
    Detail, Hour, KeptLabels, KeptTimes, NoAnswer, Question, ServiceSpan, Store, StoreAddress,
    Window,
};
use perk_tables::Limits;
use perk_web::{RecordingStore, Service, ServicePart, StoreFault};
use tokio::runtime::Runtime;

use crate::cluster::ClusterArg;
use crate::lock::lock;
use crate::store::args::now_ms;

/// How long a list holds: a page asks for it every few seconds, and a bucket takes money for each list.
const LIST_AGE: Duration = Duration::from_secs(15);
const MINUTE_MS: i64 = 60_000;

/// A store that is served.
pub(super) struct ServedStore {
    store: Store,
    limits: Limits,
    runtime: Runtime,
    spans: Lists<(), Vec<ServiceSpan>>,
    /// The states of a service, from one hour to another.
    states: Lists<(String, Hour, Hour), u64>,
}

/// Lists of what a store has, by what was asked.
struct Lists<K, T>(Mutex<HashMap<K, (Instant, T)>>);

impl<K: Eq + Hash, T: Clone> Lists<K, T> {
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// The list of a question, made by `list` where none is young.
    fn get(&self, asked: K, list: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut known = lock(&self.0);
        known.retain(|_, (listed, _)| listed.elapsed() < LIST_AGE);
        if let Some((_, it)) = known.get(&asked) {
            return Ok(it.clone());
        }
        let it = list()?;
        known.insert(asked, (Instant::now(), it.clone()));
        Ok(it)
    }
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
        Ok(Self { store, limits, runtime, spans: Lists::new(), states: Lists::new() })
    }

    /// Why there is no answer: what does not fit the memory is a matter of the question.
    fn fault(&self, error: anyhow::Error) -> anyhow::Error {
        let line = format!("{error:#}");
        match error.downcast_ref::<NoAnswer>() {
            Some(NoAnswer::Nothing) => match self.runtime.block_on(self.store.confirm()) {
                Ok(()) => StoreFault::Nothing(line).into(),
                Err(gone) => StoreFault::Unreadable(format!("{gone:#}")).into(),
            },
            Some(NoAnswer::TooMuch(_)) => error,
            None => StoreFault::Unreadable(line).into(),
        }
    }
}

impl RecordingStore for ServedStore {
    fn name(&self) -> String {
        self.store.to_string()
    }

    fn services(&self) -> Result<Vec<Service>> {
        let list = async {
            // A folder that was removed has no services, as an empty store.
            self.store.confirm().await?;
            self.store.service_spans().await
        };
        let spans = self.spans.get((), || self.runtime.block_on(list))?;
        Ok(spans.into_iter().map(service).collect())
    }

    fn state(&self, service: &str, (from_ms, to_ms): (i64, i64)) -> Result<u64> {
        let (from, to) = (Hour::of(from_ms), Hour::of(to_ms.saturating_sub(1)));
        let window = Window { service: Some(service.to_owned()), from: Some(from), to: Some(to) };
        let list = async {
            self.store.confirm().await?;
            self.store.state(&window).await
        };
        self.states.get((service.to_owned(), from, to), || self.runtime.block_on(list))
    }

    fn profile(&self, part: &ServicePart) -> Result<Profile> {
        let profile = self.runtime.block_on(self.store.profile(&question(part), &self.limits));
        profile.map_err(|error| self.fault(error))
    }

    fn labels(&self, part: &ServicePart) -> Result<Vec<(String, Vec<String>)>> {
        let labels = self.runtime.block_on(self.store.labels(&question(part), &self.limits));
        let labels = labels.map_err(|error| self.fault(error))?.into_iter();
        Ok(labels.map(|(key, values)| (key, values.into_iter().collect())).collect())
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
