//! The commands of HPROF, which a peer sends to an agent that was started with `net=host:port`.
//!
//! A command consists of a u1 tag, a u4 serial number, which is ignored, a u4 length and a body of
//! that many bytes. All numbers are big endian. The original agent ignored the length as well: it
//! read the body that belongs to the tag. So a length is believed only if the tag has variants of
//! different lengths and the length is that of one of them. Otherwise the tag decides what follows.
//! See `docs/formats/hprof.md`.

mod name;

use std::io::{self, Read};

/// The longest body of an unknown command that is skipped. Anything that claims to be longer is not
/// a command.
const MAX_UNKNOWN_BYTES: u32 = 64 << 10;
/// The bytes of an id in the files that perk writes.
const ID_BYTES: usize = 8;

/// The tags of commands.
mod tag {
    pub(super) const FORCE_GC: u8 = 0x01;
    pub(super) const DUMP_HEAP: u8 = 0x02;
    pub(super) const ALLOC_SITES: u8 = 0x03;
    pub(super) const HEAP_SUMMARY: u8 = 0x04;
    pub(super) const EXIT: u8 = 0x05;
    pub(super) const DUMP_TRACES: u8 = 0x06;
    pub(super) const CPU_SAMPLES: u8 = 0x07;
    pub(super) const CONTROL: u8 = 0x08;
    pub(super) const EOF: u8 = 0xFF;
}

/// The sub-options of CONTROL.
mod sub {
    pub(super) const ALLOC_ON: u16 = 1;
    pub(super) const ALLOC_OFF: u16 = 2;
    pub(super) const CPU_ON: u16 = 3;
    pub(super) const CPU_OFF: u16 = 4;
    pub(super) const CLEAR_CPU: u16 = 5;
    /// The number in the original agent. In the manual this number is [`DEPTH`], which has two more
    /// bytes.
    pub(super) const CLEAR_SITES: u16 = 6;
    pub(super) const DEPTH: u16 = 7;
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Collect garbage.
    ForceGc,
    /// Write a heap dump.
    DumpHeap,
    /// Write the allocation sites.
    AllocSites {
        /// The flags of the record ALLOC SITES: 0x1 only sites that changed since the last such
        /// record, 0x2 ordered by allocated bytes, 0x4 collect garbage first.
        flags: u16,
        /// The share of the live bytes below which rows are left out.
        cutoff: f32,
    },
    /// Write the totals of objects and bytes.
    HeapSummary,
    /// End the program.
    Exit,
    /// Write the traces that are not written yet.
    DumpTraces,
    /// Write the CPU samples.
    CpuSamples {
        /// The share of the samples below which rows are left out.
        cutoff: f32,
    },
    /// Resume counting allocations.
    AllocOn,
    /// Stop counting allocations.
    AllocOff,
    /// Start sampling threads.
    CpuOn(Threads),
    /// Stop sampling threads.
    CpuOff(Threads),
    /// Forget the CPU samples taken so far.
    ClearCpu,
    /// Reset the allocation counts.
    ClearSites,
    /// Limit each trace to this number of frames.
    Depth(u16),
    /// Announce that no more commands follow.
    Eof,
}

/// The threads that a command applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// All threads.
    All,
    /// The thread with this id.
    One(ThreadId),
}

/// A thread's id as it was received. The manual says that it is big endian, but the original agent
/// read it in the byte order of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId {
    big_endian: u64,
    little_endian: u64,
}

impl ThreadId {
    fn new(bytes: &[u8]) -> Self {
        let number = |all: u64, &byte: &u8| all << 8 | u64::from(byte);
        Self {
            big_endian: bytes.iter().fold(0, number),
            little_endian: bytes.iter().rev().fold(0, number),
        }
    }

    /// Returns the ids that the bytes may mean, the likeliest first.
    pub fn readings(self) -> [u64; 2] {
        [self.big_endian, self.little_endian]
    }
}

impl From<u64> for ThreadId {
    fn from(id: u64) -> Self {
        Self::new(&id.to_be_bytes())
    }
}

/// The result of reading from a peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PeerInput {
    /// A command.
    Command(Command),
    /// A command with an unknown tag.
    UnknownTag(u8),
    /// A CONTROL command with an unknown sub-option.
    UnknownControl(u16),
    /// Bytes that cannot be a command. The beginning of the next command is then unknown.
    Garbage {
        /// The first byte, as a tag.
        tag: u8,
        /// The length in the header.
        length: u32,
    },
    /// The end of the stream.
    End,
}

/// Reads the next command.
///
/// # Errors
/// Returns the error of the source, or [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if it ends
/// within a command.
pub fn read(source: &mut impl Read) -> io::Result<PeerInput> {
    let mut source = CommandReader(source);
    let Some(tag) = source.first()? else { return Ok(PeerInput::End) };
    if tag == tag::EOF {
        return Ok(PeerInput::Command(Command::Eof));
    }
    source.u4()?;
    let length = source.u4()?;
    let command = match tag {
        tag::FORCE_GC => Command::ForceGc,
        tag::DUMP_HEAP => Command::DumpHeap,
        tag::ALLOC_SITES => Command::AllocSites { flags: source.u2()?, cutoff: source.cutoff()? },
        tag::HEAP_SUMMARY => Command::HeapSummary,
        // A malformed command must not end the program.
        tag::EXIT if length != 0 => return Ok(PeerInput::Garbage { tag, length }),
        tag::EXIT => Command::Exit,
        tag::DUMP_TRACES => Command::DumpTraces,
        tag::CPU_SAMPLES => {
            source.u2()?;
            Command::CpuSamples { cutoff: source.cutoff()? }
        }
        tag::CONTROL => return source.control(length),
        _ if length <= MAX_UNKNOWN_BYTES => {
            source.skip(length)?;
            return Ok(PeerInput::UnknownTag(tag));
        }
        _ => return Ok(PeerInput::Garbage { tag, length }),
    };
    Ok(PeerInput::Command(command))
}

struct CommandReader<'a, R>(&'a mut R);

impl<R: Read> CommandReader<'_, R> {
    /// Reads the next byte; `None` at the end.
    fn first(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        loop {
            match self.0.read(&mut byte) {
                Ok(0) => return Ok(None),
                Ok(_) => return Ok(Some(byte[0])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn u2(&mut self) -> io::Result<u16> {
        self.bytes().map(u16::from_be_bytes)
    }

    fn u4(&mut self) -> io::Result<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    /// Reads a share. A negative number or NaN counts as 0, which leaves out nothing.
    fn cutoff(&mut self) -> io::Result<f32> {
        let cutoff = f32::from_be_bytes(self.bytes()?);
        Ok(if cutoff >= 0.0 { cutoff } else { 0.0 })
    }

    fn skip(&mut self, length: u32) -> io::Result<()> {
        let skipped = io::copy(&mut self.0.take(length.into()), &mut io::sink())?;
        if skipped == u64::from(length) { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn control(&mut self, length: u32) -> io::Result<PeerInput> {
        let option = self.u2()?;
        let left = length.checked_sub(2);
        let command = match (option, left) {
            (sub::ALLOC_ON, _) => Command::AllocOn,
            (sub::ALLOC_OFF, _) => Command::AllocOff,
            (sub::CPU_ON, _) => Command::CpuOn(self.threads(left)?),
            (sub::CPU_OFF, _) => Command::CpuOff(self.threads(left)?),
            (sub::CLEAR_CPU, _) => Command::ClearCpu,
            (sub::CLEAR_SITES, Some(2)) | (sub::DEPTH, _) => Command::Depth(self.u2()?),
            (sub::CLEAR_SITES, _) => Command::ClearSites,
            (option, left) => {
                let left = left.unwrap_or(0);
                if left > MAX_UNKNOWN_BYTES {
                    return Ok(PeerInput::Garbage { tag: tag::CONTROL, length });
                }
                self.skip(left)?;
                return Ok(PeerInput::UnknownControl(option));
            }
        };
        Ok(PeerInput::Command(command))
    }

    /// Reads an id of 4 or 8 bytes, depending on the length. For any other length the id is as wide
    /// as the ids in the files that perk writes.
    fn threads(&mut self, left: Option<u32>) -> io::Result<Threads> {
        let mut bytes = [0; ID_BYTES];
        let bytes = match left {
            Some(0) => return Ok(Threads::All),
            Some(4) => &mut bytes[..4],
            _ => &mut bytes,
        };
        self.0.read_exact(bytes)?;
        let id = ThreadId::new(bytes);
        Ok(if id.big_endian == 0 { Threads::All } else { Threads::One(id) })
    }
}

impl Command {
    /// Returns the bytes to send.
    pub fn encode(self, serial: u32) -> Vec<u8> {
        let control = |option: u16, argument: &[u8]| {
            (tag::CONTROL, [&option.to_be_bytes(), argument].concat())
        };
        let share =
            |first: u16, share: f32| [&first.to_be_bytes()[..], &share.to_be_bytes()].concat();
        let (tag, body) = match self {
            // Old agents ignore everything after this tag.
            Command::Eof => return vec![tag::EOF],
            Command::ForceGc => (tag::FORCE_GC, Vec::new()),
            Command::DumpHeap => (tag::DUMP_HEAP, Vec::new()),
            Command::HeapSummary => (tag::HEAP_SUMMARY, Vec::new()),
            Command::Exit => (tag::EXIT, Vec::new()),
            Command::DumpTraces => (tag::DUMP_TRACES, Vec::new()),
            Command::AllocSites { flags, cutoff } => (tag::ALLOC_SITES, share(flags, cutoff)),
            Command::CpuSamples { cutoff } => (tag::CPU_SAMPLES, share(0, cutoff)),
            Command::AllocOn => control(sub::ALLOC_ON, &[]),
            Command::AllocOff => control(sub::ALLOC_OFF, &[]),
            Command::CpuOn(threads) => control(sub::CPU_ON, &threads.id().to_be_bytes()),
            Command::CpuOff(threads) => control(sub::CPU_OFF, &threads.id().to_be_bytes()),
            Command::ClearCpu => control(sub::CLEAR_CPU, &[]),
            Command::ClearSites => control(sub::CLEAR_SITES, &[]),
            Command::Depth(depth) => control(sub::DEPTH, &depth.to_be_bytes()),
        };
        let mut bytes = vec![tag];
        bytes.extend(serial.to_be_bytes());
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
        bytes
    }
}

impl Threads {
    /// Returns the id to send; 0 means all threads.
    fn id(self) -> u64 {
        match self {
            Threads::All => 0,
            Threads::One(id) => id.big_endian,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut bytes: &[u8]) -> Vec<PeerInput> {
        let mut received = Vec::new();
        loop {
            match read(&mut bytes) {
                Ok(PeerInput::End) => return received,
                Ok(it) => received.push(it),
                Err(error) => panic!("{error} after {received:?}"),
            }
        }
    }

    fn one(hex: &str) -> PeerInput {
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let received = all(&bytes);
        assert_eq!(received.len(), 1, "{hex}: {received:?}");
        received[0]
    }

    /// The commands that were recorded in sessions with the original agent.
    #[test]
    fn recorded_commands_are_understood() {
        let thread = |id: u64| Threads::One(ThreadId::from(id));
        for (hex, command) in [
            ("010000000600000000", Command::ForceGc),
            ("020000001100000000", Command::DumpHeap),
            ("03000000030000000600003c23d70a", Command::AllocSites { flags: 0, cutoff: 0.01 }),
            ("030000000400000006000700000000", Command::AllocSites { flags: 7, cutoff: 0.0 }),
            ("040000000100000000", Command::HeapSummary),
            ("050000000100000000", Command::Exit),
            ("060000000200000000", Command::DumpTraces),
            ("070000000500000006000000000000", Command::CpuSamples { cutoff: 0.0 }),
            ("080000000e000000020001", Command::AllocOn),
            ("080000000c000000020002", Command::AllocOff),
            ("080000000b00000006000300000000", Command::CpuOn(Threads::All)),
            ("080000000a00000006000400000000", Command::CpuOff(Threads::All)),
            ("0800000008000000020005", Command::ClearCpu),
            ("0800000008000000020006", Command::ClearSites),
            ("08000000100000000400070002", Command::Depth(2)),
            ("ff", Command::Eof),
            // The commands for which the manual differs.
            ("08000000100000000400060002", Command::Depth(2)),
            ("080000000a0000000a00040000000500000001", Command::CpuOff(thread(0x5_0000_0001))),
            ("080000000a000000020004", Command::CpuOff(Threads::All)),
            // Lengths that the original agent ignores.
            ("01000000060000ffff", Command::ForceGc),
            ("070000000500000000000000000000", Command::CpuSamples { cutoff: 0.0 }),
            ("0800000010ffffffff00070002", Command::Depth(2)),
            ("080000000affffffff00040000000500000001", Command::CpuOff(thread(0x5_0000_0001))),
        ] {
            assert_eq!(one(hex), PeerInput::Command(command), "{hex}");
        }
    }

    #[test]
    fn a_thread_id_is_read_both_ways() {
        let received = one("0800000004000000060004500001ac");
        let PeerInput::Command(Command::CpuOff(Threads::One(id))) = received else {
            panic!("{received:?}")
        };
        assert_eq!(id.readings(), [0x5000_01AC, 0xAC01_0050]);
    }

    #[test]
    fn a_share_that_is_none_leaves_out_nothing() {
        for bits in ["7fc00000", "bf800000", "ff800000"] {
            let hex = format!("0700000005000000060000{bits}");
            let samples = Command::CpuSamples { cutoff: 0.0 };
            assert_eq!(one(&hex), PeerInput::Command(samples), "{bits}");
        }
    }

    #[test]
    fn what_is_unknown_is_skipped() {
        assert_eq!(one("09000000010000000361626c"), PeerInput::UnknownTag(9));
        assert_eq!(one("000000000100000000"), PeerInput::UnknownTag(0));
        assert_eq!(one("0800000001000000020063"), PeerInput::UnknownControl(99));
        assert_eq!(one("08000000010000000400630102"), PeerInput::UnknownControl(99));
        let garbage = PeerInput::Garbage { tag: 9, length: u32::MAX };
        assert_eq!(one("0900000001ffffffff"), garbage);
        assert_eq!(one("050000000100000001"), PeerInput::Garbage { tag: 5, length: 1 });
        let garbage = PeerInput::Garbage { tag: 8, length: u32::MAX };
        assert_eq!(one("0800000001ffffffff0063"), garbage);
    }

    #[test]
    fn half_a_command_is_an_error() {
        let whole = Command::Depth(3).encode(7);
        for length in 1..whole.len() {
            let error = read(&mut &whole[..length]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{length} bytes");
        }
        let error = read(&mut &[9, 0, 0, 0, 1, 0, 0, 0, 5, 0][..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_is_sent_is_what_is_read() {
        let thread = Threads::One(ThreadId::from(0x5_0000_0003));
        let commands = [
            Command::ForceGc,
            Command::DumpHeap,
            Command::AllocSites { flags: 7, cutoff: 0.25 },
            Command::HeapSummary,
            Command::Exit,
            Command::DumpTraces,
            Command::CpuSamples { cutoff: 0.5 },
            Command::AllocOn,
            Command::AllocOff,
            Command::CpuOn(Threads::All),
            Command::CpuOn(thread),
            Command::CpuOff(Threads::All),
            Command::CpuOff(thread),
            Command::ClearCpu,
            Command::ClearSites,
            Command::Depth(12),
            Command::Eof,
        ];
        let bytes: Vec<u8> = commands.iter().flat_map(|command| command.encode(1)).collect();
        assert_eq!(all(&bytes), commands.map(PeerInput::Command));
    }
}
