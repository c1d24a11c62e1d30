//! Pushes of series: `push.v1.PusherService/Push`.

use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use perk_formats::by_name;
use perk_profile::{Accounting, Profile};

use super::add::{checked_labels, read};
use super::api::Api;
use super::fault::Fault;
use super::limits::{MESSAGE_BYTES, MOST_PROFILES};
use super::rpc;
use crate::lock::lock;
use crate::pyroscope_messages::{PushRequest, PushResponse, RawProfileSeries};

/// Adds the profiles of series.
pub(super) async fn push(State(api): State<Arc<Api>>, request: Request) -> Response {
    let pushed = async {
        api.rate.count()?;
        let _place = api.pushes.take().await?;
        rpc::answer(request, MESSAGE_BYTES, async |pushed: PushRequest| {
            api.add_series(pushed).await?;
            Ok(PushResponse::default())
        })
        .await
    };
    pushed.await.unwrap_or_else(IntoResponse::into_response)
}

impl Api {
    async fn add_series(&self, request: PushRequest) -> Result<(), Fault> {
        let profiles: usize = request.series.iter().map(|it| it.samples.len()).sum();
        if profiles.max(request.series.len()) > MOST_PROFILES {
            return Err(too_many());
        }
        let accounts = Arc::<Mutex<Vec<Accounting>>>::default();
        for RawProfileSeries { labels, samples } in request.series {
            let labels = checked_labels(labels.into_iter().map(|it| (it.name, it.value)))?;
            let accounts = Arc::clone(&accounts);
            let read = move || {
                let profiles = samples.into_iter().map(|sample| {
                    let mut profile = pprof(sample.raw_profile)?;
                    keep_once(&mut profile, &mut lock(&accounts));
                    Ok(profile)
                });
                profiles.collect()
            };
            self.add(labels, None, read).await?;
        }
        Ok(())
    }
}

/// The fault of a push of too many profiles.
pub(super) fn too_many() -> Fault {
    Fault::argument(format!("more than {MOST_PROFILES} profiles at once: push fewer"))
}

/// Reads a profile in pprof.
pub(super) fn pprof(bytes: Vec<u8>) -> Result<Profile, Fault> {
    let format = by_name("pprof").ok_or_else(|| Fault::unknown("perk does not read pprof"))?;
    read(bytes, format)
}

/// The series of a recording each have its account: one of them keeps it, so that it counts once.
fn keep_once(profile: &mut Profile, accounts: &mut Vec<Accounting>) {
    match &profile.accounting {
        Some(account) if accounts.contains(account) => profile.accounting = None,
        Some(account) => accounts.push(account.clone()),
        None => {}
    }
}
