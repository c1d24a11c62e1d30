//! `perk store`: recordings as tables in folders and buckets.

pub(crate) mod args;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};
use object_store::{ClientOptions, RetryConfig};
use perk_files::{Access, Destination};
use perk_open::Options;
use perk_profile::units::{bytes, printable};
use perk_store::{
    CompactionSummary, Hour, HourPieces, Origin, Piece, Store, Table, Window, service_name,
};
use tokio::runtime::Runtime;

use crate::limits;
use crate::talk::say;
use crate::values::KeyValue;
pub(crate) use args::StoreArgs;
use args::{
    AddArgs, CheckArgs, CompactArgs, ExpireArgs, ExportArgs, LsArgs, Moment, PartArgs,
    StoreCommand, now_ms,
};

/// The level of zstd of exported files.
const ZSTD_LEVEL: i32 = 9;
/// The most lines of a kind that a check prints.
const SHOWN_LINES: usize = 20;

/// Runs a command on a store.
///
/// # Errors
/// The store or a file cannot be read or written, in one line.
pub(crate) fn store(args: &StoreArgs) -> anyhow::Result<ExitCode> {
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        match &args.command {
            StoreCommand::Add(args) => add(args).await,
            StoreCommand::Ls(args) => ls(args).await,
            StoreCommand::Compact(args) => compact(args).await,
            StoreCommand::Expire(args) => expire(args).await,
            StoreCommand::Check(args) => check(args).await,
            StoreCommand::Export(args) => export(args).await,
        }
    })
}

/// Prints a line. Nobody may be listening: that is no error.
fn show(line: &str) {
    let _ = writeln!(io::stdout(), "{}", printable(line));
}

fn pairs(labels: &[KeyValue]) -> Vec<(String, String)> {
    labels.iter().map(|it| (it.key.clone(), it.value.clone())).collect()
}

impl PartArgs {
    fn window(&self) -> Window {
        Window {
            service: self.service.as_deref().map(service_name),
            from: self.since.map(|it| Hour::of(it.unix_ms)),
            to: self.until.map(|it| Hour::of(it.unix_ms - 1)),
        }
    }
}

async fn add(args: &AddArgs) -> anyhow::Result<ExitCode> {
    let store =
        Store::create(&args.store.store, ClientOptions::new(), RetryConfig::default()).await?;
    let labels = pairs(&args.label);
    let (mut added, mut known, mut failed) = (0, 0, 0);
    for file in &args.files {
        let name = perk_open::display_name(file);
        let pieces = perk_open::profile(file, &Options::default()).and_then(|found| {
            let origin = Origin {
                file: name.clone(),
                labels: labels.clone(),
                created_ms: args.time.map(|it| it.unix_ms),
            };
            found.profile.notes.iter().for_each(|note| say(format_args!("{name}: {note}")));
            Piece::all_of(&found.profile, &origin)
        });
        let pieces = match pieces {
            Ok(pieces) => pieces,
            // The others are added all the same.
            Err(error) => {
                say(format_args!("{error:#}"));
                failed += 1;
                continue;
            }
        };
        let mut is_new = false;
        for piece in &pieces {
            is_new |= store.add(piece).await?;
        }
        *(if is_new { &mut added } else { &mut known }) += 1;
    }
    let already = if known > 0 { format!(", {known} were there") } else { String::new() };
    show(&format!("recordings added: {added}{already}"));
    if failed > 0 {
        bail!("files that could not be added: {failed}");
    }
    Ok(ExitCode::SUCCESS)
}

/// What a service has in a store.
struct ServiceSummary {
    service: String,
    from: Hour,
    to: Hour,
    hours: usize,
    pieces: usize,
    bytes: u64,
}

async fn ls(args: &LsArgs) -> anyhow::Result<ExitCode> {
    let store = Store::open(&args.store.store).await?;
    let hours = store.pieces(&args.part.window()).await?;
    let mut services: Vec<ServiceSummary> = Vec::new();
    for hours in hours.chunk_by(|a, b| a.service() == b.service()) {
        let bytes = total_bytes(&store, hours).await?;
        services.push(ServiceSummary {
            service: hours[0].service().to_owned(),
            from: hours[0].hour(),
            to: hours[hours.len() - 1].hour(),
            hours: hours.len(),
            pieces: hours.iter().map(HourPieces::len).sum(),
            bytes,
        });
    }
    if services.is_empty() {
        show("nothing is in this part of the store");
        return Ok(ExitCode::SUCCESS);
    }
    let width = services.iter().map(|it| it.service.chars().count()).max().unwrap_or(0).max(7);
    show(&format!(
        "{:width$}  {:16}  {:16}  {:>6}  {:>8}  {:>10}",
        "service", "first hour", "last hour", "hours", "files", "size"
    ));
    for ServiceSummary { service, from, to, hours, pieces, bytes: size } in services {
        let (from, to, size) = (from.to_string(), to.to_string(), bytes(size));
        show(&format!("{service:width$}  {from:16}  {to:16}  {hours:>6}  {pieces:>8}  {size:>10}"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn total_bytes(store: &Store, hours: &[HourPieces]) -> anyhow::Result<u64> {
    let mut total = 0;
    for table in Table::ALL {
        total += store.files(hours, table).await?.iter().map(|it| it.bytes()).sum::<u64>();
    }
    Ok(total)
}

async fn compact(args: &CompactArgs) -> anyhow::Result<ExitCode> {
    let store = Store::open(&args.store.store).await?;
    let (_spill, limits) = limits::of_command(args.memory.map(|it| it.0))?;
    let window = args.part.window();
    // Others write to the running hour.
    let last = Hour::of(Hour::of(now_ms()).begin_ms() - 1);
    let window = Window { to: Some(window.to.map_or(last, |to| to.min(last))), ..window };
    let CompactionSummary { hours, pieces, bytes_before, bytes: after } =
        store.compact(&window, &limits).await?;
    match hours {
        0 => show("nothing to compact: each hour has one file"),
        _ => show(&format!(
            "hours compacted: {hours}, of {pieces} files, {} before and {} now",
            bytes(bytes_before),
            bytes(after)
        )),
    }
    Ok(ExitCode::SUCCESS)
}

async fn expire(args: &ExpireArgs) -> anyhow::Result<ExitCode> {
    let store = Store::open(&args.store.store).await?;
    let before = Hour::of(Moment::ago(args.older_than.0).unix_ms);
    let expired = store.expire(before).await?;
    show(&format!(
        "dates removed: {}, with {} files of {}",
        expired.dates,
        expired.files,
        bytes(expired.bytes)
    ));
    Ok(ExitCode::SUCCESS)
}

async fn check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let store = Store::open(&args.store.store).await?;
    let checked = store.check_pieces(&args.part.window()).await?;
    show(&format!(
        "whole: {} pieces, with {} rows in {}",
        checked.pieces,
        checked.rows,
        bytes(checked.bytes)
    ));
    for (what, lines) in [
        ("not whole", &checked.faults),
        (
            "left over, and not counted (perk store compact removes what compactions left)",
            &checked.leftovers,
        ),
        ("not of a store", &checked.foreign),
    ] {
        if lines.is_empty() {
            continue;
        }
        show(&format!("{what}: {}", lines.len()));
        lines.iter().take(SHOWN_LINES).for_each(|line| show(&format!("  {line}")));
        if lines.len() > SHOWN_LINES {
            show(&format!("  and {} more", lines.len() - SHOWN_LINES));
        }
    }
    Ok(if checked.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

async fn export(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let path = &args.output;
    let name = perk_open::display_name(path);
    let is_packed = name.ends_with(".hprof.zst");
    if !is_packed && !name.ends_with(".hprof") && !perk_open::is_stream(path) {
        bail!("{name}: use .hprof or .hprof.zst; perk convert writes it in other formats");
    }
    let (_spill, limits) = limits::of_command(None)?;
    let store = args.cluster.of_store(Store::open(&args.store.store).await?, &limits)?;
    let profile = store.profile(&args.question(), &limits).await?;
    let mut plain = Vec::new();
    perk_hprof::write_packed(&profile, &mut plain)?;
    let bytes = if is_packed { zstd::encode_all(&*plain, ZSTD_LEVEL)? } else { plain };
    let cannot = || format!("cannot write {name}");
    if perk_open::is_stream(path) {
        io::stdout().write_all(&bytes).with_context(cannot)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut destination = Destination::open(path, Access::Usual).with_context(cannot)?;
    destination.file().write_all(&bytes).with_context(cannot)?;
    if let Destination::File(part) = &mut destination {
        part.finish().with_context(cannot)?;
    }
    Ok(ExitCode::SUCCESS)
}
