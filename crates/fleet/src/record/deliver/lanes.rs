//! The lanes to all places: for each one a queue, and the thread that delivers it.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::bail;
use perk_profile::units::plural;

use super::{Place, Queue, open};
use crate::record::metrics::Metrics;
use crate::record::packages::{Form, Package};
use crate::record::settings::Settings;
use crate::talk::say;

/// The time that deliveries have when the recorder ends.
const LAST_DELIVERIES: Duration = Duration::from_secs(5);

/// The lanes; see the module.
#[derive(Debug)]
pub(crate) struct Lanes {
    spool: PathBuf,
    metrics: Arc<Metrics>,
    lanes: RwLock<Vec<Lane>>,
}

#[derive(Debug)]
struct Lane {
    place: Place,
    queue: Arc<Queue>,
    thread: JoinHandle<()>,
    /// Whether it is asked for no more, and ends.
    is_closed: bool,
}

impl Lane {
    fn is_to(&self, place: &Place) -> bool {
        self.place.key() == place.key()
    }
}

impl Lanes {
    /// Opens the lanes to all places.
    ///
    /// # Errors
    /// A place cannot be one, or its queue cannot be used, in one line.
    pub(crate) fn new(settings: &Settings, metrics: &Arc<Metrics>) -> anyhow::Result<Self> {
        let (spool, metrics) = (settings.spool.clone(), Arc::clone(metrics));
        let lanes = Self { spool, metrics, lanes: RwLock::default() };
        lanes.change(settings)?;
        Ok(lanes)
    }

    /// Changes the places to those of the settings. What waits for a place that is not among them stays in its
    /// queue.
    ///
    /// # Errors
    /// A place cannot be one, or is about to end, and nothing is changed; or its queue cannot be used.
    pub(crate) fn change(&self, settings: &Settings) -> anyhow::Result<()> {
        let opened = settings.places.iter().map(|place| Ok((place, open(place, settings)?)));
        let opened = opened.collect::<anyhow::Result<Vec<_>>>()?;
        let mut lanes = self.lanes.write().unwrap_or_else(PoisonError::into_inner);
        lanes.retain(|lane| !(lane.is_closed && lane.thread.is_finished()));
        let ends = |place: &&Place| lanes.iter().any(|lane| lane.is_closed && lane.is_to(place));
        if let Some(place) = settings.places.iter().find(ends) {
            bail!("{} still ends: send SIGHUP again in a minute", place.name);
        }
        for lane in lanes.iter_mut() {
            if !settings.places.iter().any(|place| lane.is_to(place)) {
                lane.is_closed = true;
                lane.queue.close();
            }
        }
        for (place, destination) in opened {
            let bytes = settings.spool_bytes;
            match lanes.iter_mut().find(|lane| lane.is_to(place)) {
                Some(lane) => {
                    lane.place = place.clone();
                    lane.queue.set(destination, bytes);
                }
                None => {
                    let metrics = self.metrics.destination(&place.name);
                    let (folder, name) = (self.spool.join(place.key()), place.name.clone());
                    let queue = Queue::open(folder, bytes, name, metrics)?;
                    let builder = thread::Builder::new().name("perk delivery".to_owned());
                    let thread = builder.spawn({
                        let queue = Arc::clone(&queue);
                        move || queue.deliver_to(destination)
                    })?;
                    lanes.push(Lane { place: place.clone(), queue, thread, is_closed: false });
                }
            }
        }
        Ok(())
    }

    /// The forms that the places have files in, each once.
    pub(crate) fn forms(&self, settings: &Settings) -> Vec<Form> {
        let mut forms = Vec::new();
        for place in &settings.places {
            let form = Form::of(&place.kind, settings.format);
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        forms
    }

    /// Adds a package to the queues of all places that have files in this form.
    ///
    /// # Errors
    /// It cannot wait in one of them.
    pub(crate) fn add(
        &self,
        form: Form,
        package: &Package,
        settings: &Settings,
    ) -> anyhow::Result<()> {
        let lanes = self.lanes.read().unwrap_or_else(PoisonError::into_inner);
        let is_of =
            |lane: &&Lane| !lane.is_closed && Form::of(&lane.place.kind, settings.format) == form;
        lanes.iter().filter(is_of).try_for_each(|it| it.queue.add(&package.path, &package.bytes))
    }

    /// Waits for the last deliveries. What waits then is there for the next recorder. `false` if something waits, or was
    /// refused.
    pub(crate) fn finish(&self) -> bool {
        let lanes = self.lanes.read().unwrap_or_else(PoisonError::into_inner);
        lanes.iter().for_each(|lane| lane.queue.close());
        let end = Instant::now() + LAST_DELIVERIES;
        for lane in &*lanes {
            while !lane.thread.is_finished() && Instant::now() < end {
                thread::sleep(Duration::from_millis(10));
            }
        }
        let mut is_all = true;
        for Lane { place, queue, .. } in &*lanes {
            if queue.len() > 0 {
                let (files, spool) = (plural(queue.len() as u64, "file"), self.spool.display());
                say(format_args!(
                    "{files} for {} in {spool}, for the next perk record with this destination",
                    place.name
                ));
                is_all = false;
            }
            is_all &= queue.refused_count() == 0;
        }
        is_all
    }
}
