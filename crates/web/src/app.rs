//! What all requests share: the sources, and what was read and answered.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use axum::http::header::ACCEPT_ENCODING;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use perk_analysis::flame::FlameGraph;
use perk_heap::Heap;
use perk_open::Input;
use perk_report::{Answer, NamedItem, ProfileRequest, Selection};
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::cache::{Answers, Cache, Weight};
use crate::fault::Fault;
use crate::live;
use crate::question::Question;
use crate::reply::Reply;
use crate::sources::{Origin, Source, Sources};

/// Questions that are worked on at once.
const WORKERS: usize = 2;
/// The bytes of answers that are kept: tables that are sorted and scrolled.
const ANSWER_BYTES: usize = 64 << 20;
/// The bytes of parts of profiles that are kept.
const PART_BYTES: usize = 8 << 20;
/// The bytes of flame graphs that are kept.
const FLAME_BYTES: usize = 8 << 20;

/// Parts of recordings of running JVMs that are kept: one that a page has frozen is asked for each second.
const MOMENTS: usize = 4;
/// Parts of services that are kept: a page shows some of them at once, in different detail.
const SERVICE_PARTS: usize = 8;

/// All that requests share.
pub(crate) struct App {
    pub(crate) access: Access,
    pub(crate) sources: Sources,
    pub(crate) source_folders: Vec<PathBuf>,
    pub(crate) read: perk_open::Options,
    pub(crate) answers: Answers<Answer>,
    pub(crate) parts: Answers<Selection>,
    pub(crate) flames: Answers<FlameGraph>,
    profiles: Cache<Selection>,
    /// Parts of the recordings of running JVMs.
    moments: Answers<Selection>,
    /// Parts of what stores have of services.
    services: Answers<Selection>,
    heaps: Cache<Heap>,
    workers: Arc<Semaphore>,
}

impl Weight for Answer {
    fn bytes(&self) -> usize {
        self.bytes()
    }
}

impl Weight for Selection {
    fn bytes(&self) -> usize {
        self.own_bytes()
    }
}

impl Weight for FlameGraph {
    fn bytes(&self) -> usize {
        self.bytes()
    }
}

impl App {
    pub(crate) fn new(
        access: Access,
        sources: Sources,
        source_folders: Vec<PathBuf>,
        read: perk_open::Options,
    ) -> Self {
        Self {
            access,
            sources,
            source_folders,
            read,
            answers: Answers::new(ANSWER_BYTES),
            parts: Answers::new(PART_BYTES),
            flames: Answers::new(FLAME_BYTES),
            profiles: Cache::default(),
            moments: Answers::of_count(MOMENTS),
            services: Answers::of_count(SERVICE_PARTS),
            heaps: Cache::default(),
            workers: Arc::new(Semaphore::new(WORKERS)),
        }
    }

    /// The whole profile of a source.
    pub(crate) fn profile(&self, source: &Source) -> Result<Arc<Selection>, Fault> {
        let select = || {
            let input = self.input(source)?;
            ProfileRequest::default().select(NamedItem::new(source.label(), input))
        };
        let parts = match &source.origin {
            Origin::File(_) => return self.profiles.get(source, select),
            Origin::Jvm(_) => &self.moments,
            Origin::Service(_) => &self.services,
            Origin::Fault(line) => return Err(Fault::source(line.clone())),
        };
        parts.get(&source.id, || {
            self.drop_old_moments(source, parts);
            Ok(select()?)
        })
    }

    /// Drops what was made of parts of a source that are no longer kept. It has their symbols, which other parts do not
    /// share.
    fn drop_old_moments(&self, source: &Source, parts: &Answers<Selection>) {
        let kept = parts.keys();
        let is_kept = |id: &str| id == source.id || kept.iter().any(|it| it == id);
        let is_wanted = |key: &str| key.split(' ').all(|id| !source.is_moment(id) || is_kept(id));
        self.parts.retain(is_wanted);
        self.answers.retain(is_wanted);
        self.flames.retain(is_wanted);
    }

    /// What the profile of a source is made of, read anew.
    pub(crate) fn input(&self, source: &Source) -> anyhow::Result<Input> {
        let mut input = match &source.origin {
            Origin::File(file) => return perk_open::profile(&file.path, &self.read),
            Origin::Jvm(live) => live.input()?,
            Origin::Service(moment) => moment.input()?,
            Origin::Fault(line) => bail!("{line}"),
        };
        perk_open::prepare(&mut input.profile, &self.read);
        Ok(input)
    }

    /// The heap of a source. A large dump has its index beside it, as with `perk heap`.
    pub(crate) fn heap(&self, source: &Source) -> Result<Arc<Heap>, Fault> {
        let Some(file) = source.file() else {
            let line = format!("{} is no file: perk heap shows a heap dump", source.name);
            return Err(Fault::nothing(line));
        };
        self.heaps.get(source, || {
            perk_open::heap(&file.path, &perk_heap::Options::default(), &mut perk_heap::NoWatch)
        })
    }

    /// The source and the question of a request; a question about another version of it has no answer.
    pub(crate) fn asked(&self, id: &str, query: Option<&str>) -> Result<(Source, Question), Fault> {
        let source = self.sources.find(id)?;
        let question = Question::of_query(query);
        let version: Option<u64> = question.number("version")?;
        if version.is_some_and(|version| version != source.version) {
            return Err(Fault::source(format!("{} has changed: load it again", source.name)));
        }
        live::resolved(source, question.without("version"))
    }

    /// Works on a question in a thread of its own, and packs the answer if the client unpacks it.
    pub(crate) async fn work(
        self: Arc<Self>,
        headers: &HeaderMap,
        answer: impl FnOnce(&Self) -> Result<Reply, Fault> + Send + 'static,
    ) -> Response {
        let accepted = headers.get(ACCEPT_ENCODING).and_then(|it| it.to_str().ok());
        let is_packed = accepted.is_some_and(|it| it.split(',').any(|one| one.trim() == "gzip"));
        let Ok(permit) = Arc::clone(&self.workers).acquire_owned().await else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        let worker = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            answer(&self).map(|reply| reply.packed(is_packed))
        });
        match worker.await {
            Ok(reply) => reply.into_response(),
            Err(_) => {
                let line = "perk failed at this question: its terminal has the reason".to_owned();
                Fault { status: StatusCode::INTERNAL_SERVER_ERROR, line }.into_response()
            }
        }
    }
}
