//! The formats that HPROF's agent and perk write, how they are recognised, and what each can hold.

use std::io;

use perk_profile::{Event, HeapSummary, Metric, Profile, SectionHead};

use crate::{ascii, old};

/// A format of profile files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text: the agent's `format=a`.
    Ascii,
    /// Records: the agent's `format=b`.
    Binary,
    /// Records with additional ones of perk, which other readers skip. It holds everything
    /// exactly.
    Extended,
    /// The table of the agent's `cpu=old`, which is that of JDK 1.1's `java -prof`.
    Old,
}

/// The kinds of sections that a profile can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    CpuSamples,
    CallTimes,
    CallEdges,
    Sites,
    HeapDump,
    Monitors,
    WallTime,
    OtherMetrics,
    HeapHistogram,
    Fields,
}

const MAGIC: &[u8] = b"JAVA PROFILE 1.0";
/// The bytes between a binary header's NUL and the first record: the size of ids and the date.
const SIZE_AND_DATE_BYTES: usize = 4 + 8;
/// The tag of the first record of an extended file.
pub(crate) const EXTENDED_TAG: u8 = 0xF0;

/// Returns the format of a file that begins with `bytes`, or `None` if it is in none of them.
pub fn recognise(bytes: &[u8]) -> Option<Format> {
    if old::recognise(bytes) {
        return Some(Format::Old);
    }
    let Some(version) = bytes.strip_prefix(MAGIC) else {
        return ascii::recognise(bytes).then_some(Format::Ascii);
    };
    // Binary headers end in NUL (1.0, 1.0.1 and 1.0.2), ASCII ones continue with a comma.
    let end = version.iter().position(|&byte| byte != b'.' && !byte.is_ascii_digit());
    match end {
        Some(end) if version[end] == 0 => match version.get(end + 1 + SIZE_AND_DATE_BYTES) {
            Some(&EXTENDED_TAG) => Some(Format::Extended),
            _ => Some(Format::Binary),
        },
        _ => Some(Format::Ascii),
    }
}

impl Format {
    const ALL: [Format; 4] = [Format::Ascii, Format::Binary, Format::Extended, Format::Old];

    /// The usual name of the format.
    pub fn title(self) -> &'static str {
        match self {
            Format::Ascii => "HPROF text",
            Format::Binary => "HPROF binary",
            Format::Extended => "perk's extended HPROF",
            Format::Old => "cpu=old text",
        }
    }

    /// Whether this format can hold all sections of `profile`, with their numbers.
    ///
    /// # Errors
    /// One line that names the section or numbers that do not fit, and the formats that hold them.
    pub fn holds(self, profile: &Profile) -> Result<(), String> {
        let is_kept = |event: &&Event| self == Format::Old && old::holds(event, profile);
        let sections =
            profile.events.iter().filter(|event| !is_kept(event)).filter_map(SectionKind::of);
        let mut sections = sections.filter(|&section| !self.leaves_out(section));
        if self == Format::Old && !profile.events.iter().any(|event| is_kept(&event)) {
            let title = self.title();
            return Err(format!("{title} holds calls by callee and caller; the profile has none"));
        }
        sections.try_for_each(|section| self.check(section))?;
        let what = match self {
            Format::Binary if profile.events.iter().any(is_large) => "numbers of 2^32 and more",
            Format::Binary if profile.events.iter().any(has_unknown) => {
                "numbers that are not known"
            }
            _ => return Ok(()),
        };
        let (title, extended) = (self.title(), Format::Extended.title());
        Err(format!("{title} has no place for {what}; {extended} has"))
    }

    /// Whether sections of this kind are left out if there are others, as readers of text look only
    /// for the sections that text has.
    fn leaves_out(self, section: SectionKind) -> bool {
        self == Format::Ascii
            && matches!(
                section,
                SectionKind::WallTime
                    | SectionKind::OtherMetrics
                    | SectionKind::HeapHistogram
                    | SectionKind::Fields
            )
    }

    /// The error of writing a section that this format does not hold.
    pub(crate) fn refusal(self, section: SectionKind) -> io::Error {
        let what = self.check(section).err().unwrap_or_default();
        io::Error::new(io::ErrorKind::InvalidInput, what)
    }

    fn check(self, section: SectionKind) -> Result<(), String> {
        if self.has(section) {
            return Ok(());
        }
        let others: Vec<_> =
            Self::ALL.into_iter().filter(|format| format.has(section)).map(Self::title).collect();
        let verb = if others.len() == 1 { "has" } else { "have" };
        let (title, what, others) = (self.title(), section.title(), others.join(" and "));
        Err(format!("{title} has no place for {what}; {others} {verb}"))
    }

    fn has(self, section: SectionKind) -> bool {
        match self {
            Format::Ascii => !self.leaves_out(section),
            Format::Binary => {
                matches!(
                    section,
                    SectionKind::CpuSamples | SectionKind::Sites | SectionKind::HeapDump
                )
            }
            Format::Extended => true,
            Format::Old => section == SectionKind::CallEdges,
        }
    }
}

/// Whether an event has a number that does not fit the 32 bits that HPROF's records have for it.
fn is_large(event: &Event) -> bool {
    let is_large = |number: u64| number > u32::MAX.into();
    match event {
        Event::Section(section) => {
            // ALLOC SITES has 64 bits for the allocation totals.
            let is_wide = |metric: &Metric| {
                matches!(metric, Metric::AllocatedBytes | Metric::AllocatedObjects)
            };
            let mut totals = section.head.columns.iter().filter(|it| !is_wide(&it.metric));
            totals.any(|column| is_large(column.total))
                || section.rows().any(|(_, numbers)| numbers.iter().any(|&it| is_large(it)))
        }
        Event::HeapSummary(HeapSummary { objects, .. }) => {
            is_large(objects.live_bytes.max(objects.live_count))
        }
        _ => false,
    }
}

/// Whether an event has numbers that are not known.
fn has_unknown(event: &Event) -> bool {
    let Event::Section(section) = event else { return false };
    section.head.columns.iter().any(|column| column.is_partial || !column.is_known)
}

impl SectionKind {
    /// Returns the kind of an event, or `None` for events that are left out by formats that cannot
    /// hold them.
    fn of(event: &Event) -> Option<Self> {
        match event {
            Event::ThreadStart(_) | Event::ThreadEnd(_) => None,
            Event::ClassUnload(_) | Event::HeapSummary(_) => None,
            Event::Timeline(_) | Event::Pauses(_) | Event::TimeSeries(_) => None,
            Event::FieldAccesses(_) => Some(Self::Fields),
            Event::Heap(_) => Some(Self::HeapHistogram),
            Event::Section(section) => Some(Self::of_section(&section.head)),
            Event::Wait(_) | Event::MonitorDump(_) => Some(Self::Monitors),
        }
    }

    /// Returns the kind of a section, by its metrics.
    pub(crate) fn of_section(head: &SectionHead) -> Self {
        if head.is_by_pair {
            Self::CallEdges
        } else if head.has(&[Metric::Samples]) {
            Self::CpuSamples
        } else if head.has(&Metric::OF_CALLS) {
            Self::CallTimes
        } else if head.has(&Metric::OF_OBJECTS) {
            Self::Sites
        } else if head.has(&Metric::OF_LOCKS) {
            Self::Monitors
        } else if head.has(&[Metric::WallTime]) {
            Self::WallTime
        } else {
            Self::OtherMetrics
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::CpuSamples => "CPU samples",
            Self::CallTimes => "call times",
            Self::CallEdges => "calls by callee and caller",
            Self::Sites => "allocation sites",
            Self::HeapDump => "heap dumps",
            Self::Monitors => "monitors",
            Self::WallTime => "wall-clock samples",
            Self::OtherMetrics => "metrics of other tools",
            Self::HeapHistogram => "heap dumps by class",
            Self::Fields => "field accesses by object",
        }
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{CallEdges, CallTimes, Sites};

    use super::*;

    #[test]
    fn the_content_decides_the_format() {
        for (bytes, format) in [
            (&b"JAVA PROFILE 1.0.1, created"[..], Some(Format::Ascii)),
            (b"JAVA PROFILE 1.0.1\0\0\0\0\x04\0\0\0\0\0\0\0\0\x0e", Some(Format::Binary)),
            (b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0\xf0", Some(Format::Extended)),
            (b"JAVA PROFILE 1.0.2\0", Some(Format::Binary)),
            (b"count callee caller time\n1 a b 0\n", Some(Format::Old)),
            (b"callee caller time\r\n", Some(Format::Old)),
            (b"\nhandles_used: 1174, handles_free: 1", Some(Format::Old)),
            (b"*** tab[267] p=4bba378", Some(Format::Old)),
            (b"sig  count     bytes  indx\n", Some(Format::Old)),
            (b" \nCPU SAMPLES BEGIN (total = 1)", Some(Format::Ascii)),
            (b"TRACE 1: (thread=1)\n", Some(Format::Ascii)),
            (b"TRACE   is\n", None),
            (b"rank   self  accum   count trace method \n", Some(Format::Ascii)),
            (b"SITES BEGIN (", Some(Format::Ascii)),
            (b"count callee\n", None),
            (b"JAVA", None),
            (b"", None),
        ] {
            assert_eq!(recognise(bytes), format, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn what_a_format_has_no_place_for_is_said() {
        let with = |event| {
            let mut profile = Profile::default();
            profile.events.push(event);
            profile
        };
        let times = with(CallTimes::default().into());
        let edges = with(CallEdges::default().section(&mut Profile::default()).into());
        let sites = with(Sites::default().into());
        assert_eq!(
            Format::Binary.holds(&times).unwrap_err(),
            "HPROF binary has no place for call times; HPROF text and perk's extended HPROF have"
        );
        assert_eq!(Format::Ascii.holds(&times), Ok(()));
        assert_eq!(Format::Old.holds(&edges), Ok(()));
        assert_eq!(Format::Binary.holds(&sites), Ok(()));
        for profile in [&times, &edges, &sites] {
            assert_eq!(Format::Extended.holds(profile), Ok(()));
        }
        assert!(Format::Old.holds(&sites).unwrap_err().contains("the profile has none"));
        let mut large = Sites::default();
        large.total.live_bytes = 5_000_000_000;
        let mut unknown = Sites::default();
        unknown.known.live = false;
        for (sites, what) in
            [(large, "numbers of 2^32 and more"), (unknown, "numbers that are not known")]
        {
            let profile = with(sites.into());
            let refused =
                format!("HPROF binary has no place for {what}; perk's extended HPROF has");
            assert_eq!(Format::Binary.holds(&profile).unwrap_err(), refused);
            assert_eq!(Format::Extended.holds(&profile), Ok(()));
        }
        assert_eq!(Format::Ascii.holds(&edges), Ok(()));
        let error = crate::write(&edges, Format::Binary, Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
